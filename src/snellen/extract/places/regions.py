"""Polygons and masks in a reply: `[[10, 20], [30, 20], [30, 40]]`, `{"polygon": [10, 20, 30, 20, 30, 40]}`,
`<poly><loc_10><loc_20>...</poly>`, COCO's run lengths `{"size": [h, w], "counts": ...}`, and Text4Seg's
grid of labels `<seg>others *16\\n others *7| dog *9</seg>` (https://arxiv.org/abs/2410.09855, Section 3),
in which all but `others` is the answer.

PaliGemma's `<seg012>` are codes that its own decoder turns into a mask: they are found, and no place.
"""

from __future__ import annotations

from collections.abc import Iterator

from snellen.core import lazy_re as re
from snellen.core.errors import DataError
from snellen.core.literals import parse_json_or_literal
from snellen.core.place import read_run_lengths
from snellen.extract.places.brackets import find_bracketed
from snellen.extract.places.find import blank_places, with_labels
from snellen.extract.places.named import find_named
from snellen.extract.places.tags import find_tokens
from snellen.extract.places.written import WrittenPlace

CODES = "segmentation tokens"
_LEAST_NUMBERS = 6
_RUN_LENGTHS = re.compile(r"\{[^{}]*[\"']counts[\"'][^{}]*\}")
_GRID = re.compile(r"<seg>([^<>]+)</seg>", re.IGNORECASE)
_CELLS = re.compile(r"\s*([^|*\n]*?)\s*\*\s*(\d{1,4})\s*")
_CODES = re.compile(r"(?:<seg\d{3}>\s*)+")
_OTHERS = "others"
_MOST_CELLS = 4_096
_BETWEEN_PAIRS = re.compile(r"[\s,;]*")
_BETWEEN_OBJECTS = re.compile(r"[\"'\s]*\}[\s,]*\{[\"'\s]*")


def find_regions(text: str) -> list[WrittenPlace]:
    """The polygons and masks of a text in their order, with their labels. Without any, its other numbers
    in brackets, which are no region."""
    masks = [*_find_run_lengths(text), *_find_grids(text)]
    masks += [WrittenPlace((), *match.span(), CODES) for match in _CODES.finditer(text)]
    tokens = list(find_tokens(blank_places(text, masks), len(text)))
    rest = blank_places(text, [*masks, *tokens])
    numbers = [
        *_join_pairs(rest, list(find_named(rest)), _BETWEEN_OBJECTS),
        *_join_pairs(rest, find_bracketed(rest, pairs_are_boxes=False), _BETWEEN_PAIRS),
    ]
    polygons = [one for one in (*tokens, *numbers) if len(one.numbers) >= _LEAST_NUMBERS]
    found = [*masks, *polygons] or [*tokens, *numbers]
    return with_labels(text, sorted(found, key=lambda one: (one.start, one.end)))


def _find_run_lengths(text: str) -> Iterator[WrittenPlace]:
    for match in _RUN_LENGTHS.finditer(text):
        written = WrittenPlace((), *match.span(), "run lengths")
        try:
            yield written._replace(mask=read_run_lengths(parse_json_or_literal(match[0])))
        except (DataError, ValueError, TypeError, KeyError):
            yield written


def _find_grids(text: str) -> Iterator[WrittenPlace]:
    for match in _GRID.finditer(text):
        rows: list[tuple[bool, ...]] = []
        labels: dict[str, None] = {}
        for line in match[1].strip("\n").split("\n"):
            cells = [_CELLS.fullmatch(cell) for cell in line.split("|")]
            row: list[bool] = []
            for cell in cells:
                if cell is not None and len(row) + int(cell[2]) <= _MOST_CELLS:
                    label = cell[1].strip()
                    row += [label.casefold() != _OTHERS] * int(cell[2])
                    labels[label] = None
            rows.append(tuple(row) if None not in cells else ())
        names = [label for label in labels if label.casefold() != _OTHERS]
        whole = len({len(row) for row in rows}) == 1 and bool(rows[0])
        label = names[0] if len(names) == 1 else ""
        yield WrittenPlace((), *match.span(), "grid of labels", label=label, grid=tuple(rows) if whole else ())


def _join_pairs(text: str, found: list[WrittenPlace], between: re.Pattern[str]) -> Iterator[WrittenPlace]:
    """The places, pairs that stand in one list as the corners of one polygon."""
    joined: WrittenPlace | None = None
    for one in found:
        if joined is not None and len(one.numbers) == 2 and between.fullmatch(text, joined.end, one.start):
            decimals = joined.decimals or one.decimals
            joined = joined._replace(numbers=joined.numbers + one.numbers, end=one.end, decimals=decimals)
            continue
        if joined is not None:
            yield joined
        joined = one if len(one.numbers) == 2 else None
        if joined is None:
            yield one
    if joined is not None:
        yield joined
