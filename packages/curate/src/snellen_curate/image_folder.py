"""A folder of images, or webdataset tars, as a table: a row for each, without a question."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from snellen.core.sample import Origin, Row
from snellen_curate.questions.sources import ImageSource


class ImageFolder:
    """The images and videos below a folder, named by their paths in it, or those of tars."""

    columns = ("index", "image")

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.origin = Origin("own", file=str(path.absolute()))
        self._images = ImageSource(path)

    @cached_property
    def digest(self) -> str:
        """Of the names and sizes of the files."""
        return self._images.describe().digest

    @property
    def left_out(self) -> dict[str, int]:
        """What lies in the folder and is not read, with its count."""
        return dict(self._images.left_out)

    def __len__(self) -> int:
        return len(self._images)

    def __iter__(self) -> Iterator[Row]:
        for number, image in enumerate(self._images):
            yield Row(number, {"index": image.id, **image.cells}, (image.medium,))
