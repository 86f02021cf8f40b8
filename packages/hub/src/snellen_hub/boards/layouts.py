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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

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


@cache
def _mme_layout() -> BoardLayout:
    keys = distinct_keys((*mme.AREAS, *mme.SUBTASKS))

    def column(name: str, *, is_default: bool = False) -> PartColumn:
        group, top = mme.SUBTASK, mme.TOP
        if name in mme.AREAS:
            group, top = mme.ABILITY, mme.TOP * len(mme.AREAS[name])
        return PartColumn(
            group,
            name,
            BoardColumn(keys[name], _mme_title(name), unit="points", is_default=is_default, digits=2, top=top),
        )

    def table(name: str, section: str, parts: Iterable[PartColumn]) -> GroupRanking:
        one = column(name)
        top = int(one.column.top)
        score = BoardColumn(
            "score", "Score", unit="points", digits=2, top=top, note=f"accuracy + accuracy+, 0 to {top}"
        )
        return GroupRanking(one.group, name, keys[name], _mme_title(name), section, score, tuple(parts))

    def shares(name: str) -> Iterator[PartColumn]:
        for key, label, note in (
            ("accuracy", "Accuracy", "of questions"),
            ("accuracy_plus", "Accuracy+", "of images with both questions right"),
        ):
            yield PartColumn(key, name, BoardColumn(key, label, unit="percent", note=note, digits=2))

    areas = mme.AREAS.items()
    total = BoardColumn(
        "score",
        "Total",
        unit="points",
        note="perception + cognition, 0 to 2800",
        digits=2,
        top=mme.TOP * len(mme.SUBTASKS),
    )
    return BoardLayout(
        mme.hierarchy(),
        mme.SUBTASK,
        (
            *(table(area, "Sums", map(column, names)) for area, names in areas),
            *(table(name, area.capitalize(), shares(name)) for area, names in areas for name in names),
        ),
        sum_of,
        WholeRanking(
            "total",
            "Total",
            (WholeColumn("total", total),),
            (*(column(area, is_default=True) for area in mme.AREAS), *map(column, mme.SUBTASKS)),
        ),
    )


def _mme_title(name: str) -> str:
    words = name.replace("_", " ")
    return words if words.isupper() else words.capitalize()


@cache
def _mmt_layout() -> BoardLayout:
    hierarchy = mmt.hierarchy()
    keys = distinct_keys(meta.abbreviation for meta in meta_tasks())
    tables, columns = [], []
    for short, _, title in meta_tasks():
        members = hierarchy.larger[mmt.META_TASK][short]
        columns.append(
            PartColumn(
                mmt.META_TASK, short, BoardColumn(keys[short], short, unit="percent", note=title, is_default=False)
            )
        )
        score = BoardColumn("score", short, unit="percent", note=f"plain mean over {len(members)} subtasks")
        parts = tuple(
            PartColumn(mmt.SUBTASK, name, BoardColumn(key, name.replace("_", " "), unit="percent", is_default=False))
            for name, key in distinct_keys(members, "subtask.").items()
        )
        tables.append(
            GroupRanking(mmt.META_TASK, short, keys[short], title, "Meta-tasks", score, parts, is_always=False)
        )
    wholes = (
        WholeColumn(
            mmt.OVERALL,
            BoardColumn("score", "Overall", unit="percent", note="plain mean over the 162 subtasks"),
            average_rank=BoardColumn("average-rank", "R", "rank", note="mean of the ranks over the 32 meta-tasks"),
        ),
        WholeColumn(
            mmt.WITHOUT_RECOGNITION,
            BoardColumn("without-recognition", "Overall*", unit="percent", note="without visual recognition"),
            VISUAL_RECOGNITION,
            BoardColumn(
                "average-rank-without-recognition", "R*", "rank", note="mean of the ranks without visual recognition"
            ),
        ),
    )
    guesses = {mmt.RANDOM_GUESS: "Random Guess", mmt.FREQUENCY_GUESS: "Frequency Guess"}
    return BoardLayout(
        hierarchy,
        mmt.META_TASK,
        tuple(tables),
        mean_of,
        WholeRanking("overall", "Overall", wholes, tuple(columns), guesses),
        lambda name: found.abbreviation if (found := find_meta_task(name)) else name,
    )


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

    def parts() -> Iterator[PartColumn]:
        """Part 1 is level L1."""
        subparts = list(dict.fromkeys(one.subpart for one in members))
        for name in subparts if group != SUBPART and len(subparts) > 1 else ():
            yield PartColumn(SUBPART, name, BoardColumn(keys[name], name, unit="percent"))
        is_default = group == SUBPART and len(members) < 8
        for one in members:
            yield PartColumn(
                DIMENSION,
                one.name,
                BoardColumn(
                    dimension_keys[one.name], one.name, unit="percent", note=one.subpart, is_default=is_default
                ),
            )

    return GroupRanking(
        group,
        label,
        keys[label],
        f"{{board}}, {label}" if is_level else label,
        {seed.LEVEL: "Levels", PART: "Parts", SUBPART: "Subparts"}[group],
        BoardColumn(
            "score", label if is_level else "Score", unit="percent", note=f"plain mean over {len(members)} dimensions"
        ),
        tuple(parts()),
        max(one.level for one in members),
        is_level,
    )


_LAYOUTS: Mapping[str, Callable[[], BoardLayout]] = {"mme": _mme_layout, "seed": _seed_layout, "mmt": _mmt_layout}
