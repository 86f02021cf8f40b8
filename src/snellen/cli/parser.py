"""The command line as a whole: which commands there are, and errors that suggest what was meant."""

from __future__ import annotations

import argparse
import re
from functools import partial
from importlib import import_module

from snellen import __version__
from snellen.cli.lazy_parser import LazyParser, add_action, complete_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

COMMANDS = {
    "run": "run models on benchmarks and report the scores",
    "watch": "evaluate the checkpoints of a training run as they appear",
    "plan": "show what a run would ask and cost, and what is missing",
    "score": "score recorded predictions, without a model",
    "merge": "join the shards of runs (--shard) into whole runs",
    "runs": "find stored runs, say what they cost, archive, move and delete them",
    "report": "report finished runs",
    "export": "write runs in the formats of benchmarks and other tools",
    "leaderboard": "rank models by their scores",
    "parity": "compare two backends of one model",
    "compare": "compare runs on the same samples: differences, tests, ranks",
    "why": "break down the difference between two runs by cause",
    "items": "analyse samples over many runs: difficulty, doubtful labels, subsets",
    "analyse": "analyse finished runs: letters, refusals, abilities, gains, errors and more",
    "taskmap": "map tasks by how fine-tuning on them changes a model, and compare models on it",
    "view": "browse runs, finished or in progress",
    "mcp": "serve runs to assistants and other programs, over MCP",
    "list": "list models, benchmarks or suites",
    "info": "describe a model, a benchmark or a data file",
    "doctor": "check this installation, or a store of replies",
    "data": "fetch, check and convert data files",
    "submit": "send predictions to a hub",
    "completion": "print a script that completes snellen in a shell",
    "dev": "write the files of a new benchmark, in a checkout of Snellen's sources",
}
"""Commands and their help lines. `commands/NAME.py` is imported only when NAME was typed."""
PACKAGE_COMMANDS = {
    "curate": "make benchmarks: questions, checks, review, translation, publication",
    "hub": "hold benchmarks and their leaderboards, with answers that stay hidden",
}
"""Those of this repository's other packages, which are listed whether or not they are installed."""

_ELSEWHERE = {
    "--system_instruction": "here --system TEXT",
    **dict.fromkeys(("--tasks", "--dataset", "--datasets"), "here -b NAME, once for each"),
    "--data": "VLMEvalKit's --data NAME is -b NAME; here it says where the data of -b are",
    "--model_args": "here -m PROVIDER/NAME:OPTION=VALUE,...",
    **dict.fromkeys(("--work-dir", "--output_path"), "here --out DIR"),
    "--probe": "a few questions are asked first by snellen plan --probe",
}
"""What flags of other tools and commands are here; said where a command cannot be parsed."""
_FIRST_COMMAND = "snellen run -m snellen/tiny -b eyechart"


class CommandLineParser(LazyParser):
    """An argument parser that suggests the flag or command that was meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.fullmatch(r"argument (.+?): invalid choice: '(.+?)' \(choose from (.+)\)", message)
        if choice and choice[1] in ("COMMAND", "ACTION", "FINDING"):
            near = _suggestion(choice[2], re.findall(r"[\w-]+", choice[3]))
            renamed = _new_name("commands", f"{self.prog} {choice[2]}".partition(" ")[2])
            near = f"; it is now {renamed}" if renamed else near
            message = f"unknown {choice[1].lower()} {choice[2]!r}{near}"
        elif choice:
            message += _suggestion(choice[2], re.findall(r"[\w-]+", choice[3]))
        missing = re.fullmatch(r"the following arguments are required: (.+)", message)
        if missing:
            message = self._ask_for(missing[1].split(", "))
            typed = {word.partition("=")[0] for word in self.typed} & _ELSEWHERE.keys()
            message += "".join(f"; {word}: {_ELSEWHERE[word]}" for word in sorted(typed))
            for word in dict.fromkeys(one.partition("=")[0] for one in self.typed):
                if word not in self._option_string_actions and (instead := renamed_flag(word, self.prog)):
                    message += f"; {word} is now {instead}"
        value = re.fullmatch(r"argument (.+): invalid (int|float) value: (.+)", message)
        if value:
            kind = "whole number" if value[2] == "int" else "number"
            message = f"argument {value[1]}: got {value[3]}; expected a {kind}"
        self.exit(2, f"snellen: {message}\ntry: {self.prog} --help\n")

    def _ask_for(self, missing: Sequence[str]) -> str:
        """A sentence about required arguments that were not typed, as argparse names them."""
        if missing == ["COMMAND"]:
            return f"expected a command, such as: {_FIRST_COMMAND}"
        if missing == ["ACTION"]:
            [group] = [one for one in self._actions if isinstance(one, argparse._SubParsersAction)]
            return f"expected an {missing[0].lower()}: {', '.join(group.choices)}"
        meanings = [
            f"{name}: {_meaning(action)}"
            for name in missing
            for action in self._actions
            if name in ("/".join(action.option_strings), action.metavar, action.dest)
        ]
        if len(meanings) == 1:
            return f"expected {meanings[0]}"
        return "\n  ".join(["expected these:", *meanings])

    def refuse_unknown(self, arguments: Sequence[str], argv: Sequence[str]) -> NoReturn:
        """Exit with one sentence about arguments of `argv` that this command does not take."""
        word = arguments[0].partition("=")[0]
        flags = self._option_string_actions
        if not word.startswith("-"):
            typed = argv[: argv.index(arguments[0])]
            flag = next((one for one in reversed(typed) if one in flags), "")
            # A second value: `-m A B`.
            several = isinstance(flags.get(flag), argparse._AppendAction)
            advice = f"; to name several, repeat the flag: {flag} A {flag} B" if several else ""
            self.error(f"unexpected argument {arguments[0]!r}{advice}")
        option = word.lstrip("-").replace("-", "_")
        instead = renamed_flag(word, self.prog)
        if "-m" in flags and option in _model_options() and not instead:
            self.error(
                f"{word} is not a flag but an option of the model; put it behind the model's name: "
                f"-m MODEL:{option}=VALUE"
            )
        if word in _ELSEWHERE:
            near = f"; {_ELSEWHERE[word]}"
        else:
            near = f"; it is now {instead}" if instead else _suggestion(word, list(flags))
        self.error(f"unrecognized arguments: {' '.join(arguments)}{near}")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of a command; exits with 2 and one sentence if they are wrong.

    Raises UsageError if the package of a command is not installed, or broken.
    """
    arguments: argparse.Namespace
    arguments, unknown = build_parser(argv).parse_known_args(argv)
    if unknown:
        arguments.parser.refuse_unknown(unknown, argv)
    return arguments


