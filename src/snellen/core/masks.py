"""Run lengths in which COCO writes masks, as texts and lists, to masks.

COCO counts runs of pixels column by column, from top to bottom, the first run outside the mask
(https://github.com/cocodataset/cocoapi, `maskApi`). Its compressed texts hold each run, from the
fourth on as the difference from the one two before, in groups of five bits with a sixth for "more
follows", as the characters from 48 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from snellen.core.errors import DataError
from snellen.core.place import Mask

_FIRST = 48
_MORE, _SIGN, _BITS = 0x20, 0x10, 5


def read_run_lengths(value: Mapping[str, Any]) -> Mask:
    """The mask of COCO's `{"size": [height, width], "counts": ...}`, compressed or a list. Raises
    DataError for runs that do not fill its picture, and KeyError, TypeError or ValueError for another
    object."""
    height, width = map(int, value["size"])
    counts = value["counts"]
    mask = Mask(width, height, runs_of_text(counts) if isinstance(counts, str) else tuple(map(int, counts)))
    check_runs(mask)
    return mask


def check_runs(mask: Mask) -> None:
    """Raise DataError for runs that do not fill the picture of a mask."""
    total = mask.width * mask.height
    if min(mask.runs, default=0) < 0 or sum(mask.runs) != total:
        raise DataError(
            f"the run lengths of a mask count {sum(mask.runs)} pixels; its picture of {mask.width}x{mask.height} "
            f"has {total}"
        )


def runs_of_text(text: str) -> tuple[int, ...]:
    """The run lengths of COCO's compressed text. Raises DataError."""
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - _FIRST
        if not 0 <= bits < 2 * _MORE:
            raise DataError(f"{text[:60]!r} is no compressed run-length text: it holds {character!r}")
        value |= (bits & (_MORE - 1)) << shift
        shift += _BITS
        if not bits & _MORE:
            value -= (1 << shift) if bits & _SIGN else 0
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = shift = 0
    if shift:
        raise DataError(f"{text[:60]!r} is no compressed run-length text: it was cut")
    return tuple(runs)


def mask_of_cells(cells: Sequence[Sequence[bool]], width: int, height: int) -> Mask:
    """The mask of a grid of equal cells over a picture, given row by row; a pixel belongs to the cell in
    which its centre lies."""
    rows, columns = len(cells), len(cells[0])
    row_of = [(2 * y + 1) * rows // (2 * height) for y in range(height)]
    column_of = [(2 * x + 1) * columns // (2 * width) for x in range(width)]
    pixels = (cells[row][column] for column in column_of for row in row_of)
    runs = [(inside, sum(1 for _ in run)) for inside, run in groupby(pixels)]
    lengths = [length for _, length in runs]
    return Mask(width, height, tuple([0, *lengths] if runs and runs[0][0] else lengths))
