"""Files of images in a folder and the folders in it, as every step of curation finds them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from snellen.benchmarks.declaration.data_file import STEP_FILE
from snellen.data.media.video_cells import natural_order

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
