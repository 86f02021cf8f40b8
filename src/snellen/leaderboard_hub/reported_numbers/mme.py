"""MME's board from Tables 1 and 2 of its paper (arXiv:2306.13394).

The printed percentages are of whole numbers of questions and images, which are recovered, so that
sums are those of Figure 2. From them follows how many images have both, one or no question right,
and thereby the same interval as that of a run.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.benchmarks.abilities.mme.subtasks import (
    ABILITY,
    AREAS,
    IMAGES,
    SUBTASK,
    SUBTASKS,
    TOP,
    subtask_name,
)
from snellen.core.summary import Metric
from snellen.leaderboard_hub.reported_numbers.model_facts import facts_of_model
from snellen.leaderboard_hub.reported_numbers.numbers import (
    ReportedBoard,
    ReportedRow,
    ReportedTables,
    ReportSource,
    make_summary,
    read_paper_table,
)
from snellen.scoring.grouped import interval_of_mean
from snellen.scoring.leaderboard import RecoveredCounts, recover_counts
from snellen.stats.stratified import GroupSums, group_sums

_SOURCE = ReportSource(
    "MME (arXiv:2306.13394)", "https://arxiv.org/abs/2306.13394", "Tables 1 and 2"
)
_NOTES = {
    ("LLaVA", "perception"): "Figure 2 prints 1531.31; the counts behind Tables 1 and 2 give "
    "1531.32",
}


def read_mme() -> ReportedTables:
    """The 30 models of Tables 1 and 2."""
    cells: dict[str, dict[str, tuple[str, str]]] = {}
    for row in read_paper_table("mme_subtasks.csv"):
        subtask = subtask_name(row["subtask"])
        cells.setdefault(row["model"], {})[subtask] = (row["acc"], row["acc_plus"])
    warnings: list[str] = []
    rows = tuple(_row(model, printed, warnings) for model, printed in cells.items())
    warnings += [f"mme: {model}, {area}: {note}" for (model, area), note in _NOTES.items()]
    board = ReportedBoard(
        name="mme",
        title="MME",
        description="Perception and cognition by yes/no questions, two an image: accuracy plus "
        "accuracy+ of 14 subtasks.",
        spec="mme",
        layout="mme",
        rows=rows,
    )
    return ReportedTables(boards=(board,), warnings=tuple(warnings))


def _row(model: str, printed: Mapping[str, tuple[str, str]], warnings: list[str]) -> ReportedRow:
    counts: dict[str, RecoveredCounts] = {}
    notes: dict[str, str] = {}
    for subtask in SUBTASKS:
        found = recover_counts(*printed[subtask], IMAGES[subtask])
        if found is None:
            raise ValueError(f"{model}, {subtask}: no counts give {printed[subtask]}")
        counts[subtask] = found
        if found.images < IMAGES[subtask]:
            notes[subtask] = f"fits {found.images} of {IMAGES[subtask]} images only"
            warnings.append(f"mme: {model}, {subtask}: {notes[subtask]}")
    sums = {subtask: _image_sums(subtask, found) for subtask, found in counts.items()}
    areas = {
        name: _sum_metric(model, name, subtasks, counts, sums)
        for name, subtasks in {"total": SUBTASKS, **AREAS}.items()
    }
    scores = {
        subtask: Metric("score", found.score, 2 * found.images,
                        interval_of_mean(sums[subtask], top=TOP), notes.get(subtask, ""),
                        "points", TOP)
        for subtask, found in counts.items()
    }  # fmt: skip
    shares = {
        name: {
            subtask: Metric(name, float(printed[subtask][place]), size * found.images,
                            interval_of_mean([sums[subtask][place]]))
            for subtask, found in counts.items()
        }
        for place, (name, size) in enumerate((("accuracy", 2), ("accuracy_plus", 1)))
    }  # fmt: skip
    groups = {ABILITY: {area: areas[area] for area in AREAS}, SUBTASK: scores, **shares}
    return ReportedRow(
        model=model,
        summary=make_summary(areas["total"], areas.values(), groups),
        source=_SOURCE,
        facts=facts_of_model(model),
    )


def _image_sums(subtask: str, counts: RecoveredCounts) -> tuple[GroupSums, GroupSums]:
    """Sums of the questions and of the images, each image a cluster of its own."""
    images = [f"{subtask} {number}" for number in range(counts.images)]
    one = counts.right - 2 * counts.both
    right = [2] * counts.both + [1] * one + [0] * (counts.images - counts.both - one)
    questions = [float(number < count) for count in right for number in range(2)]
    clusters = [image for image in images for _ in range(2)]
    return (
        group_sums(questions, clusters),
        group_sums([float(count == 2) for count in right], images),
    )


def _sum_metric(
    model: str,
    name: str,
    subtasks: tuple[str, ...],
    counts: Mapping[str, RecoveredCounts],
    sums: Mapping[str, tuple[GroupSums, GroupSums]],
) -> Metric:
    top = TOP * len(subtasks)
    parts = [part for subtask in subtasks for part in sums[subtask]]
    return Metric(
        name,
        sum(counts[subtask].score for subtask in subtasks),
        sum(2 * counts[subtask].images for subtask in subtasks),
        interval_of_mean(parts, top=top),
        _NOTES.get((model, name), ""),
        "points",
        top,
    )
