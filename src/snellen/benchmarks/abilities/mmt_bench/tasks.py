"""MMT-Bench's task hierarchy: 162 subtasks of 32 meta-tasks (Tables A1 to A4), with the image
types and capabilities of each, its cluster on the task map, and the three lists of subtasks that
its prompt studies take (Appendix D.2, D.3 and E: 28, 14 and 19 of them).

Names are those of the published files (`next_img_prediction`, with the authors' spelling);
`find_subtask` also knows them as the paper prints them.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

Study = Literal["multi-image", "referring", "detection"]
"""Several images against one (Fig. 3a-h), boxes drawn or written (Fig. 3i), coordinate formats
(Fig. A2)."""

STUDIES: tuple[Study, ...] = get_args(Study)


class MetaTask(NamedTuple):
    abbreviation: str
    name: str
    """As the published files write it."""
    title: str


class Subtask(NamedTuple):
    name: str
    """As the published files write it."""
    title: str
    """As Tables A2 to A4 print it."""
    meta_task: str
    """Abbreviation of its meta-task."""
    samples: int
    """Questions of the ALL split."""
    cluster: str
    """Number of its cluster (Appendix A)."""
    image_types: tuple[str, ...]
    capabilities: tuple[str, ...]
    studies: tuple[Study, ...]
    image_names: tuple[str, ...]
    """How questions call their images, in order; `{1}` stands for as many as are left, counted
    from 1, `{0}` from 0. Empty: they have no names."""


@functools.cache
def meta_tasks() -> tuple[MetaTask, ...]:
    """All 32, in the order of Table 2."""
    return tuple(
        MetaTask(row["abbreviation"], row["meta_task"], row["name"]) for row in _read_rows("mmt_meta_tasks.csv")
    )


@functools.cache
def subtasks() -> tuple[Subtask, ...]:
    """All 162, in the order of Tables A2 to A4."""
    return tuple(
        Subtask(
            row["subtask"],
            row["name"],
            row["meta_task"],
            int(row["samples"]),
            row["cluster"],
            _split_items(row["image_types"]),
            _split_items(row["capabilities"]),
            tuple(study for study in STUDIES if study in _split_items(row["studies"])),
            tuple(filter(None, row["picture_names"].split("|"))),
        )
        for row in _read_rows("mmt_subtasks.csv")
    )


def find_subtask(name: str) -> Subtask | None:
    """The subtask of that name, in the spelling of the files, the paper or other tools."""
    return _subtask_names().get(_key(name))


def find_meta_task(name: str) -> MetaTask | None:
    """The meta-task of that name or abbreviation."""
    return _meta_task_names().get(_key(name))


@functools.cache
def by_meta_task() -> Mapping[str, tuple[str, ...]]:
    """Names of the subtasks of each meta-task, by abbreviation in the order of Table 2."""
    names = _group_names(lambda task: (task.meta_task,))
    return {meta.abbreviation: names[meta.abbreviation] for meta in meta_tasks()}


@functools.cache
def by_image_type() -> Mapping[str, tuple[str, ...]]:
    """Fig. A3: names of the subtasks with each of 13 image types; a subtask may have several."""
    return _group_names(lambda task: task.image_types)


@functools.cache
def by_capability() -> Mapping[str, tuple[str, ...]]:
    """Fig. A4: names of the subtasks that need each of 14 capabilities; they may need several."""
    return _group_names(lambda task: task.capabilities)


@functools.cache
def by_cluster() -> Mapping[str, tuple[str, ...]]:
    """Table 4: names of the subtasks of each of 12 clusters."""
    names = _group_names(lambda task: (task.cluster,))
    return {cluster: names[cluster] for cluster in sorted(names, key=int)}


@functools.cache
def by_study() -> Mapping[str, tuple[str, ...]]:
    """Names of the 28, 14 and 19 subtasks of the prompt studies."""
    names = _group_names(lambda task: task.studies)
    return {study: names[study] for study in STUDIES}


def _group_names(labels: Callable[[Subtask], Iterable[str]]) -> Mapping[str, tuple[str, ...]]:
    names_by_label: dict[str, list[str]] = {}
    for task in subtasks():
        for label in labels(task):
            names_by_label.setdefault(label, []).append(task.name)
    return {label: tuple(names) for label, names in names_by_label.items()}


@functools.cache
def _subtask_names() -> Mapping[str, Subtask]:
    return {_key(name): task for task in subtasks() for name in (task.name, task.title)}


@functools.cache
def _meta_task_names() -> Mapping[str, MetaTask]:
    return {_key(name): meta for meta in meta_tasks() for name in meta}


def _key(name: str) -> str:
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return plain.replace("threed", "3d")


def _split_items(cell: str) -> tuple[str, ...]:
    return tuple(filter(None, cell.split(";")))


def _read_rows(name: str) -> list[dict[str, str]]:
    table = files("snellen.benchmarks") / "data" / name
    return list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
