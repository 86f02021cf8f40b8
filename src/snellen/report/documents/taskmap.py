"""What `snellen taskmap` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from snellen.report import format as fmt
from snellen.report.document import Block, Column, Document, EmptyLine, Line, Table, table_of
from snellen.taskmap.agreement import NearTau
from snellen.taskmap.findings import CONTROL_LIMIT, ControlMap, TaskMap, TaskMapFindings, TaskScoreAgreement
from snellen.taskmap.prediction import TaskPrediction
from snellen.taskmap.training import VectorProgress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_NAMES = 6
"""The number of tasks of a cluster that the table names."""
_TAU = Column("tau", "number", 2)
_DOMAIN = {"in": "in-domain", "out": "out-of-domain", "": ""}


def progress_line(progress: VectorProgress) -> str:
    """A line about a finished vector."""
    before, after = progress.facts.before, progress.facts.after
    what = "found" if progress.cached else f"{progress.facts.seconds:.1f} s"
    return (
        f"{progress.done}/{progress.total} {progress.facts.task}, seed {progress.seed}: "
        f"{fmt.plural(progress.facts.samples, 'sample')}, right {100 * before.right:.0f} -> "
        f"{100 * after.right:.0f} %, {what}"
    )


def task_map_document(findings: TaskMapFindings) -> Document:
    """The map, then the agreement of models. The figure is the tree, or without a map nothing."""
    blocks: list[Block] = []
    if findings.map is not None:
        blocks += _map_blocks(findings.map)
    if findings.agreement is not None:
        blocks += _agreement_blocks(findings.agreement)
    task_map = findings.map
    return Document(
        _add_spaces(blocks), data=findings, plot=None if task_map is None else lambda: _tree_figure(task_map)
    )


def _add_spaces(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with an empty line around each table."""
    spaced = list(blocks[:1])
    for before, block in pairwise(blocks):
        if isinstance(before, Table) or isinstance(block, Table):
            spaced.append(EmptyLine())
        spaced.append(block)
    return spaced


def _tree_figure(task_map: TaskMap) -> Figure:
    from snellen.report.plots.taskmap import tree_figure

    return tree_figure(task_map)


def _map_blocks(task_map: TaskMap) -> Iterator[Block]:
    """The tasks by cluster, and how similar the maps of the seeds are."""
    how = task_map.tuning
    numbers = task_map.tasks[0].numbers
    yield _line(
        f"{fmt.plural(len(task_map.tasks), 'task')} of {task_map.benchmark}, {task_map.model} "
        f"tuned on each for {fmt.plural(how.epochs, 'epoch')}: rank {how.rank} in "
        f"{fmt.plural(task_map.layers, 'layer')}, {fmt.count_text(numbers)} numbers each"
    )
    for name, samples in task_map.left_out.items():
        yield _line(f"left out: {name} has {fmt.plural(samples, 'sample')}")
    control = task_map.control
    if task_map.clusters:
        yield _clusters_table(task_map, "clusters", task_map.clusters)
    if control is not None:
        if control.clusters:
            yield _clusters_table(task_map, "clusters of the control", control.clusters)
        yield _line(_control_sentence(control))
    if task_map.cophenetic is not None:
        yield _line(
            f"{task_map.tree.linkage} linkage; correlation of the tree with the distances {task_map.cophenetic:.2f}"
        )
    if task_map.halves:
        yield _halves_table(task_map)
        failing = [halves.task for halves in task_map.halves if halves.apart]
        yield _line(
            "halves nearer to each other than to any other: "
            f"{len(task_map.halves) - len(failing)} of {len(task_map.halves)}"
            + (f"; not so: {', '.join(failing)}" if failing else "")
        )
    for each in task_map.by_seed if task_map.halves else ():
        recovered = each.tested - len(each.failing)
        not_so = f"; not so: {', '.join(each.failing)}" if each.failing else ""
        yield _line(
            f"seed {each.seed}: halves nearer to each other for {recovered} of {each.tested} tasks "
            f"({100 * recovered / each.tested:.0f} %){not_so}"
        )
    for pair in task_map.stability:
        correlation = _number(pair.correlation)
        yield _line(f"seeds {pair.first} and {pair.second}: distances correlate {correlation}")


def _line(text: str) -> Line:
    return Line(text, is_unbroken=True)


def _clusters_table(task_map: TaskMap, title: str, clusters: Sequence[Sequence[str]]) -> Table:
    right = {task.task: task.before.right for task in task_map.tasks}
    columns = (Column("cluster"), Column("tasks", "count"), Column("right before", "share", 0), Column("names"))
    rows = [
        (str(number), len(names), sum(right[name] for name in names) / len(names), _names(names))
        for number, names in enumerate(clusters, start=1)
    ]
    return Table(title, columns, rows)


def _control_sentence(control: ControlMap) -> str:
    """How alike the map and its control are, and what follows."""
    recovered = sum(not halves.apart for halves in control.halves)
    halves = f"; it places {recovered} of {len(control.halves)} halves together"
    text = (
        f"control {control.control}: its distances correlate {_number(control.correlation)} with "
        f"those of the map{halves if control.halves else ''}"
    )
    if not control.resembles_map:
        return text
    return (
        f"{text}; above {CONTROL_LIMIT:g} a map shows the wording and the options of its "
        "questions more than what their images ask, and its clusters are withheld"
    )


