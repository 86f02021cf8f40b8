"""MME's 14 subtasks, their sizes and their sums (Sec. 2.2, 2.3)."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.benchmarks.declaration.hierarchy import Hierarchy

ABILITY, SUBTASK = "l2-category", "category"
AREAS: Mapping[str, tuple[str, ...]] = {
    "perception": (
        "existence",
        "count",
        "position",
        "color",
        "posters",
        "celebrity",
        "scene",
        "landmark",
        "artwork",
        "OCR",
    ),
    "cognition": ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"),
}
SUBTASKS = tuple(subtask for area in AREAS.values() for subtask in area)
IMAGES: Mapping[str, int] = dict(
    zip(SUBTASKS, (30, 30, 30, 30, 147, 170, 200, 200, 200, 20, 70, 20, 20, 20), strict=True)
)
"""Images of each subtask (Sec. 2.3); two questions each."""
TOP = 200.0
"""Highest score of a subtask."""

_NAMES = {name.lower(): name for name in SUBTASKS} | {"poster": "posters"}


def subtask_name(name: str) -> str:
    """MME's own name of a subtask, from the spellings of its paper, files and other tools."""
    plain = "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())
    return _NAMES.get(plain, name.strip())


def area_of(subtask: str) -> str | None:
    """`perception` or `cognition`; None for a subtask that is not MME's."""
    return next((area for area, subtasks in AREAS.items() if subtask in subtasks), None)


def hierarchy() -> Hierarchy:
    """Perception and cognition are sums of subtasks."""
    return Hierarchy(SUBTASK, IMAGES, {ABILITY: AREAS}, subtask_name)
