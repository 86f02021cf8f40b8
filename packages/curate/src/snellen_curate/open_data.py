"""Opens what a step of curation reads: data of any kind, or images without questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snellen.core.errors import DataError, UsageError
from snellen.data_sets import items
from snellen.data_sets.items import ItemTable, NoQuestions
from snellen_curate.image_files import IMAGE_SUFFIXES


def open_items(data: str | Path, columns: Mapping[str, str] | None = None) -> ItemTable:
    """Open a data set folder, any data file, a folder of images, webdataset tars, or a benchmark
    by name.

    `columns` maps our column names to those of a file. Raises UsageError.
    """
    spec = str(data)
    if spec.endswith(".tar") and (images := _open_images(spec)):
        return images
    try:
        return items.open_items(data, columns)
    except NoQuestions:
        # Such as labels.csv beside the images.
        images = _open_images(spec) if Path(spec).expanduser().is_dir() else None
        if images is None:
            raise
    except DataError:
        if Path(spec).suffix.lower() in IMAGE_SUFFIXES:
            raise UsageError(
                f"{data} is one picture; give the folder that it lies in, or a table that names it"
            ) from None
        images = _open_images(spec)
        if images is None:
            raise
    return images


def _open_images(spec: str) -> ItemTable | None:
    """The images of a folder or of tars as items without questions; None if there are none."""
    from snellen_curate.questions.sources import ImageFolder

    path = Path(spec).expanduser()
    table = ImageFolder(path) if path.exists() else None
    return ItemTable(path.resolve().name, spec, table, is_own=True) if table else None
