"""How the boards of some benchmarks are laid out, as in their papers; others have one table.

- MME (arXiv:2306.13394, Fig. 2): perception, cognition and 14 subtasks, each with the score, which
  is accuracy + accuracy+, and both of them; before these the total with all scores side by side.
- MMT-Bench (arXiv:2404.16006, Table 2): Overall and Overall*, the average ranks R and R*, and a
  table of each meta-task. R is a model's mean over the 32 meta-tasks of its competition rank among
  all rows, guesses included, on values of one decimal; R* leaves visual recognition out.
- SEED-Bench-H (Sec. 3.1 and 4, Tables 2 and 3): a table of each level, part and subpart. A model
  stands on a table only if the level that its submitter declares, if any, is not below the table's,
  and if it gave a valid answer to some question of every dimension: a dimension of which no answer
  is valid was not taken, whatever its score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from snellen.benchmarks.abilities.mme import subtasks as mme
from snellen.benchmarks.abilities.mmt_bench import summary as mmt
from snellen.benchmarks.abilities.mmt_bench.tasks import find_meta_task, meta_tasks
from snellen.benchmarks.abilities.seedbench import summary as seed
from snellen.benchmarks.abilities.seedbench.levels import dimensions
from snellen.benchmarks.abilities.seedbench.rows import DIMENSION, PART, SUBPART
from snellen.scoring.mmt_bench import VISUAL_RECOGNITION
from snellen_hub.boards.columns import distinct_keys
from snellen_hub.boards.grouped import BoardLayout, GroupRanking, PartColumn, WholeColumn, WholeRanking, mean_of, sum_of
from snellen_hub.boards.tables import BoardColumn

_LAYOUT_OF_SPEC = {"mme": "mme", "seedbench": "seed", "mmt-bench": "mmt"}


def find_layout(name: str) -> BoardLayout | None:
    """The tables of a layout; None for the plain one."""
    read = _LAYOUTS.get(name)
    return read() if read else None


def layout_name(layout: str, spec: str) -> str:
    """How a board is laid out: as its owner says, else by what it is."""
    family = spec.partition(":")[0].strip().lower()
    return layout or _LAYOUT_OF_SPEC.get(family, "table")


def has_levels(layout: str, spec: str) -> bool:
    """Whether a submitter declares a level, by which tables are gated."""
    found = find_layout(layout_name(layout, spec))
    return found is not None and found.has_valid_answers is not None


def _percent(key: str, label: str, **settings: Any) -> BoardColumn:
    return BoardColumn(key, label, unit="percent", **settings)


@cache
def _mme_layout() -> BoardLayout:
    columns = {name: _mme_column(name, key) for name, key in distinct_keys((*mme.AREAS, *mme.SUBTASKS)).items()}
    tables = [_mme_table(columns[area], "Sums", [columns[name] for name in names]) for area, names in mme.AREAS.items()]
    for area, names in mme.AREAS.items():
        for name in names:
            accuracy = _percent("accuracy", "Accuracy", note="of questions", digits=2)
            both = _percent("accuracy_plus", "Accuracy+", note="of images with both questions right", digits=2)
            parts = (PartColumn("accuracy", name, accuracy), PartColumn("accuracy_plus", name, both))
            tables.append(_mme_table(columns[name], area.capitalize(), parts))
    total = BoardColumn(
        "score",
        "Total",
        unit="points",
        note="perception + cognition, 0 to 2800",
        digits=2,
        top=mme.TOP * len(mme.SUBTASKS),
    )
    whole = [each._replace(column=replace(each.column, is_default=name in mme.AREAS)) for name, each in columns.items()]
    return BoardLayout(
        mme.hierarchy(),
        mme.SUBTASK,
        tuple(tables),
        sum_of,
        WholeRanking("total", "Total", (WholeColumn("total", total),), tuple(whole)),
    )


def _mme_column(name: str, key: str) -> PartColumn:
    """The points of an area or a subtask."""
    group, top = mme.SUBTASK, mme.TOP
    if name in mme.AREAS:
        group, top = mme.ABILITY, mme.TOP * len(mme.AREAS[name])
    words = name.replace("_", " ")
    title = words if words.isupper() else words.capitalize()
    return PartColumn(group, name, BoardColumn(key, title, unit="points", is_default=False, digits=2, top=top))


def _mme_table(one: PartColumn, section: str, parts: Iterable[PartColumn]) -> GroupRanking:
    """The table of an area or a subtask."""
    top = int(one.column.top)
    score = BoardColumn("score", "Score", unit="points", digits=2, top=top, note=f"accuracy + accuracy+, 0 to {top}")
    return GroupRanking(one.group, one.label, one.column.key, one.column.label, section, score, tuple(parts))


@cache
def _mmt_layout() -> BoardLayout:
    hierarchy = mmt.hierarchy()
    keys = distinct_keys(meta.abbreviation for meta in meta_tasks())
    tables, columns = [], []
    for short, _, title in meta_tasks():
        members = hierarchy.larger[mmt.META_TASK][short]
        column = _percent(keys[short], short, note=title, is_default=False)
        columns.append(PartColumn(mmt.META_TASK, short, column))
        score = _percent("score", short, note=f"plain mean over {len(members)} subtasks")
        parts = tuple(
            PartColumn(mmt.SUBTASK, name, _percent(key, name.replace("_", " "), is_default=False))
            for name, key in distinct_keys(members, "subtask.").items()
        )
        tables.append(
            GroupRanking(mmt.META_TASK, short, keys[short], title, "Meta-tasks", score, parts, is_always=False)
        )
    without = "without visual recognition"
    wholes = (
        WholeColumn(
            mmt.OVERALL,
            _percent("score", "Overall", note="plain mean over the 162 subtasks"),
            average_rank=BoardColumn("average-rank", "R", "rank", note="mean of the ranks over the 32 meta-tasks"),
        ),
        WholeColumn(
            mmt.WITHOUT_RECOGNITION,
            _percent("without-recognition", "Overall*", note=without),
            VISUAL_RECOGNITION,
            BoardColumn("average-rank-without-recognition", "R*", "rank", note=f"mean of the ranks {without}"),
        ),
    )
    guesses = {mmt.RANDOM_GUESS: "Random Guess", mmt.FREQUENCY_GUESS: "Frequency Guess"}
    whole = WholeRanking("overall", "Overall", wholes, tuple(columns), guesses)
    return BoardLayout(hierarchy, mmt.META_TASK, tuple(tables), mean_of, whole, _meta_task_name)


def _meta_task_name(name: str) -> str:
    found = find_meta_task(name)
    return found.abbreviation if found else name


@cache
def _seed_layout() -> BoardLayout:
    hierarchy = seed.hierarchy()
    groups = [(group, label) for group, labels in hierarchy.larger.items() for label in labels if label != "part-1"]
    keys = distinct_keys(label for _, label in groups)
    return BoardLayout(
        hierarchy,
        SUBPART,
        tuple(_seed_table(group, label, hierarchy.larger[group][label], keys) for group, label in groups),
        mean_of,
        has_valid_answers=seed.has_valid_answers,
        subgroup=SUBPART,
    )


def _seed_table(group: str, label: str, names: Sequence[str], keys: Mapping[str, str]) -> GroupRanking:
    members = [one for one in dimensions() if one.name in names]
    dimension_keys = distinct_keys((one.name for one in dimensions()), "dimension.")
    is_level = group == seed.LEVEL
    # Part 1 is level L1.
    subparts = list(dict.fromkeys(one.subpart for one in members))
    parts = []
    if group != SUBPART and len(subparts) > 1:
        parts = [PartColumn(SUBPART, name, _percent(keys[name], name)) for name in subparts]
    is_default = group == SUBPART and len(members) < 8
    for one in members:
        column = _percent(dimension_keys[one.name], one.name, note=one.subpart, is_default=is_default)
        parts.append(PartColumn(DIMENSION, one.name, column))
    return GroupRanking(
        group,
        label,
        keys[label],
        f"{{board}}, {label}" if is_level else label,
        {seed.LEVEL: "Levels", PART: "Parts", SUBPART: "Subparts"}[group],
        _percent("score", label if is_level else "Score", note=f"plain mean over {len(members)} dimensions"),
        tuple(parts),
        max(one.level for one in members),
        is_level,
    )


_LAYOUTS: Mapping[str, Callable[[], BoardLayout]] = {"mme": _mme_layout, "seed": _seed_layout, "mmt": _mmt_layout}
