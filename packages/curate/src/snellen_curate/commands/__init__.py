"""`snellen curate ACTION`: `actions.toml` says what each action takes; `NAME.py` has its `main`.

`main(arguments)` does the work and returns a `Finished`; here it is printed, with the command that
comes next, and becomes an exit code: 0 clean, 1 something to look at, 2 a mistake.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.lazy_parser import add_action
from snellen.cli.printing import TABLE, print_json, print_line
from snellen.core.errors import UnknownName, UsageError
from snellen_curate.commands._table import Status, add_arguments, read_actions

OptionsT = TypeVar("OptionsT")


class Finished(NamedTuple):
    """How an action ended."""

    status: Status
    result: object
    """What `--json` prints."""
    print_text: Callable[[], object]
    """Prints it for people, or in another form."""
    next: Sequence[str] | None = None
    """The words behind `snellen` of the command that comes next; empty: none, None: that of the
    table."""


def add(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, action in read_actions()[0].items():
        add_action(actions, name, action.help, partial(add_arguments, name))


def main(arguments: Namespace) -> int:
    """Do the action that was typed; returns its exit code."""
    return COMPLETE if run_action(arguments) == "clean" else INCOMPLETE


def run_action(arguments: Namespace) -> Status:
    """Do an action, print what came of it and what comes next."""
    action = read_actions()[0][arguments.action]
    if action.out and not action.out_default and not arguments.out and not _only_lists(arguments):
        raise UsageError(f"name {action.out}: --out DIR")
    if action.drop:
        arguments.drop = _kinds_to_drop(arguments, action.drop, action.drop_alone)
    module = import_module(f"{__name__}.{arguments.action}")
    finished: Finished = module.main(arguments)
    if arguments.json:
        print_json(finished.result)
        return finished.status
    finished.print_text()
    if note := _outside_note(arguments):
        print_line(note)
    if (
        getattr(arguments, "in_recipe", False)
        or (getattr(arguments, "format", None) or TABLE) != TABLE
    ):
        return finished.status
    words = finished.next
    if words is None:
        words = _next_words(action.next.get(finished.status, ""), arguments)
    if words:
        print_line(f"next: {shlex.join(['snellen', *words])}")
    return finished.status


def read_fields(arguments: Namespace, options: type[OptionsT], **values: Any) -> OptionsT:
    """An options class from the flags with the names of its fields; what was not typed keeps its
    default. `values` are other fields."""
    known = getattr(options, "__struct_fields__", None)
    for name in known or [field.name for field in fields(options)]:  # type: ignore[arg-type]
        typed = getattr(arguments, name, None)
        if typed not in (None, []) and name not in values:
            values[name] = tuple(typed) if isinstance(typed, list) else typed
    return options(**values)


def refuse_flags(arguments: Namespace, names: Sequence[str], why: str) -> None:
    """Raises UsageError if one of these flags was typed; `why` begins the sentence."""
    for name in names:
        if getattr(arguments, name.replace("-", "_")) not in (None, False, [], ()):
            raise UsageError(f"{why}; leave out --{name}")


def _only_lists(arguments: Namespace) -> bool:
    return getattr(arguments, "list_dimensions", False)


def _kinds_to_drop(
    arguments: Namespace, kinds: dict[str, str], alone: Sequence[str]
) -> tuple[str, ...]:
    """The kinds behind `--drop`, those of the bare flag, or none without it."""
    typed = arguments.drop
    if typed is None:
        return ()
    named = [kind for word in typed for kind in word.split(",") if kind]
    for kind in named:
        if kind not in kinds:
            raise UnknownName("kind to --drop", kind, tuple(kinds))
    return tuple(sorted(set(named or alone or kinds)))


def _outside_note(arguments: Namespace) -> str:
    """What to know of pictures that paths or links of the data led to elsewhere; "" if none."""
    from snellen.data_sets.step import STEP_FILE, read_step
    from snellen.report.format import plural

    folder = Path(getattr(arguments, "out", None) or "/")
    outside = read_step(folder).outside if (folder / STEP_FILE).is_file() else ()
    if not outside:
        return ""
    more = f" and {plural(len(outside) - 1, 'more folder')}" if len(outside) > 1 else ""
    return (
        f"note: the data name pictures outside of their own folder, in {outside[0]}{more}; they "
        f"are copied into {folder}, and `snellen curate publish` asks for --outside"
    )


def _next_words(template: str, arguments: Namespace) -> list[str]:
    """The words of a `next` of the table, with the names of this command."""
    if template == "{again}":
        return shlex.split(arguments.command_line)[1:]
    names = {name: str(value) for name, value in vars(arguments).items()}
    names["stem"] = Path(names.get("data", "")).name.partition(".")[0]
    if "{out}" in template and not arguments.out:
        return []
    return [word.format_map(names) for word in template.split()]
