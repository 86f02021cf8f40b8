"""The table of actions, `actions.toml`, and the parsers that are made of it."""

from __future__ import annotations

import tomllib
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from snellen.api.flags import parse_pairs
from snellen.cli.flags import add_options, argument_type, fraction

Status = Literal["clean", "flagged", "incomplete"]
"""How an action ended: nothing to look at; items are flagged, differ or were left out; or something
is missing, and the same command goes on."""
_TYPES: dict[str, Callable[[str], Any]] = {
    "int": int, "float": float, "share": fraction, "pairs": argument_type(parse_pairs),
}  # fmt: skip
_DATA_FILES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".toml", ".html")


class FlagEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A flag. Without `value` it is a switch; without `default` the options class has it."""

    help: str
    value: str | None = None
    short: str = ""
    type: str = ""
    default: str | int | float | None = None
    choices: list[str] | None = None
    many: bool = False
    required: bool = False
    group: str = ""
    exclusive: str = ""
    """Flags with the same word exclude each other."""

    def settings(self) -> dict[str, Any]:
        """The keywords of `add_argument`."""
        if self.value is None:
            return {"help": self.help, "action": "store_true"}
        settings: dict[str, Any] = {"help": self.help, "metavar": self.value}
        if self.type:
            settings["type"] = _TYPES[self.type]
        if self.many:
            return settings | {"nargs": "+", "action": "extend", "default": []}
        return settings | {
            "default": self.default, "choices": self.choices, "required": self.required
        }  # fmt: skip


class Argument(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands without a flag."""

    name: str
    value: str
    help: str
    count: Literal["1", "+", "*"] = "1"


class Action(Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the grammar."""

    help: str
    arguments: list[Argument]
    out: str = ""
    """What `--out DIR` is; empty: it writes nothing."""
    out_default: str = ""
    """What happens without --out; empty: it is required."""
    drop: dict[str, str] = {}
    """What `--drop` takes, with the meaning of kinds whose names do not say it."""
    drop_alone: list[str] = []
    """What `--drop` drops without a word; empty: all kinds."""
    shared: list[str] = []
    flags: dict[str, FlagEntry] = {}
    options: str = ""
    """MODULE:CLASS whose fields are flags too."""
    recipe: dict[str, Any] = {}
    """How a recipe runs it, where it is not one command that writes items: fields of
    `StepCommand`."""
    next: dict[Status, str] = {}


@cache
def read_actions() -> tuple[dict[str, Action], dict[str, FlagEntry]]:
    """The actions by name, and the flags that they share."""
    content = tomllib.loads(Path(__file__).with_name("actions.toml").read_text("utf-8"))
    shared = msgspec.convert(content.pop("shared"), dict[str, FlagEntry])
    return msgspec.convert(content, dict[str, Action]), shared


def add_arguments(name: str, parser: ArgumentParser) -> None:
    """Add what the action takes to its parser."""
    actions, shared = read_actions()
    action = actions[name]
    for each in action.arguments:
        count = {} if each.count == "1" else {"nargs": each.count}
        parser.add_argument(each.name, metavar=each.value, help=each.help, **count)  # type: ignore[arg-type]
    if action.out:
        without = f" (default: {action.out_default})" if action.out_default else ""
        parser.add_argument("-o", "--out", type=_folder, metavar="DIR", help=action.out + without)
    if action.drop:
        parser.add_argument(
            "--drop", nargs="*", action="extend", metavar="KIND", help=_drop_help(action)
        )
    groups: dict[str, Any] = {}
    for flag, entry in ({each: shared[each] for each in action.shared} | action.flags).items():
        _add_flag(parser, groups, flag, entry)
    if action.options:
        module, _, class_name = action.options.partition(":")
        add_options(parser, getattr(import_module(module), class_name))
    for flag in ("quiet", "json"):
        _add_flag(parser, groups, flag, shared[flag])


def _add_flag(parser: ArgumentParser, groups: dict[str, Any], name: str, entry: FlagEntry) -> None:
    """Add one flag, to its group if it has one."""
    title = entry.group or entry.exclusive
    if title and title not in groups:
        groups[title] = (
            parser.add_argument_group(title) if entry.group
            else parser.add_mutually_exclusive_group()
        )  # fmt: skip
    names = [entry.short, f"--{name}"] if entry.short else [f"--{name}"]
    groups.get(title, parser).add_argument(*names, **entry.settings())


def _folder(text: str) -> str:
    """A folder to write. Raises ArgumentTypeError for what looks like a file."""
    path = Path(text)
    if path.suffix.lower() in _DATA_FILES and not path.is_dir():
        raise ArgumentTypeError(f"{text} looks like a file; name a folder, such as {path.stem}")
    return text


def _drop_help(action: Action) -> str:
    kinds = ", ".join(f"{kind} ({about})" if about else kind for kind, about in action.drop.items())
    alone = " ".join(action.drop_alone) or "all"
    several = f"; without a word: {alone}" if len(action.drop) > 1 else ""
    return f"leave these out instead of flagging them: {kinds}{several}"
