"""The command line as a whole; the flags of each command are in the files `parser_*.py`."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import NoReturn

from snellen import __version__
from snellen.cli import (
    parser_analyse,
    parser_compare,
    parser_lookup,
    parser_report,
    parser_run,
    parser_taskmap,
)


class CommandLineParser(argparse.ArgumentParser):
    """Argparse that suggests the flag or command meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.+?)' \(choose from (.+)\)", message)
        if choice:
            known = re.findall(r"[\w-]+", choice[2])
            message += _suggestion(choice[1], known)
        number = re.fullmatch(r"argument (.+): invalid (int|float) value: (.+)", message)
        if number:
            kind = "whole number" if number[2] == "int" else "number"
            message = f"argument {number[1]}: got {number[3]}; expected a {kind}"
        self.exit(2, f"snellen: {message}\ntry: {self.prog} --help\n")

    def refuse_unknown(self, arguments: Sequence[str]) -> NoReturn:
        """Words that are no flag of this command."""
        word = arguments[0].partition("=")[0]
        flags = self._option_string_actions
        if not word.startswith("-"):
            again = "; to name several, repeat the flag: -b A -b B" if "-b" in flags else ""
            self.error(f"unexpected argument {arguments[0]!r}{again}")
        option = word.lstrip("-").replace("-", "_")
        if "-m" in flags and option in _model_options():
            self.error(
                f"{word} is no flag but an option of the model; put it behind the model's name: "
                f"-m MODEL:{option}=VALUE"
            )
        near = _suggestion(word, list(flags))
        self.error(f"unrecognized arguments: {' '.join(arguments)}{near}")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; exits with 2 and one sentence where they are off."""
    parser = build_parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        arguments.parser.unknown(unknown)
    return arguments


def build_parser() -> CommandLineParser:
    parser = CommandLineParser(
        prog="snellen",
        description="Measure multimodal models: one command, a number you can trust, "
        "and the reason behind it.",
        epilog="Start with: snellen run -m snellen/tiny -b eyechart",
    )
    parser.add_argument("--version", action="version", version=f"snellen {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    parser_run.add(commands)
    parser_report.add(commands)
    parser_run.add_parity(commands)
    parser_compare.add(commands)
    parser_analyse.add(commands)
    parser_lookup.add_card(commands)
    parser_report.add_label(commands)
    parser_taskmap.add(commands)
    parser_report.add_view(commands)
    parser_lookup.add(commands)
    return parser


def _model_options() -> frozenset[str]:
    """The options of every installed provider."""
    from snellen.models.naming.registry import all_options

    return frozenset(option.name for option in all_options())


def _suggestion(word: str, candidates: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, candidates, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
