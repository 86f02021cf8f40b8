"""The protocol between the pipeline and a step: which flags it takes, and how it is run.

A step is an action of `snellen curate`. The pipeline knows nothing else of it: it gives the flags
that the recipe has, `--out FOLDER`, and the data; afterwards `items.jsonl` in the folder are the
items that the step wrote, and the `status` of `step.json` says whether it has ended.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.cli.parser import renamed_flag
from snellen.core.errors import UnknownName, UsageError
from snellen_curate.recipe.recipe_file import OptionValue

NOT_DECIDING = frozenset(
    ("store", "requests", "budget", "price", "quiet", "json", "format", "output", "top", "open", "port")
)
"""Flags that say how models are reached and what is displayed, not what comes out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProtocol:
    """How a recipe runs an action that is not one command that reads and writes items."""

    phases: Sequence[Sequence[str]] = ((),)
    """Flags of the commands that the step consists of, one after the other. A word `{name}` is
    replaced by that option of the recipe, and a phase whose option is not given is left out; a word
    `[name]` alone is left out."""
    waits: str = ""
    """The clause by which an error says that people have not finished; "" if no person is asked."""
    people: str = ""
    """What people are to do; the command follows."""
    positionals: Sequence[str] = ()
    """Options of the recipe that stand before the data, without a flag."""
    step_option: str = ""
    """The option that may name earlier steps, and stands for their folders."""
    continued_by: Collection[str] = ()
    """Options that add to what the folder has: if they change, the step goes on there."""
    reads_items: bool = True
    """Whether its data are items, rather than pictures or metadata."""
    writes_items: bool = True
    """Whether later steps may read what it wrote."""
    needs_folder: bool = True
    """Whether it is given a folder where the recipe names none."""
    private_ending: str = ""
    """What the name of the folder ends with that has its decisions, if not its own folder."""


PROTOCOLS: Mapping[str, StepProtocol] = {
    "questions": StepProtocol(reads_items=False),
    "metadata": StepProtocol(positionals=("importer",), step_option="media", reads_items=False, writes_items=False),
    "statistics": StepProtocol(writes_items=False, needs_folder=False),
    # The queue is written, decisions made elsewhere are read, and the review is ended, which is
    # refused as long as people have not decided.
    "review": StepProtocol(
        phases=(("--export=queue",), ("--import", "{import}"), ("--finish", "[finish]")),
        waits="--finish keep, drop or flag",
        people="review them with",
        continued_by=("import", "annotator", "finish"),
    ),
    "publish": StepProtocol(writes_items=False, private_ending="-private"),
}
"""By action; the others are one command each."""


@dataclass(frozen=True, slots=True)
class StepCommand:
    """An action as a step of a pipeline."""

    action: str
    parser: argparse.ArgumentParser
    run: Callable[[argparse.Namespace], bool]
    """Runs it in this process; returns whether it has ended, whatever it flagged."""
    protocol: StepProtocol = StepProtocol()

    def flags(self) -> dict[str, argparse.Action]:
        """The flags that a recipe may give, by name without dashes."""
        names: dict[str, argparse.Action] = {}
        for action in self.parser._actions:
            for option in action.option_strings:
                if option.startswith("--") and option not in ("--help", "--out"):
                    names[option.removeprefix("--")] = action
        return names

    def decisive_options(self, options: Mapping[str, OptionValue]) -> dict[str, Any]:
        """The options that decide what comes out."""
        return {key: value for key, value in options.items() if key not in NOT_DECIDING}

    def check_options(self, options: Mapping[str, OptionValue], where: str) -> None:
        """Raises UnknownName for a flag that the step does not have."""
        known = [*self.flags(), *self.protocol.positionals]
        for key in options:
            if key not in known:
                instead = renamed_flag(f"--{key}", self.parser.prog)
                if instead:
                    raise UsageError(f"option of {where} {key!r}: the flag is now {instead}")
                raise UnknownName(f"option of {where}", key, known)

    def arguments(
        self, data: Sequence[str], out: str, options: Mapping[str, OptionValue], phase: Sequence[str] = ()
    ) -> list[str]:
        """The words behind `snellen curate ACTION`; no folder is given if `out` is empty."""
        positionals = self.protocol.positionals
        words = [str(options[name]) for name in positionals if name in options]
        words += data
        if out:
            words += ["--out", out]
        in_phases = {word[1:-1] for each in self.protocol.phases for word in each if word[0] in "[{"}
        for key, value in options.items():
            if key not in in_phases and key not in positionals:
                words += _flag_words(self.flags()[key], f"--{key}", value)
        for word in phase:
            if word[0] not in "[{":
                words.append(word)
            elif word[1:-1] in options:
                words.append(str(options[word[1:-1]]))
        return words

    def wanted_phases(self, options: Mapping[str, OptionValue]) -> list[Sequence[str]]:
        """The phases whose options the recipe has."""
        return [
            phase
            for phase in self.protocol.phases
            if all(word[1:-1] in options for word in phase if word.startswith("{"))
        ]

    def parse(self, words: Sequence[str], where: str) -> argparse.Namespace:
        """Parse the words. Raises UsageError in the words of the command's own parser."""
        printed = io.StringIO()
        try:
            with contextlib.redirect_stderr(printed):
                parsed, unknown = self.parser.parse_known_args(list(words))
        except SystemExit:
            sentence = printed.getvalue().splitlines()[0].removeprefix("snellen: ")
            raise UsageError(f"{where}: {sentence}") from None
        if unknown:
            raise UsageError(f"{where}: unexpected {unknown[0]!r}")
        return parsed


def _flag_words(action: argparse.Action, flag: str, value: OptionValue) -> list[str]:
    """The words of one flag: `true` gives a switch, `false` leaves it out, a list repeats it, a
    table gives its keys with their values."""
    if value is False:
        return []
    if value is True:
        return [flag]
    # With an equals sign, so that a value may begin with a dash.
    return [f"{flag}={each}" for each in _value_words(action, value)]


def _value_words(action: argparse.Action, value: OptionValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            texts = each if isinstance(each, list) else [each]
            yield f"{key}={'+'.join(map(str, texts))}"
    elif not isinstance(value, list):
        yield str(value)
    elif isinstance(action, argparse._AppendAction):
        yield from map(str, value)
    else:
        yield ",".join(map(str, value))
