"""SEED-Bench-H's hierarchy: 34 dimensions in 7 subparts, 3 parts and capability levels
(Sec. 3.1, 3.2; Fig. 2), its averages and its ranks (Tables 2 and 3).

An average is the plain mean over the dimensions of a subpart, part or level, so that a large
dimension weighs no more than a small one. It has a value only if all of them have one; the paper
prints "-" otherwise. Ranks are taken on unrounded averages; equal ones share the smaller rank.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple

from snellen.core.model import Capabilities

CapabilityLevel = Literal["L0", "L1", "L2", "L3", "L4"]
Version = Literal["1", "2", "2-plus", "H"]

LEVELS: tuple[CapabilityLevel, ...] = ("L1", "L2", "L3")
"""The levels that have questions."""
TEXT_RICH = "Text-Rich Visual Comprehension"
ASSUMED_FORM = ("Few-shot Segmentation", "Few-shot Object Detection")
"""Dimensions of version H whose questions the authors keep in files of their own, in a form that is
documented nowhere public: they are read as if it were that of the other dimensions."""
ASSUMED_MARK = "†"
_FILE = "seed_dimensions.csv"


class Dimension(NamedTuple):
    number: int
    """Evaluation dimension of SEED-Bench-H, and the paper's order."""
    name: str
    level: CapabilityLevel
    """The lowest level that includes it."""
    part: str
    subpart: str
    types: Mapping[str, int]
    """`question_type_id` in the question files of versions 1 and 2, where it has one."""
    other_names: tuple[str, ...]


@functools.cache
def dimensions() -> tuple[Dimension, ...]:
    """All 34, in the order of the paper's Fig. 2."""
    table = files("snellen.benchmarks") / "data" / _FILE
    lines = table.read_text(encoding="utf-8").splitlines()
    return tuple(_dimension(row) for row in csv.DictReader(lines))


def _dimension(row: Mapping[str, str]) -> Dimension:
    return Dimension(
        int(row["number"]),
        row["name"],
        _level(row["level"]),
        row["part"],
        row["subpart"],
        {version: int(row[f"v{version}"]) for version in ("1", "2") if row[f"v{version}"]},
        tuple(filter(None, row["other_names"].split("|"))),
    )


def _level(text: str) -> CapabilityLevel:
    return next(level for level in LEVELS if level == text)


def dimensions_of_version(version: Version) -> tuple[Dimension, ...]:
    """The dimensions a version asks about: 12, 27, 1 (text-rich) or 34."""
    if version == "H":
        return dimensions()
    if version == "2-plus":
        return tuple(dimension for dimension in dimensions() if dimension.name == TEXT_RICH)
    return tuple(dimension for dimension in dimensions() if version in dimension.types)


def dimension_by_type(version: Version, number: int) -> Dimension | None:
    """The dimension of a `question_type_id`; those of version H are the dimensions' numbers."""
    if version == "H":
        return next((dimension for dimension in dimensions() if dimension.number == number), None)
    if version == "2-plus":
        return dimensions_of_version(version)[0]
    return next((dimension for dimension in dimensions() if dimension.types.get(version) == number), None)


def dimension_by_name(name: str) -> Dimension | None:
    """The dimension of that name, in any of the spellings the versions and tools use."""
    return _dimensions_by_name().get(_key(name))


@functools.cache
def _dimensions_by_name() -> dict[str, Dimension]:
    return {_key(name): dimension for dimension in dimensions() for name in (dimension.name, *dimension.other_names)}


def _key(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def level_of(capabilities: Capabilities) -> CapabilityLevel | None:
    """The highest level a model reaches (Sec. 3.1); each level includes those below it.

    L0 text from text; L1 several images before the text; L2 text and images interleaved; L3 images
    as answers; L4 text and images interleaved in the answer. None for a model without text output.
    """
    steps: tuple[tuple[CapabilityLevel, bool], ...] = (
        ("L0", "text" in capabilities.inputs and "text" in capabilities.outputs),
        ("L1", "image" in capabilities.inputs and capabilities.many_images),
        ("L2", capabilities.interleaved),
        ("L3", "image" in capabilities.outputs),
        ("L4", capabilities.interleaved_output),
    )
    reached: CapabilityLevel | None = None
    for level, holds in steps:
        if not holds:
            break
        reached = level
    return reached


class DimensionGroup(NamedTuple):
    """A subpart, part or level, and the dimensions it averages."""

    name: str
    members: tuple[str, ...]


def group_by_subpart(selected: Iterable[Dimension]) -> list[DimensionGroup]:
    return _group_dimensions(selected, lambda one: one.subpart)


def group_by_part(selected: Iterable[Dimension]) -> list[DimensionGroup]:
    return _group_dimensions(selected, lambda one: one.part)


def group_by_level(selected: Sequence[Dimension]) -> list[DimensionGroup]:
    """Each level with its own dimensions and those of lower levels."""
    groups = []
    for index, level in enumerate(LEVELS):
        if any(dimension.level == level for dimension in selected):
            below = LEVELS[: index + 1]
            groups.append(
                DimensionGroup(level, tuple(dimension.name for dimension in selected if dimension.level in below))
            )
    return groups


def _group_dimensions(selected: Iterable[Dimension], label: Callable[[Dimension], str]) -> list[DimensionGroup]:
    members: dict[str, list[str]] = {}
    for dimension in selected:
        members.setdefault(label(dimension), []).append(dimension.name)
    return [DimensionGroup(name, tuple(names)) for name, names in members.items()]
