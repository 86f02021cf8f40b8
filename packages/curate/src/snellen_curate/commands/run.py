"""`snellen curate run`: the steps of a recipe, one after the other."""

from __future__ import annotations

import contextlib
import functools
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen.cli.output import TABLE, print_line
from snellen_curate.commands import ACTIONS, run_action
from snellen_curate.commands._action import ActionOptions, Finished, parse_folder, sentence

if TYPE_CHECKING:
    from snellen.report.document import Document
    from snellen_curate.recipe.pipeline import PlannedStep, RecipeOutcome

_TODO = {"done": "done", "resume": "goes on", "run": "to do", "again": "to do again", "unknown": "to do"}


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate run` takes."""

    recipe: str = argument("RECIPE.toml", "the steps and their options")
    out: str | None = option(None, "--out", parse=parse_folder)
    """None: `out` of the recipe, else its name and `-made`."""
    plan: bool = option(False, "--plan", "print what would be done, and end", is_switch=True)


def main(options: Options) -> Finished:
    """Run what is left of a recipe; incomplete if people or failed requests are waited for."""
    import sys
    from dataclasses import replace

    from snellen_curate.recipe.pipeline import RecipePipeline
    from snellen_curate.recipe.recipe_file import read_recipe
    from snellen_curate.recipe.step_commands import StepCommand

    path = Path(options.recipe)
    recipe = read_recipe(path, [name for name in ACTIONS if name != "run"])
    if options.out:
        recipe = replace(recipe, out=str(Path(options.out).absolute()))
    commands: list[StepCommand] = []
    for step in recipe.steps:
        commands.append(StepCommand(recipe, step, _parser(step.action), tuple(commands)))
    pipeline = RecipePipeline(recipe, commands, _run_step, options.command_line)
    is_table = options.form == TABLE
    # What the recipe names is relative to its folder, wherever the command is typed.
    with contextlib.chdir(path.expanduser().absolute().parent):
        pipeline.check()
        if options.plan:
            return Finished("clean", _plan_document(pipeline.plan()))
        printed = sys.stdout if is_table else sys.stderr
        with _advice_when_interrupted(options.command_line), contextlib.redirect_stdout(printed):
            outcome = pipeline.run(lambda line: None if options.quiet else print_line(line, error=not is_table))
    document = _outcome_document(outcome)
    if outcome.status == "complete":
        return Finished("clean", document)
    return Finished("incomplete", document, options.again)


@contextlib.contextmanager
def _advice_when_interrupted(command: str) -> Iterator[None]:
    """After Ctrl-C, say how the recipe goes on: a step only knows how it does itself."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        print_line(f"the recipe goes on with: {command}", error=True)
        raise


@functools.cache
def _parser(action: str) -> ArgumentParser:
    from importlib import import_module

    from snellen.cli.command_modules import add_arguments
    from snellen.cli.parser import CommandLineParser

    parser = CommandLineParser(prog=f"snellen curate {action}")
    add_arguments(import_module(f"snellen_curate.commands.{action}"), parser)
    parser.set_defaults(parser=parser)
    return parser


def _run_step(typed: Namespace) -> bool:
    return run_action(typed, in_recipe=True) != "incomplete"


def _plan_document(planned: list[PlannedStep]) -> Document:
    from snellen.report.document import Column, Document, Table
    from snellen_curate.recipe.pipeline import total_spending

    columns = (Column("step", "count"), Column("name"), Column("what is left"), Column("spent"))
    rows = [
        (
            step.number,
            step.name,
            ": ".join(filter(None, (_TODO[step.todo], step.reason))),
            step.spent.sentence() if step.spent.requests else "",
        )
        for step in planned
    ]
    commands = [sentence(step.command) for step in planned if step.todo != "done"]
    spent = sentence(f"spent so far: {total_spending(planned).sentence()}")
    return Document([Table("steps", columns, rows), *commands, spent], planned)


def _outcome_document(outcome: RecipeOutcome) -> Document:
    from snellen.report.document import Document
    from snellen_curate.recipe.pipeline import total_spending

    lines = [f"spent so far: {total_spending(outcome.steps).sentence()}"]
    if outcome.message:
        lines += outcome.message.splitlines()
    else:
        decided = f"; what they decided: {outcome.decisions}" if outcome.decisions else ""
        lines.append(f"{outcome.folder}: every step is complete{decided}")
    return Document([sentence(line) for line in lines], outcome)
