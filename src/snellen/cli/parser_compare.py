"""Flags of the commands that look at several runs together: `compare`, `why`, `items`."""

from __future__ import annotations

import argparse
from typing import Any

RUNS = "run folders, or a folder of runs"
FAILURES = ("exclude", "count-wrong", "withhold", "withhold>P%")


def failure_rule(text: str) -> str:
    """The value of --failures. Raises ArgumentTypeError."""
    if text in FAILURES[:-1] or text.startswith("withhold>"):
        return text
    raise argparse.ArgumentTypeError(
        f"invalid choice: {text!r} (choose from {', '.join(FAILURES)})"
    )


def add(commands: argparse._SubParsersAction[Any]) -> None:
    _compare(commands)
    _why(commands)
    _items(commands)


def _command(
    commands: argparse._SubParsersAction[Any], name: str, help: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + "."
    )
    parser.set_defaults(module=name, parser=parser)
    return parser


def _compare(commands: argparse._SubParsersAction[Any]) -> None:
    compare = _command(
        commands, "compare", "compare runs on the same samples: differences, tests, ranks"
    )
    compare.add_argument("runs", nargs="+", metavar="RUN", help=RUNS)
    compare.add_argument(
        "--common", action="store_true",
        help="compare only the samples that all runs share, where their data or samples differ",
    )  # fmt: skip
    compare.add_argument(
        "--baseline", action="store_true",
        help="compare every run with the first alone, not every pair",
    )  # fmt: skip
    compare.add_argument("--level", type=float, default=95, metavar="PERCENT",
                         help="confidence of the intervals (default: 95)")  # fmt: skip
    compare.add_argument(
        "--power", type=float, default=80, metavar="PERCENT",
        help="power for the least difference found and the samples needed (default: 80)",
    )  # fmt: skip
    compare.add_argument("--format", default="table", choices=("table", "json", "markdown"),
                         help="default: table")  # fmt: skip
    compare.add_argument("--json", action="store_true", help="print one JSON object")


def _why(commands: argparse._SubParsersAction[Any]) -> None:
    why = _command(commands, "why", "split the difference of two runs by what caused it")
    why.add_argument("first", metavar="A", help="a run folder, or a file of predictions")
    why.add_argument("second", metavar="B", help="the same; one of both is a run folder")
    why.add_argument("--examples", type=int, default=2, metavar="N",
                     help="samples shown of each cause (default: 2)")  # fmt: skip
    why.add_argument("--format", default="table", choices=("table", "json", "markdown"),
                     help="default: table")  # fmt: skip
    why.add_argument("--json", action="store_true", help="print one JSON object")


def _items(commands: argparse._SubParsersAction[Any]) -> None:
    items = _command(
        commands, "items", "look at samples over many runs: hardness, labels in doubt, subsets"
    )
    items.add_argument("runs", nargs="+", metavar="RUN", help=RUNS)
    items.add_argument(
        "--common", action="store_true",
        help="look only at the samples that all runs share, where their data or samples differ",
    )  # fmt: skip
    items.add_argument("--pictures", action="store_true",
                       help="also look for pictures that are near copies of others")  # fmt: skip
    items.add_argument(
        "--agreement", type=float, default=95, metavar="PERCENT",
        help="pairs of models that the smallest subset must order as the whole (default: 95)",
    )  # fmt: skip
    items.add_argument("--top", type=int, default=10, metavar="N",
                       help="rows of each table (default: 10)")  # fmt: skip
    items.add_argument("--format", default="table", choices=("table", "json", "csv", "markdown"),
                       help="default: table")  # fmt: skip
    items.add_argument("--json", action="store_true", help="print one JSON object")
