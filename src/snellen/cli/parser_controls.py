"""Flags of the commands about how far a number holds: `controls`, `card`; and `run --until`."""

from __future__ import annotations

import argparse
from typing import Any

RUNS = "run folders, or a folder of runs"


def add(commands: argparse._SubParsersAction[Any]) -> None:
    controls = _command(
        commands, "controls", "tell what scores owe to pictures, option order, thinking, examples"
    )
    controls.add_argument("runs", nargs="+", metavar="RUN", help=RUNS)
    controls.add_argument(
        "--language-model", metavar="RUN",
        help="a blind run of the language model that the models were made from: tells the "
        "multi-modal leakage",
    )  # fmt: skip
    controls.add_argument("--json", action="store_true", help="print one JSON object")
    card = _command(commands, "card", "print the protocol card of a benchmark")
    card.add_argument("name", metavar="BENCHMARK", help="a name, or a data file of your own")
    card.add_argument("--json", action="store_true", help="print one JSON object")


def add_until(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--until", metavar="RULE",
        help="ask in random order and stop once the score is known so well (`±1` or `+-1` points), "
        "or once one of the two models is known to be better (`A>B`)",
    )  # fmt: skip


def _command(
    commands: argparse._SubParsersAction[Any], name: str, help: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + "."
    )
    parser.set_defaults(module=name, parser=parser)
    return parser
