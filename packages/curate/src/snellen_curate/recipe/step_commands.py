"""The protocol between the pipeline and a step: which flags it takes, and how it is run.

A step is an action of `snellen curate`. The pipeline knows nothing else of it: it gives the flags
that the recipe has, `--out FOLDER`, and the data; afterwards `items.jsonl` in the folder are the
items that the step wrote, and the `status` of `step.json` says whether it has ended.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.cli.parser import renamed_flag
from snellen.core.errors import UnknownName, UsageError
from snellen.data_sets.items import ITEMS_FILE
from snellen.store.responses import STORE_FILE
from snellen_curate.recipe.recipe_file import CurationRecipe, OptionValue, RecipeStep

NOT_DECIDING = frozenset(
    ("store", "requests", "budget", "price", "quiet", "json", "format", "output", "top", "open", "port")
)
"""Flags that say how models are reached and what is displayed, not what comes out."""
_DATA_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".xml", ".yaml", ".yml", ".tar")


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
    writes_items: bool = True
    """Whether later steps may read what it wrote."""
    needs_folder: bool = True
    """Whether it is given a folder where the recipe names none."""
    private_ending: str = ""
    """What the name of the folder ends with that has its decisions, if not its own folder."""


PROTOCOLS: Mapping[str, StepProtocol] = {
    "metadata": StepProtocol(positionals=("importer",), step_option="media", writes_items=False),
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
    """A step of a recipe as a command. Paths are relative to the current folder."""

    recipe: CurationRecipe
    step: RecipeStep
    parser: argparse.ArgumentParser
    """Of the step's action."""
    earlier: Sequence[StepCommand]

    @property
    def protocol(self) -> StepProtocol:
        return PROTOCOLS.get(self.step.action, StepProtocol())

    @property
    def folder(self) -> Path:
        return Path(self.step.out or f"{self.recipe.out}/{self.step.name}")

    @property
    def private(self) -> Path:
        """Where the step's decisions are, if not in its folder."""
        named, ending = self.step.options.get("private"), self.protocol.private_ending
        if isinstance(named, str) and named:
            return Path(named)
        return self.folder.with_name(self.folder.name + ending) if ending else self.folder

    @property
    def flags(self) -> dict[str, argparse.Action]:
        """The flags that a recipe may give, by name without dashes."""
        return {
            option.removeprefix("--"): action
            for action in self.parser._actions
            for option in action.option_strings
            if option.startswith("--") and option not in ("--help", "--out")
        }

    @property
    def options(self) -> dict[str, OptionValue]:
        """The step's own options, those of the recipe that it has a flag for, and the store."""
        flags, key = self.flags, self.protocol.step_option
        options: dict[str, OptionValue] = {}
        if "store" in flags:
            options["store"] = str(Path(self.recipe.out) / STORE_FILE)
        options |= {name: value for name, value in self.recipe.options.items() if name in flags}
        if "price" in options:
            options["price"] = _prices_of(options["price"], self.step.options)
        options |= self.step.options
        if key in options:
            options[key] = self._folders_of(_as_list(options[key]))
        return options

    @property
    def decisive_options(self) -> dict[str, Any]:
        """The options that decide what comes out."""
        return {key: value for key, value in self.options.items() if key not in NOT_DECIDING}

    @property
    def phases(self) -> list[Sequence[str]]:
        """The phases whose options the recipe has."""
        options = self.options
        return [
            phase
            for phase in self.protocol.phases
            if all(word[1:-1] in options for word in phase if word.startswith("{"))
        ]

    def data(self, *, planned: bool = False) -> list[str]:
        """What the step reads: earlier steps, paths, or the last items that were written, if
        `planned` also those that will be."""
        if self.step.data:
            return self._folders_of(self.step.data)
        for each in reversed(self.earlier):
            if (planned and each.protocol.writes_items) or (each.folder / ITEMS_FILE).is_file():
                return [str(each.folder)]
        return [self.recipe.data] if self.recipe.data else []

    def _folders_of(self, names: Iterable[object]) -> list[str]:
        """The folders of earlier steps for their names, and other names as they are."""
        folders = {each.step.name: str(each.folder) for each in self.earlier}
        return [folders.get(str(name), str(name)) for name in names]

    def check(self) -> None:
        """Check options and data before anything is run. Raises UsageError subclasses."""
        self.check_options(self.step.options, self.step.label)
        later = [each.name for each in self.recipe.steps[len(self.earlier) :]]
        folders = {each.step.name: each.folder for each in self.earlier}
        for name in self.step.data:
            if name in later and not Path(name).exists():
                raise UsageError(f"{self.step.label} reads {name!r}, which comes later")
            # What an earlier step is to write comes in time.
            is_made = name in folders or any(Path(name).is_relative_to(folder) for folder in folders.values())
            if not is_made and Path(name).suffix in _DATA_SUFFIXES and not Path(name).expanduser().exists():
                raise UsageError(f"{self.step.label} reads {name}; there is no such file")
        if not (self.earlier or self.step.data or self.recipe.data):
            raise UsageError(f'{self.recipe.path} does not say what the first step reads; add data = "FOLDER OR FILE"')
        for phase in self.phases:
            self.parse(self._arguments(["DATA"], "OUT", self.options, phase))

    def check_options(self, options: Iterable[str], where: str) -> None:
        """Raises UnknownName for a flag that the step does not have."""
        known = [*self.flags, *self.protocol.positionals]
        for key in options:
            if key not in known:
                instead = renamed_flag(f"--{key}", self.parser.prog)
                if instead:
                    raise UsageError(f"option of {where} {key!r}: the flag is now {instead}")
                raise UnknownName(f"option of {where}", key, known)

    def words(self, phase: Sequence[str] = ()) -> list[str]:
        """The words behind `snellen curate ACTION`."""
        return self._arguments(self.data(), self._out, self.options, phase)

    def line(self, words: Sequence[str]) -> str:
        """The command with these words."""
        return shlex.join(["snellen", "curate", self.step.action, *words])

    def planned_line(self) -> str:
        """The command, without what only says how models are reached."""
        return self.line(self._arguments(self.data(planned=True), self._out, self.decisive_options))

    @property
    def _out(self) -> str:
        return str(self.folder) if self.step.out or self.protocol.needs_folder else ""

    def _arguments(
        self, data: Sequence[str], out: str, options: Mapping[str, OptionValue], phase: Sequence[str] = ()
    ) -> list[str]:
        """The words for these data and options; no folder is given if `out` is empty."""
        positionals, flags = self.protocol.positionals, self.flags
        words = [*(str(options[name]) for name in positionals if name in options), *data]
        if out:
            words += ["--out", out]
        in_phases = {word[1:-1] for each in self.protocol.phases for word in each if word[0] in "[{"}
        for key, value in options.items():
            if key not in in_phases and key not in positionals:
                words += _flag_words(flags[key], f"--{key}", value)
        for word in phase:
            if word[0] not in "[{":
                words.append(word)
            elif word[1:-1] in options:
                words.append(str(options[word[1:-1]]))
        return words

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words. Raises UsageError in the words of the command's own parser."""
        printed = io.StringIO()
        try:
            with contextlib.redirect_stderr(printed):
                parsed, unknown = self.parser.parse_known_args(list(words))
        except SystemExit:
            sentence = printed.getvalue().splitlines()[0].removeprefix("snellen: ")
            raise UsageError(f"{self.step.label}: {sentence}") from None
        if unknown:
            raise UsageError(f"{self.step.label}: unexpected {unknown[0]!r}")
        return parsed


def _as_list(value: OptionValue) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _prices_of(prices: OptionValue, options: Mapping[str, OptionValue]) -> list[str]:
    """The prices of models that a step's own options name: others would be refused."""
    named = " ".join(map(str, options.values()))
    return [str(price) for price in _as_list(prices) if str(price).rpartition(":")[0] in named]


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
