"""Which questions are about the same image, and so belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from snellen.core.sample import Row, Sample

CellValues = list[str | None]


def pair_names(rows: Sequence[Row], groups: Sequence[str]) -> list[str]:
    """A name for each row, shared by the two questions about one image within a group.

    The first of these that all rows have identifies the image: the column `image_path`; a
    `question_id` that two questions of a group share (the layout of Hugging Face copies of MME);
    the name in the column `image`; the image's digest. If none does, every two consecutive rows of
    a group are a pair, as in MME's result files. An image with more questions makes several pairs,
    in order.
    """
    for names in (
        _cells(rows, "image_path"),
        _if_shared(_cells(rows, "question_id"), groups),
        _cells(rows, "image"),
        [row.media[0].digest if row.media else None for row in rows],
    ):
        if names and all(name is not None for name in names):
            return _number_pairs(
                [f"{group}/{name}" for group, name in zip(groups, names, strict=True)]
            )
    return _number_pairs(list(groups))


def add_yes_no_pair(sample: Sample, row: Row) -> Sample:
    """Yes/no questions about the same images in one category become a unit."""
    if sample.kind != "yes_no" or not sample.media:
        return sample
    images = ",".join(ref.digest for ref in sample.media)
    return replace(sample, unit=f"{sample.groups.get('category', '')}/{images}")


def _cells(rows: Sequence[Row], column: str) -> CellValues:
    return [row.cells.get(column) for row in rows]


def _if_shared(names: CellValues, groups: Sequence[str]) -> CellValues:
    counts = Counter(zip(groups, names, strict=True))
    return names if any(count > 1 for count in counts.values()) else []


def _number_pairs(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    units = []
    for name in names:
        number = seen[name] // 2
        seen[name] += 1
        units.append(f"{name}#{number + 1}" if number else name)
    return units