def build_parser(argv: Sequence[str] | None = None) -> CommandLineParser:
    """The parser of all commands.

    With the words of a command line, a command adds its arguments only when it is parsed: the files
    of the others are not imported, and other packages are looked up only for a command that is not
    Snellen's own.
    """
    parser = CommandLineParser(
        prog="snellen",
        description="Measure multimodal models: one command, a number you can trust, and the reason behind it.",
        epilog=f"Start with: {_FIRST_COMMAND}",
    )
    parser.add_argument("--version", action="version", version=f"snellen {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, help in _listed_commands(argv).items():
        command = add_action(commands, name, help, partial(_add_command, name))
        command.set_defaults(command=name)
    if argv is None:
        complete_all(parser)
    return parser


def _listed_commands(argv: Sequence[str] | None) -> dict[str, str]:
    """Commands and their help lines, with those of other packages that the words need."""
    typed = argv[0] if argv else "-"
    named = COMMANDS | PACKAGE_COMMANDS
    if argv is not None and (typed.startswith("-") or typed in named):
        return named
    from snellen.cli.packages import package_commands

    found = package_commands()
    others = {name: f"a command of {package}" for name, package in found.items()}
    if argv is None:
        return COMMANDS | {name: PACKAGE_COMMANDS.get(name, others[name]) for name in found}
    return others | named


def _add_command(name: str, parser: argparse.ArgumentParser) -> None:
    from snellen.cli.command_modules import add_arguments

    add_arguments(import_command(name), parser)


def import_command(name: str) -> Any:
    """The module of a command (`cli.command_modules`). Raises UsageError if it is
    one of another package that is not installed, or broken."""
    if name not in COMMANDS:
        from snellen.cli.packages import import_package_command

        return import_package_command(name)
    return import_module(f"snellen.cli.commands.{name}")


def _model_options() -> frozenset[str]:
    """The options of every installed provider."""
    from snellen.models.naming.registry import all_options

    return frozenset(option.name for option in all_options())


def _meaning(action: argparse.Action) -> str:
    """What an argument takes: its choices, or its help line."""
    if action.choices:
        return f"one of {', '.join(map(str, action.choices))}"
    return (action.help or "").replace("%%", "%")


def renamed_flag(flag: str, command: str) -> str:
    """What is written instead of a flag of the last version in `command`, such as `snellen curate
    filter`; "" if nothing is."""
    words = command.split()
    tables = [" ".join(words[:count]) for count in range(len(words), 1, -1)]
    found = (_new_name(table, flag) for table in (*tables, "flags"))
    return next(filter(None, found), "")


def _new_name(table: str, name: str) -> str:
    """What is written instead of a name of the last version (`renamed.toml`)."""
    import tomllib
    from pathlib import Path

    text = Path(__file__).with_name("renamed.toml").read_text("utf-8")
    instead: str = tomllib.loads(text).get(table, {}).get(name, "")
    return instead


def _suggestion(word: str, candidates: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, candidates, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
