"""Pages of PDF documents as pictures, drawn right before a question is asked."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

from msgspec.structs import replace

from snellen.core.errors import MediaError, MissingExtra
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.derived_images import derived_image, unavailable_image

MAGIC = b"%PDF-"
DOTS_PER_INCH = 144
"""VLMEvalKit's; a PDF measures in points, 72 to the inch."""
MAX_PAGES = 120
"""VLMEvalKit's: of longer documents the first pages are shown."""
_DRAWING = Lock()
"""One thread at a time: PDFium is not made for several."""


def with_pages(sample: Sample) -> Sample:
    """The sample with a picture of each page in place of its PDF documents. One that cannot be
    drawn leaves a medium whose reading fails, so that the sample does, typed.

    Raises MissingExtra where a document has to be drawn and pypdfium2 is not installed.
    """
    shown = tuple(picture for ref in sample.media for picture in _page_images(ref))
    return sample if shown == sample.media else replace(sample, media=shown[:MAX_PAGES])


def _page_images(ref: MediaRef) -> Iterator[MediaRef]:
    try:
        data = ref.source.read()
    except MediaError:
        yield ref  # it fails again, and is reported, when its picture is asked for
        return
    if not data.startswith(MAGIC):
        yield ref
        return
    try:
        yield from render_pages(data)
    except MediaError as error:
        yield unavailable_image((ref,), str(error))


def render_pages(data: bytes, max_pages: int = MAX_PAGES) -> list[MediaRef]:
    """The first pages of a PDF as pictures. Raises MediaError, MissingExtra."""
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
                return [
                    derived_image(document[at].render(scale=scale).to_pil()) for at in range(count)
                ]
            finally:
                document.close()
    except pypdfium2.PdfiumError as error:
        raise MediaError(f"the PDF document cannot be drawn: {error}") from error
