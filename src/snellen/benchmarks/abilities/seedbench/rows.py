"""SEED-Bench's rows to samples: dimension, part and level, and options that are pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from snellen.benchmarks.abilities.seedbench.levels import (
    LEVELS,
    CapabilityLevel,
    Dimension,
    Version,
    dimension_by_name,
    dimension_by_type,
)
from snellen.benchmarks.declaration.golds import ColumnOfGolds
from snellen.benchmarks.declaration.rows import options_of, sample_of
from snellen.core.errors import DataError
from snellen.core.sample import Row, Sample
from snellen.data.columns import id_of
from snellen.data.tables.seed_json import IMAGE_OPTIONS

DIMENSION, SUBPART, PART, CATEGORY, MEDIA = "dimension", "subpart", "part", "category", "media"
"""Columns by which samples are grouped; `media` (image or video) in version 1 alone."""

DRAWN, TEXT_AND_DRAWN = "Image Generation", "Image & Text Generation"
"""Subparts whose answers are pictures, or a text and a picture."""

_VIDEO_ID = re.compile(r"v\d+(?: \(row \d+\))?")
"""Ids of version 1's video questions; its picture questions have bare numbers. An id that stands
twice in a file of results has the number of its row behind it."""
_NUMBERED_ID = re.compile(r"(\d+)_\d+(?: \(row \d+\))?")
"""Ids of version 2 and H: the number of the dimension and that of the question."""


def seed_samples(rows: Iterable[Row], *, version: Version, level: CapabilityLevel, path: str) -> Iterator[Sample]:
    """Samples of the dimensions up to `level`, and of unknown dimensions.

    Raises DataError for a row without a question, a gold answer that is no option, or a duplicate
    id.
    """
    seen: dict[str, int] = {}
    column = ColumnOfGolds(lambda: rows, options_of)
    for row in rows:
        dimension = dimension_of(row.cells, version)
        if dimension and LEVELS.index(dimension.level) > LEVELS.index(level):
            continue
        sample = sample_of(row, groups=(), path=path, column=column)
        first = seen.setdefault(sample.id, row.index)
        if first != row.index:
            raise DataError(
                f"{path}: rows {first + 1} and {row.index + 1} have the same id {sample.id!r}; ids must be unique"
            )
        groups = groups_of(sample, row.cells, dimension, version)
        yield replace(_with_image_options(sample, row, path), groups=groups)


def dimension_of(cells: Mapping[str, str], version: Version) -> Dimension | None:
    """By the category's name where it is known, else by the number of the question's type, which
    is also the first part of the ids of version 2 and H."""
    by_category = dimension_by_name(cells.get(CATEGORY, ""))
    if by_category is not None:
        return by_category
    number = cells.get("question_type_id", "")
    if not number.isdecimal() and version in ("2", "H"):
        numbered = _NUMBERED_ID.fullmatch(id_of(cells) or "")
        number = numbered[1] if numbered else ""
    return dimension_by_type(version, int(number)) if number.isdecimal() else None


def groups_of(
    sample: Sample, cells: Mapping[str, str], dimension: Dimension | None, version: Version
) -> dict[str, str]:
    groups = {}
    if dimension is not None:
        groups = {PART: dimension.part, SUBPART: dimension.subpart, DIMENSION: dimension.name}
    category = cells.get(CATEGORY)
    if category and (dimension is None or version == "2-plus"):
        groups[CATEGORY] = category
    if version == "1":
        video = cells.get("data_type") == "video" or _VIDEO_ID.fullmatch(sample.id)
        groups[MEDIA] = "video" if video else "image"
    return groups


def _with_image_options(sample: Sample, row: Row, path: str) -> Sample:
    """Make the last media of a row its options, if the answer is an image."""
    count = int(row.cells.get(IMAGE_OPTIONS, "0"))
    if not count:
        return sample
    if count > len(row.media):
        raise DataError(
            f"{path}, row {row.index + 1}: {count} options are pictures, but the row names {len(row.media)} files"
        )
    question_media, options = row.media[:-count], row.media[-count:]
    return replace(sample, media=question_media, option_images=dict(zip(sample.options, options, strict=True)))