def _halves_table(task_map: TaskMap) -> Table:
    """The test of halves for each task."""
    right = {task.task: task.before.right for task in task_map.tasks}
    return table_of(
        "halves",
        sorted(task_map.halves, key=lambda each: each.distance),
        [
            (Column("halves of"), lambda halves: halves.task),
            (
                Column("right before", "share", 0),
                lambda halves: sum(right[f"{halves.task}/{half}"] for half in (1, 2)) / 2,
            ),
            (Column("apart", "number", 3), lambda halves: halves.distance),
            (Column("unrelated farther", "share", 0), lambda halves: halves.nearer_than),
            (Column("nearest other", "number", 3), lambda halves: halves.nearest_distance),
            (Column("which"), lambda halves: halves.nearest),
        ],
    )


def _agreement_blocks(agreement: TaskScoreAgreement) -> Iterator[Block]:
    """The agreement of models by cluster and by distance (Tables 3 and 4)."""
    ties = "0" if agreement.ties == "zero" else "1"
    yield _line(
        f"{fmt.plural(len(agreement.models), 'model')} on {fmt.plural(agreement.tasks, 'task')}; "
        f"tied models count {ties}"
    )
    if agreement.clusters:
        yield _agreement_table(agreement)
        if any(cluster.tau_others is not None for cluster in agreement.clusters):
            yield _chance_table(agreement)
    remark = " (each task its own neighbour)" if agreement.itself else ""
    yield _line(f"tau over every pair of tasks{remark}: {_number(agreement.every_pair)}")
    if agreement.by_distance:
        yield _near_table("tau by distance", agreement.by_distance)
    if agreement.by_share:
        yield _near_table("tau of the nearest pairs", agreement.by_share)
    for of, found, p in (
        ("", agreement.mantel, agreement.mantel_p),
        ("of the control: ", agreement.control_mantel, agreement.control_mantel_p),
    ):
        if found is not None and p is not None:
            yield _line(
                f"{of}distance and tau correlate {found:.2f} over pairs of tasks, p {fmt.p_clause(p)} (tasks permuted)"
            )
    if agreement.prediction is not None:
        yield from _prediction_lines(agreement.prediction)


def _agreement_table(agreement: TaskScoreAgreement) -> Table:
    return table_of(
        "agreement by cluster",
        agreement.clusters,
        [
            (Column("cluster"), lambda cluster: cluster.name),
            (Column("tasks", "count"), lambda cluster: len(cluster.tasks)),
            (_TAU, lambda cluster: cluster.tau),
            (Column("accuracy", "points"), lambda cluster: cluster.accuracy),
            (Column("domain"), lambda cluster: _DOMAIN[cluster.domain]),
        ],
        ["the paper's rule; a large cluster is much of the overall score that it agrees with"],
    )


def _chance_table(agreement: TaskScoreAgreement) -> Table:
    """The permutation tests of the clusters."""
    note = (
        "tau with the tasks of all other clusters; p: models permuted; p of domain: against as "
        "many random tasks; both adjusted for the number of clusters (Holm), domains at 0.05"
    )
    return table_of(
        "agreement against chance",
        agreement.clusters,
        [
            (Column("cluster"), lambda cluster: cluster.name),
            (Column("tau with the others", "number", 2), lambda cluster: cluster.tau_others),
            (Column("p", "p"), lambda cluster: cluster.p),
            (Column("p of domain", "p"), lambda cluster: cluster.p_domain),
            (Column("domain"), lambda cluster: _DOMAIN[cluster.domain_tested]),
        ],
        [note],
    )


def _near_table(title: str, rows: Sequence[NearTau]) -> Table:
    has_share = any(near.share is not None for near in rows)
    return table_of(
        title,
        rows,
        [
            *([(Column("nearest pairs", "share"), lambda near: near.share)] if has_share else []),
            (Column("distance at most", "number", 3), lambda near: near.threshold),
            (_TAU, lambda near: near.tau),
            (Column("tasks", "count"), lambda near: near.tasks),
            (Column("pairs", "count"), lambda near: near.pairs),
            (Column("p", "p"), lambda near: near.p),
        ],
    )


def _prediction_lines(guess: TaskPrediction) -> Iterator[Line]:
    if guess.error is not None and guess.plain_error is not None:
        yield _line(
            f"a task's scores from the {fmt.plural(guess.nearest, 'nearest task')}, each left out "
            f"in turn: off by {guess.error:.1f} points; from all other tasks: "
            f"{guess.plain_error:.1f}" + ("" if guess.p is None else f"; p {fmt.p_clause(guess.p)} (tasks permuted)")
        )
    for task in guess.predicted:
        best = sorted(task.scores.items(), key=lambda pair: -pair[1])
        scores = ", ".join(f"{model} {score:.1f}" for model, score in best)
        yield _line(f"{task.task}, from {', '.join(task.neighbours)}: {scores}")


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _number(value: float | None) -> str:
    return fmt.NONE if value is None else f"{value:.2f}"
