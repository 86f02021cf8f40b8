"""`snellen why`."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import nullcontext
from typing import TYPE_CHECKING

from snellen.cli.main import COMPLETE, INCOMPLETE
from snellen.cli.printing import print_line, print_result
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.api.why import Explanation
    from snellen.api.why_ask import AskOptions, CrossedRuns
    from snellen.store.runs import RunFolder

_ASK_ONLY = (
    ("yes", "--yes"),
    ("model", "-m"),
    ("load", "--load"),
    ("out", "--out"),
    ("store", "--store"),
    ("retries", "--retries"),
    ("max_failures", "--max-failures"),
    ("budget", "--budget"),
    ("price", "--price"),
    ("serve_timeout", "--serve-timeout"),
)
"""Arguments that mean nothing without `--ask`."""


def main(arguments: Namespace) -> int:
    from snellen.report.terminal.why import WHY_EXPORTS, print_why

    if arguments.examples < 0:
        raise UsageError(f"--examples is {arguments.examples}; expected 0 or more")
    if not arguments.ask:
        given = [flag for name, flag in _ASK_ONLY if getattr(arguments, name)]
        if given:
            raise UsageError(f"{' and '.join(given)} says how to ask; add --ask, or leave it out")
    found = _explain(arguments, ())
    code = COMPLETE
    if arguments.ask:
        made = _ask_crossed_runs(arguments, found)
        if made:
            found = _explain(arguments, made)
            code = COMPLETE if all(one.info.status == "complete" for one in made) else INCOMPLETE
    for warning in found.warnings:
        print_line(f"snellen: {warning}", error=True)
    form = "json" if arguments.json else arguments.format
    print_result(form, found.why, print_why, WHY_EXPORTS)
    return code


def _explain(arguments: Namespace, crossed_runs: tuple[RunFolder, ...]) -> Explanation:
    from snellen.api.why import explain

    return explain(
        arguments.first,
        arguments.second,
        others=(*arguments.others, *crossed_runs),
        examples=arguments.examples,
        moved=arguments.data,
    )


def _ask_crossed_runs(arguments: Namespace, explanation: Explanation) -> tuple[RunFolder, ...]:
    """The further runs that tell the causes apart, once they are agreed to."""
    from snellen.analysis.causes.why import open_combinations
    from snellen.api.why_ask import CrossedRuns
    from snellen.cli.commands.run import exit_interrupted, line_printer
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.terminal.progress import show_progress

    console = Terminal(stderr=True)
    if not open_combinations(explanation.why) and all(
        one.info is not None for one in explanation.sides
    ):
        line_printer(console)("--ask: nothing is left to ask that would tell causes apart")
        return ()
    with CrossedRuns(
        explanation.sides,
        explanation.why,
        explanation.folder,
        _ask_options(arguments),
        moved=arguments.data,
        serving=None if arguments.quiet else line_printer(console),
    ) as crossing:
        _confirm(arguments, crossing, console)
        try:
            with (
                nullcontext(NoProgress()) if arguments.quiet else show_progress(console) as progress
            ):
                return tuple(crossing.ask(arguments.command_line, progress))
        except RunInterrupted as stopped:
            exit_interrupted(stopped.run, console, arguments.command_line)


def _ask_options(arguments: Namespace) -> AskOptions:
    from snellen.api.why_ask import AskOptions

    return AskOptions(
        models=arguments.model,
        load=arguments.load,
        out=arguments.out,
        store=arguments.store,
        retries=arguments.retries,
        max_failures=arguments.max_failures,
        budget=arguments.budget,
        prices=arguments.price,
        serve_timeout=arguments.serve_timeout,
    )


def _confirm(arguments: Namespace, crossed_runs: CrossedRuns, console: Console) -> None:
    """Show the plan, and have it agreed to. Raises UsageError where it is not."""
    from snellen.cli.commands.plan import print_plan

    print_plan(crossed_runs.plan, console, quiet=arguments.quiet)
    if arguments.yes or not crossed_runs.max_requests:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"--ask would send up to {crossed_runs.max_requests:,} requests, and there is no terminal to "
            "agree in; add --yes"
        )
    question = f"send up to {crossed_runs.max_requests:,} requests? [y/N] "
    console.print(question, end="", markup=False, highlight=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was asked")
