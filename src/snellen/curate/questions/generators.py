"""Who draws the candidates of image-generation questions: a model that draws, or files that were
drawn before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snellen.core.errors import DataError, MediaError
from snellen.core.media import check_image, digest_bytes
from snellen.core.model import AnyModel, Capabilities, Identity, ModelDefaults
from snellen.core.output import Drawn, Failure, Output
from snellen.core.request import Draw, Request
from snellen.core.sample import MediaRef
from snellen.curate.questions.captions import open_captions
from snellen.settings import max_image_pixels

RECORDED = "file:"


class RecordedDrawings(ModelDefaults):
    """Pictures by their captions, from a data file with the columns `caption` and `image`."""

    def __init__(self, path: str) -> None:
        """Raises UsageError for a file without these columns."""
        captions = open_captions(path)
        self.identity = Identity("file", Path(path).name, {"sha256": captions.table.digest})
        self.capabilities = Capabilities(
            inputs=frozenset({"text"}), outputs=frozenset({"image"}), many_images=False
        )
        rows = zip(captions, captions.table, strict=True)
        self._pictures: Mapping[str, MediaRef] = {
            caption.text: row.media[0] for caption, row in rows if row.media
        }
        if not self._pictures:
            raise DataError(f"{path} names no pictures; give them in a column `image`")

    def answer(self, request: Request) -> Output:
        """The picture that was drawn of the text."""
        ref = self._pictures.get(request.text()) if isinstance(request, Draw) else None
        if ref is None:
            return Failure("unsupported", f"no picture of {request.text()!r} was recorded")
        try:
            data = ref.source.read()
            check_image(data, max_image_pixels())
        except MediaError as error:
            return Failure("media", str(error))
        name = digest_bytes(data)
        return Drawn((name,), data={name: data})


def open_generator(name: AnyModel) -> AnyModel:
    """A model by its name, or `file:FILE` for recorded drawings. Raises UsageError."""
    if isinstance(name, str) and name.startswith(RECORDED):
        return RecordedDrawings(name.removeprefix(RECORDED))
    return name
