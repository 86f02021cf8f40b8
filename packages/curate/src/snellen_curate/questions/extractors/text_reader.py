"""`rapidocr`: text in pictures by RapidOCR (PP-OCR, the models of PaddleOCR, on ONNX Runtime), the
extra `ocr`. Its weights come with the package, so that nothing is downloaded.

It is a model like any other here: its replies, `VisualFacts` as JSON, are stored under a digest of
versions and picture.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from snellen.core.errors import MediaError, MissingExtra, UsageError
from snellen.core.flow import Steps
from snellen.core.media import decode_image
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Generate, Media, Request, user
from snellen.settings import max_image_pixels
from snellen_curate.asking import ask_text
from snellen_curate.questions.extraction import Aspect, Extractor, RegionText, View, VisualFacts

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_LIBRARIES = ("rapidocr", "onnxruntime")
_MIN_SCORE = 0.5


class TextReader(Extractor):
    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """The lines of text, in the order of reading."""
        message = user(Media("image", view.ref.digest))
        media = {view.ref.digest: view.ref.source}
        reply = yield from ask_text(role, [message], view.picture, media=media)
        return msgspec.json.decode(reply, type=VisualFacts)


class RapidOcrModel(ModelDefaults):
    """A picture in, `VisualFacts` as JSON out."""

    batch_size = 1

    def __init__(self) -> None:
        facts = {name: version(name) for name in _LIBRARIES}
        self.identity = Identity("ocr", "rapidocr", facts)
        self.capabilities = Capabilities(
            inputs=frozenset({"image"}), many_images=False, interleaved=False
        )

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        if not isinstance(request, Generate):
            return Failure("unsupported", f"{self.identity.name} describes pictures alone")
        begun = time.perf_counter()
        (ref,) = request.messages[0].media()
        try:
            image = decode_image(request.media[ref.digest].read(), max_image_pixels())
        except MediaError as error:
            return Failure("media", str(error))
        text = msgspec.json.encode(_read_lines(image)).decode()
        return Generated(text, seconds=round(time.perf_counter() - begun, 6))


def _read_lines(image: PILImage) -> VisualFacts:
    """Lines of text with their boxes; corners of a turned line become the box around it."""
    import numpy

    blue_first = numpy.asarray(image)[:, :, ::-1]
    said = _ocr_engine()(blue_first)
    lines = []
    if said.txts is not None:
        for line, corners, score in zip(said.txts, said.boxes, said.scores, strict=True):
            if score >= _MIN_SCORE and line.strip():
                xs, ys = corners[:, 0], corners[:, 1]
                box = (float(xs.min()), float(ys.min()), float(xs.max()), float(ys.max()))
                lines.append(RegionText(line.strip(), box, round(float(score), 4)))
    return VisualFacts(*image.size, texts=tuple(lines))


def open_rapidocr(argument: str, aspects: frozenset[Aspect]) -> TextReader:
    """Raises UsageError for any other aspect than text, and MissingExtra."""
    if argument or not aspects <= {"text"}:
        raise UsageError("rapidocr finds text, with its own weights: write text=rapidocr")
    for library in _LIBRARIES:
        if find_spec(library) is None:
            raise MissingExtra("reading text in pictures", "ocr", library, "snellen-curate")
    return TextReader(name="rapidocr", aspects=frozenset({"text"}), model=RapidOcrModel())


@functools.cache
def _ocr_engine() -> Any:
    import logging

    from rapidocr import RapidOCR

    # It reports each file that it loads, and every picture without text, as a warning.
    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    return RapidOCR(params={"Global.log_level": "error"})
