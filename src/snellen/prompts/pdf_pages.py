"""Pages of PDF documents as images, rendered just before a question is asked."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

from msgspec.structs import replace

from snellen.core.errors import MediaError, MissingExtra
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.derived_images import derived_image, unavailable_image

MAGIC = b"%PDF-"
DOTS_PER_INCH = 144
"""The resolution of VLMEvalKit. PDF measures in points, 72 to the inch."""
MAX_PAGES = 120
"""The limit of VLMEvalKit: of longer documents only the first pages are used."""
_DRAWING = Lock()
"""PDFium is not thread-safe."""


def with_pages(sample: Sample) -> Sample:
    """Replace the sample's PDF documents by images of their pages. If a document cannot be
    rendered, its medium raises MediaError when it is read, which fails the sample.

    Raises MissingExtra if a document has to be rendered and pypdfium2 is not installed.
    """
    media = tuple(page for ref in sample.media for page in _page_images(ref))
    return sample if media == sample.media else replace(sample, media=media[:MAX_PAGES])


def _page_images(ref: MediaRef) -> Iterator[MediaRef]:
    try:
        data = ref.source.read()
    except MediaError:
        yield ref  # it fails again, and is reported, when its image is read
        return
    if not data.startswith(MAGIC):
        yield ref
        return
    try:
        yield from render_pages(data)
    except MediaError as error:
        yield unavailable_image((ref,), str(error))


def render_pages(data: bytes, max_pages: int = MAX_PAGES) -> list[MediaRef]:
    """Render the first pages of a PDF. Raises MediaError, MissingExtra."""
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingExtra("drawing the pages of a PDF", "pdf", "pypdfium2") from error
    try:
        with _DRAWING:
            document = pypdfium2.PdfDocument(data)
            try:
                count = min(len(document), max_pages)
                scale = DOTS_PER_INCH / 72
                return [derived_image(document[index].render(scale=scale).to_pil()) for index in range(count)]
            finally:
                document.close()
    except pypdfium2.PdfiumError as error:
        raise MediaError(f"the PDF document cannot be drawn: {error}") from error
