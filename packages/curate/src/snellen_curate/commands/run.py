"""`snellen curate run`: the steps of a recipe, one after the other."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.printing import print_line
from snellen_curate.commands import Finished, run_action
from snellen_curate.commands._table import Status, add_arguments, read_actions

if TYPE_CHECKING:
    from snellen_curate.recipe.pipeline import PlannedStep, RecipeOutcome
    from snellen_curate.recipe.step_commands import StepCommand

_NO_STEPS = ("diff", "run")
"""Actions that make nothing."""


def main(arguments: Namespace) -> Finished:
    """Run what is left of a recipe; incomplete if people or failed requests are waited for."""
    import sys
    from dataclasses import replace

    from snellen_curate.recipe.pipeline import RecipePipeline
    from snellen_curate.recipe.recipe_file import read_recipe

    path = Path(arguments.recipe)
    recipe = read_recipe(path, [name for name in read_actions()[0] if name not in _NO_STEPS])
    if arguments.out:
        recipe = replace(recipe, out=str(Path(arguments.out).absolute()))
    names = dict.fromkeys(step.action for step in recipe.steps)
    pipeline = RecipePipeline(
        recipe, {name: _step_command(name) for name in names}, arguments.command_line
    )
    # What the recipe names is relative to its folder, wherever the command is typed.
    with contextlib.chdir(path.expanduser().absolute().parent):
        pipeline.check()
        if arguments.plan:
            planned = pipeline.plan()
            return Finished("clean", planned, lambda: _print_plan(planned), ())
        notify = _print_to_stderr if arguments.json else print_line
        if arguments.quiet:
            notify = _print_nothing
        printed = sys.stderr if arguments.json else sys.stdout
        with _advice_when_interrupted(arguments.command_line), contextlib.redirect_stdout(printed):
            outcome = pipeline.run(notify)
    status: Status = "clean" if outcome.status == "complete" else "incomplete"
    return Finished(status, outcome, lambda: _print_outcome(outcome))


@contextlib.contextmanager
def _advice_when_interrupted(command: str) -> Iterator[None]:
    """After Ctrl-C, say how the recipe goes on: a step only knows how it does itself."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        print_line(f"the recipe goes on with: {command}", error=True)
        raise


def _step_command(action: str) -> StepCommand:
    from snellen.cli.parser import CommandLineParser
    from snellen_curate.recipe.step_commands import StepCommand

    parser = CommandLineParser(prog=f"snellen curate {action}")
    add_arguments(action, parser)
    parser.set_defaults(parser=parser, in_recipe=True)
    protocol = read_actions()[0][action].recipe
    return StepCommand(action, parser, lambda typed: run_action(typed) != "incomplete", **protocol)


def _print_nothing(line: str) -> None:
    """Notify a user who wants no progress."""


def _print_to_stderr(line: str) -> None:
    print_line(line, error=True)


_TODO = {
    "done": "done",
    "resume": "goes on",
    "run": "to do",
    "again": "to do again",
    "unknown": "to do",
}


def _print_plan(planned: list[PlannedStep]) -> None:
    from snellen_curate.recipe.pipeline import total_spending

    width = max(len(step.name) for step in planned)
    for step in planned:
        reason = f": {step.reason}" if step.reason else ""
        spent = f" ({step.spent.sentence()})" if step.spent.requests else ""
        print_line(f"{step.number:2} {step.name:{width}}  {_TODO[step.todo]}{reason}{spent}")
        if step.todo != "done":
            print_line(f"   {step.command}")
    print_line(f"spent so far: {total_spending(planned).sentence()}")


def _print_outcome(outcome: RecipeOutcome) -> None:
    from snellen_curate.recipe.pipeline import total_spending

    print_line(f"spent so far: {total_spending(outcome.steps).sentence()}")
    if outcome.message:
        print_line(outcome.message)
    else:
        print_line(
            f"{outcome.folder}: {outcome.items} items in provenance.jsonl; summary.md says what "
            "each step did"
        )
