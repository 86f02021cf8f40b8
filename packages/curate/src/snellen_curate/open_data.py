"""Opens what a step of curation reads: data of any kind, or images without questions; and finds files
of images in a folder and the folders in it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from snellen.benchmarks.declaration.data_file import STEP_FILE
from snellen.core.errors import DataError, UsageError
from snellen.data.media.video_cells import natural_order
from snellen.data_sets import items
from snellen.data_sets.items import ItemTable, NoQuestions


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


IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".jp2", ".avif")


def find_files(
    folder: Path, suffixes: tuple[str, ...], left_out: Counter[str] | None = None, *, follow_links: bool = False
) -> Iterator[Path]:
    """The files with these suffixes, in any case, below a folder: file 9 before file 10.

    Hidden files, broken links and what a step of curation wrote are left out, and links to folders
    unless they are to be followed, each once. `left_out` counts all that is not found.
    """
    counts: Counter[str] = Counter() if left_out is None else left_out
    visited: set[str] = set()

    def count_unreadable(error: OSError) -> None:
        counts["a folder that cannot be read"] += 1

    walk = os.walk(folder, onerror=count_unreadable, followlinks=follow_links)
    for parent, folders, names in walk:
        real = os.path.realpath(parent)
        if real in visited:
            # A link may lead back to a folder above.
            folders.clear()
            continue
        visited.add(real)
        reasons = {name: _reason_to_skip(Path(parent, name), follow_links) for name in sorted(folders)}
        counts.update(filter(None, reasons.values()))
        folders[:] = [name for name, reason in reasons.items() if not reason]
        for path in sorted((Path(parent, name) for name in names), key=natural_order):
            if path.name.startswith("."):
                counts["a hidden file"] += 1
            elif path.suffix.lower() not in suffixes:
                counts[f"a file {path.suffix or 'without suffix'}"] += 1
            elif not path.is_file():
                counts["a link to nothing"] += 1
            else:
                yield path


def _reason_to_skip(folder: Path, follow_links: bool) -> str:
    if folder.name.startswith("."):
        return "a hidden folder"
    if folder.is_symlink() and not follow_links:
        return "a link to a folder"
    return "a folder that snellen curate wrote" if (folder / STEP_FILE).is_file() else ""
