"""What `snellen taskmap` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snellen.report import format as fmt
from snellen.taskmap.findings import Agreement, Findings, TaskMap
from snellen.taskmap.training import Finished

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MOST_NAMES = 6
"""Tasks of a cluster that are named in the table."""
_DOMAIN = {"in": "in-domain", "out": "out-of-domain", "": ""}


def finished_line(one: Finished) -> str:
    """One line about a vector."""
    before, after = one.facts.before, one.facts.after
    what = "found" if one.found else f"{one.facts.seconds:.1f} s"
    return (
        f"{one.done}/{one.wanted} {one.facts.task}, seed {one.seed}: "
        f"{fmt.plural(one.facts.samples, 'sample')}, right {100 * before.right:.0f} -> "
        f"{100 * after.right:.0f} %, {what}"
    )


def print_findings(findings: Findings, console: Console) -> None:
    if findings.map is not None:
        _print_map(findings.map, console)
    if findings.agreement is not None:
        _print_agreement(findings.agreement, console)


def _print_map(found: TaskMap, console: Console) -> None:
    how = found.tuning
    numbers = found.tasks[0].numbers
    _say(
        console,
        f"{fmt.plural(len(found.tasks), 'task')} of {found.benchmark}, {found.model} tuned on each "
        f"for {fmt.plural(how.epochs, 'epoch')}: rank {how.rank} in "
        f"{fmt.plural(found.layers, 'layer')}, {fmt.number(numbers)} numbers each",
    )
    for name, samples in found.left_out.items():
        _say(console, f"left out: {name} has {fmt.plural(samples, 'sample')}")
    right = {task.task: task.before.right for task in found.tasks}
    table = _table("cluster", "tasks", "right before", "", right_from=1, until=2)
    for number, names in enumerate(found.clusters, start=1):
        share = 100 * sum(right[name] for name in names) / len(names)
        table.add_row(str(number), str(len(names)), f"{share:.0f} %", _names(names))
    console.print(table)
    if found.cophenetic is not None:
        _say(
            console,
            f"{found.tree.linkage} linkage; correlation of the tree with the distances "
            f"{found.cophenetic:.2f}",
        )
    if found.halves:
        _print_halves(found, console)
    for one in found.stability:
        told = "-" if one.correlation is None else f"{one.correlation:.2f}"
        _say(
            console,
            f"seeds {one.first} and {one.second}: distances correlate {told}; halves not told as "
            f"one: {_listed(one.failing[0])}; {_listed(one.failing[1])}",
        )


def _print_halves(found: TaskMap, console: Console) -> None:
    right = {task.task: task.before.right for task in found.tasks}
    table = _table(
        "halves of", "right before", "apart", "unrelated farther", "nearest other", "",
        right_from=1, until=4,
    )  # fmt: skip
    for one in sorted(found.halves, key=lambda one: one.distance):
        share = 100 * sum(right[f"{one.task}/{half}"] for half in (1, 2)) / 2
        table.add_row(
            one.task,
            f"{share:.0f} %",
            f"{one.distance:.3f}",
            f"{100 * one.nearer_than:.0f} %",
            f"{one.nearest_distance:.3f}",
            one.nearest,
        )
    console.print(table)
    failing = [one.task for one in found.halves if one.apart]
    _say(
        console,
        f"halves nearer to each other than to any other: {len(found.halves) - len(failing)} of "
        f"{len(found.halves)}" + (f"; not so: {', '.join(failing)}" if failing else ""),
    )


def _print_agreement(found: Agreement, console: Console) -> None:
    ties = "0" if found.ties == "zero" else "1"
    _say(
        console,
        f"{fmt.plural(len(found.models), 'model')} on {fmt.plural(found.tasks, 'task')}; "
        f"tied models count {ties}",
    )
    if found.clusters:
        table = _table("cluster", "tasks", "tau", "accuracy", "", right_from=1, until=3)
        for one in found.clusters:
            table.add_row(
                one.name,
                str(len(one.tasks)),
                _tau(one.tau),
                f"{one.accuracy:.1f}",
                _DOMAIN[one.domain],
            )
        console.print(table)
        _print_against_chance(found, console)
    beside = " (each task its own neighbour)" if found.itself else ""
    _say(console, f"tau over every pair of tasks{beside}: {_tau(found.every_pair)}")
    if found.by_distance:
        table = _table("distance at most", "tau", "tasks", "pairs", "p", right_from=0, until=4)
        for near in found.by_distance:
            numbers = (_tau(near.tau), str(near.tasks), str(near.pairs), fmt.p_text(near.p))
            table.add_row(f"{near.threshold:.3g}", *numbers)
        console.print(table)
    if found.mantel is not None and found.mantel_p is not None:
        _say(
            console,
            f"distance and tau correlate {found.mantel:.2f} over pairs of tasks, p "
            f"{fmt.p_told(found.mantel_p)} (tasks permuted)",
        )
    if found.prediction is not None:
        _print_prediction(found, console)


def _print_against_chance(found: Agreement, console: Console) -> None:
    _say(
        console,
        "the paper's rule; a large cluster is much of the overall score that it agrees with",
    )
    if all(one.tau_others is None for one in found.clusters):
        return
    table = _table("cluster", "tau with the others", "p", "p of domain", "", right_from=1, until=3)
    for one in found.clusters:
        table.add_row(
            one.name,
            _tau(one.tau_others),
            fmt.p_text(one.p),
            fmt.p_text(one.p_domain),
            _DOMAIN[one.domain_tested],
        )
    console.print(table)
    _say(
        console,
        "tau with the tasks of all other clusters; p: models permuted; p of domain: against as "
        "many random tasks; both adjusted for the number of clusters (Holm), domains at 0.05",
    )


def _print_prediction(found: Agreement, console: Console) -> None:
    guess = found.prediction
    assert guess is not None
    if guess.error is not None and guess.plain_error is not None:
        _say(
            console,
            f"a task's scores from the {fmt.plural(guess.nearest, 'nearest task')}, each left out "
            f"in turn: off by {guess.error:.1f} points; from all other tasks: "
            f"{guess.plain_error:.1f}"
            + ("" if guess.p is None else f"; p {fmt.p_told(guess.p)} (tasks permuted)"),
        )
    for one in guess.predicted:
        best = sorted(one.scores.items(), key=lambda pair: -pair[1])
        told = ", ".join(f"{model} {score:.1f}" for model, score in best)
        _say(console, f"{one.task}, from {', '.join(one.neighbours)}: {told}")


def _table(*columns: str, right_from: int, until: int) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for at, name in enumerate(columns):
        right = right_from <= at <= until
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "none"


def _tau(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)
