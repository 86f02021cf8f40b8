"""A parser whose arguments are added when they are needed: only the file of the command or action
that was typed is imported."""

from __future__ import annotations

import argparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Actions = Any
    """What `add_subparsers` returns; its class is private to argparse."""


class LazyParser(argparse.ArgumentParser):
    """An argument parser that calls `add_arguments` with itself before it parses."""

    add_arguments: Callable[[argparse.ArgumentParser], None] | None = None
    typed: Sequence[str] = ()
    """The words that are parsed."""

    def complete(self) -> None:
        """Add the arguments, unless they are there already."""
        add_arguments, self.add_arguments = self.add_arguments, None
        if add_arguments is not None:
            add_arguments(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # The parser above calls this with what follows the command's name.
        self.typed = args or ()
        self.complete()
        return super().parse_known_args(args, namespace)

    def _match_arguments_partial(self, actions: Any, arg_strings_pattern: str) -> list[int]:
        # Before Python 3.13, `RUN*` matches the nothing before the first flag, and what follows
        # the flag is left over: `analyse letters --json RUN`.
        counts: list[int] = super()._match_arguments_partial(actions, arg_strings_pattern)
        while counts and not counts[-1] and "O" in arg_strings_pattern:
            counts.pop()
        return counts


def add_action(
    actions: Actions, name: str, help: str, add_arguments: Callable[[argparse.ArgumentParser], None] | None = None
) -> LazyParser:
    """Add a command to the actions of a command, e.g. `letters` to `snellen analyse`.
    `add_arguments` adds its arguments once it is parsed."""
    parser: LazyParser = actions.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    parser.add_arguments = add_arguments
    parser.set_defaults(parser=parser)
    return parser


def complete_all(parser: argparse.ArgumentParser) -> None:
    """Complete a parser, and those of every command and action below it."""
    if isinstance(parser, LazyParser):
        parser.complete()
    for group in parser._actions:
        if isinstance(group, argparse._SubParsersAction):
            for command in group.choices.values():
                complete_all(command)
