"""`snellen why`."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import nullcontext
from typing import TYPE_CHECKING

from snellen.cli.main import COMPLETE, INCOMPLETE
from snellen.cli.printing import print_in, say
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.api.why import Explained
    from snellen.api.why_ask import AskTerms, Crossing
    from snellen.store.runs import RunFolder

_ASKING_ALONE = (
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
        given = [flag for name, flag in _ASKING_ALONE if getattr(arguments, name)]
        if given:
            raise UsageError(f"{' and '.join(given)} says how to ask; add --ask, or leave it out")
    found = _explained(arguments, ())
    code = COMPLETE
    if arguments.ask:
        made = _asked(arguments, found)
        if made:
            found = _explained(arguments, made)
            code = COMPLETE if all(one.info.status == "complete" for one in made) else INCOMPLETE
    for warning in found.warnings:
        say(f"snellen: {warning}", error=True)
    form = "json" if arguments.json else arguments.format
    print_in(form, found.why, print_why, WHY_EXPORTS)
    return code


def _explained(arguments: Namespace, made: tuple[RunFolder, ...]) -> Explained:
    from snellen.api.why import explain

    return explain(
        arguments.first,
        arguments.second,
        others=(*arguments.others, *made),
        examples=arguments.examples,
        moved=arguments.data,
    )


def _asked(arguments: Namespace, found: Explained) -> tuple[RunFolder, ...]:
    """The further runs that tell the causes apart, once they are agreed to."""
    from snellen.analysis.causes.why import open_combinations
    from snellen.api.why_ask import Crossing
    from snellen.cli.commands.run import leave, told
    from snellen.engine.loop.progress import Silent
    from snellen.engine.loop.run import Interrupted
    from snellen.report.console import Terminal
    from snellen.report.terminal.progress import watching

    console = Terminal(stderr=True)
    if not open_combinations(found.why) and all(one.info is not None for one in found.sides):
        told(console)("--ask: nothing is left to ask that would tell causes apart")
        return ()
    with Crossing(
        found.sides,
        found.why,
        found.folder,
        _terms(arguments),
        moved=arguments.data,
        serving=None if arguments.quiet else told(console),
    ) as crossing:
        _agree(arguments, crossing, console)
        try:
            with nullcontext(Silent()) if arguments.quiet else watching(console) as progress:
                return tuple(crossing.ask(arguments.command_line, progress))
        except Interrupted as stopped:
            leave(stopped.run, console, arguments.command_line)


def _terms(arguments: Namespace) -> AskTerms:
    from snellen.api.why_ask import AskTerms

    return AskTerms(
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


def _agree(arguments: Namespace, crossing: Crossing, console: Console) -> None:
    """Show the plan, and have it agreed to. Raises UsageError where it is not."""
    from snellen.cli.commands.plan import print_plan

    print_plan(crossing.planned, console, quiet=arguments.quiet)
    if arguments.yes or not crossing.requests:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"--ask would send up to {crossing.requests:,} requests, and there is no terminal to "
            "agree in; add --yes"
        )
    question = f"send up to {crossing.requests:,} requests? [y/N] "
    console.print(question, end="", markup=False, highlight=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was asked")
