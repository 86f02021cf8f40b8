"""The output of `snellen taskmap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snellen.report import format as fmt
from snellen.report.terminal.lines import print_text
from snellen.taskmap.agreement import NearTau
from snellen.taskmap.findings import (
    CONTROL_LIMIT,
    ControlMap,
    TaskMap,
    TaskMapFindings,
    TaskScoreAgreement,
)
from snellen.taskmap.training import VectorProgress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MAX_NAMES = 6
"""The number of tasks of a cluster that the table names."""
_NEAR_COLUMNS = ("tau", "tasks", "pairs", "p")
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


def print_findings(findings: TaskMapFindings, console: Console) -> None:
    if findings.map is not None:
        _print_map(findings.map, console)
    if findings.agreement is not None:
        _print_agreement(findings.agreement, console)


def _print_map(task_map: TaskMap, console: Console) -> None:
    """Print the tasks by cluster, and how similar the maps of the seeds are."""
    how = task_map.tuning
    numbers = task_map.tasks[0].numbers
    print_text(
        console,
        f"{fmt.plural(len(task_map.tasks), 'task')} of {task_map.benchmark}, {task_map.model} "
        "tuned on each "
        f"for {fmt.plural(how.epochs, 'epoch')}: rank {how.rank} in "
        f"{fmt.plural(task_map.layers, 'layer')}, {fmt.count_text(numbers)} numbers each",
    )
    for name, samples in task_map.left_out.items():
        print_text(console, f"left out: {name} has {fmt.plural(samples, 'sample')}")
    right = {task.task: task.before.right for task in task_map.tasks}
    control = task_map.control
    for clusters in (task_map.clusters, control.clusters if control is not None else ()):
        name = "cluster" if clusters is task_map.clusters else "of the control"
        table = _table(name, "tasks", "right before", "", right_from=1, right_to=2)
        for number, names in enumerate(clusters, start=1):
            share = 100 * sum(right[name] for name in names) / len(names)
            table.add_row(str(number), str(len(names)), f"{share:.0f} %", _names(names))
        if clusters:
            console.print(table)
    if control is not None:
        print_text(console, _control_sentence(control))
    if task_map.cophenetic is not None:
        print_text(
            console,
            f"{task_map.tree.linkage} linkage; correlation of the tree with the distances "
            f"{task_map.cophenetic:.2f}",
        )
    if task_map.halves:
        _print_halves(task_map, console)
    for each in task_map.by_seed if task_map.halves else ():
        recovered = each.tested - len(each.failing)
        failing = f"; not so: {_listed_names(each.failing)}" if each.failing else ""
        print_text(
            console,
            f"seed {each.seed}: halves nearer to each other for {recovered} of {each.tested} tasks "
            f"({100 * recovered / each.tested:.0f} %){failing}",
        )
    for pair in task_map.stability:
        correlation = "-" if pair.correlation is None else f"{pair.correlation:.2f}"
        print_text(
            console,
            f"seeds {pair.first} and {pair.second}: distances correlate {correlation}",
        )


def _control_sentence(control: ControlMap) -> str:
    """How alike the map and its control are, and what follows."""
    recovered = sum(not halves.apart for halves in control.halves)
    halves = f"; it places {recovered} of {len(control.halves)} halves together"
    text = (
        f"control {control.control}: its distances correlate {_tau(control.correlation)} with "
        f"those of the map{halves if control.halves else ''}"
    )
    if not control.resembles_map:
        return text
    return (
        f"{text}; above {CONTROL_LIMIT:g} a map shows the wording and the options of its "
        "questions more than what their images ask, and its clusters are withheld"
    )


def _print_halves(task_map: TaskMap, console: Console) -> None:
    """Print the test of halves for each task, and the tasks that fail it."""
    right = {task.task: task.before.right for task in task_map.tasks}
    table = _table(
        "halves of", "right before", "apart", "unrelated farther", "nearest other", "",
        right_from=1, right_to=4,
    )  # fmt: skip
    for halves in sorted(task_map.halves, key=lambda each: each.distance):
        share = 100 * sum(right[f"{halves.task}/{half}"] for half in (1, 2)) / 2
        table.add_row(
            halves.task,
            f"{share:.0f} %",
            f"{halves.distance:.3f}",
            f"{100 * halves.nearer_than:.0f} %",
            f"{halves.nearest_distance:.3f}",
            halves.nearest,
        )
    console.print(table)
    failing = [halves.task for halves in task_map.halves if halves.apart]
    print_text(
        console,
        f"halves nearer to each other than to any other: {len(task_map.halves) - len(failing)} of "
        f"{len(task_map.halves)}" + (f"; not so: {', '.join(failing)}" if failing else ""),
    )


def _print_agreement(agreement: TaskScoreAgreement, console: Console) -> None:
    """Print the agreement of models by cluster and by distance (Tables 3 and 4)."""
    ties = "0" if agreement.ties == "zero" else "1"
    print_text(
        console,
        f"{fmt.plural(len(agreement.models), 'model')} on {fmt.plural(agreement.tasks, 'task')}; "
        f"tied models count {ties}",
    )
    if agreement.clusters:
        table = _table("cluster", "tasks", "tau", "accuracy", "", right_from=1, right_to=3)
        for cluster in agreement.clusters:
            table.add_row(
                cluster.name,
                str(len(cluster.tasks)),
                _tau(cluster.tau),
                f"{cluster.accuracy:.1f}",
                _DOMAIN[cluster.domain],
            )
        console.print(table)
        _print_against_chance(agreement, console)
    remark = " (each task its own neighbour)" if agreement.itself else ""
    print_text(console, f"tau over every pair of tasks{remark}: {_tau(agreement.every_pair)}")
    if agreement.by_distance:
        table = _table("distance at most", *_NEAR_COLUMNS, right_from=0, right_to=4)
        for near in agreement.by_distance:
            table.add_row(f"{near.threshold:.3g}", *_near_cells(near))
        console.print(table)
    if agreement.by_share:
        table = _table("nearest pairs", "distance at most", *_NEAR_COLUMNS,
                       right_from=0, right_to=5)  # fmt: skip
        for near in agreement.by_share:
            share = "all" if near.share == 1 else f"{100 * (near.share or 0.0):.3g} %"
            table.add_row(share, f"{near.threshold:.3g}", *_near_cells(near))
        console.print(table)
    for of, found, p in (
        ("", agreement.mantel, agreement.mantel_p),
        ("of the control: ", agreement.control_mantel, agreement.control_mantel_p),
    ):
        if found is not None and p is not None:
            print_text(
                console,
                f"{of}distance and tau correlate {found:.2f} over pairs of tasks, p "
                f"{fmt.p_clause(p)} (tasks permuted)",
            )
    if agreement.prediction is not None:
        _print_prediction(agreement, console)


def _near_cells(near: NearTau) -> tuple[str, ...]:
    return _tau(near.tau), str(near.tasks), str(near.pairs), fmt.p_text(near.p)


def _print_against_chance(agreement: TaskScoreAgreement, console: Console) -> None:
    """Print the permutation tests of the clusters; nothing if none could be tested."""
    print_text(
        console,
        "the paper's rule; a large cluster is much of the overall score that it agrees with",
    )
    if all(cluster.tau_others is None for cluster in agreement.clusters):
        return
    table = _table(
        "cluster", "tau with the others", "p", "p of domain", "", right_from=1, right_to=3
    )
    for cluster in agreement.clusters:
        table.add_row(
            cluster.name,
            _tau(cluster.tau_others),
            fmt.p_text(cluster.p),
            fmt.p_text(cluster.p_domain),
            _DOMAIN[cluster.domain_tested],
        )
    console.print(table)
    print_text(
        console,
        "tau with the tasks of all other clusters; p: models permuted; p of domain: against as "
        "many random tasks; both adjusted for the number of clusters (Holm), domains at 0.05",
    )


def _print_prediction(agreement: TaskScoreAgreement, console: Console) -> None:
    guess = agreement.prediction
    assert guess is not None
    if guess.error is not None and guess.plain_error is not None:
        print_text(
            console,
            f"a task's scores from the {fmt.plural(guess.nearest, 'nearest task')}, each left out "
            f"in turn: off by {guess.error:.1f} points; from all other tasks: "
            f"{guess.plain_error:.1f}"
            + ("" if guess.p is None else f"; p {fmt.p_clause(guess.p)} (tasks permuted)"),
        )
    for task in guess.predicted:
        best = sorted(task.scores.items(), key=lambda pair: -pair[1])
        scores = ", ".join(f"{model} {score:.1f}" for model, score in best)
        print_text(console, f"{task.task}, from {', '.join(task.neighbours)}: {scores}")


def _table(*columns: str, right_from: int, right_to: int) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column, name in enumerate(columns):
        right = right_from <= column <= right_to
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _listed_names(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "none"


def _tau(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
