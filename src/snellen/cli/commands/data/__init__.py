"""`snellen data ACTION`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.actions import add_actions, run_action

ACTIONS = {
    "pull": "fetch and index the data of benchmarks, several at once",
    "check": "list everything wrong or doubtful in a data file, with row numbers",
    "convert": "convert between TSV, JSONL and Parquet",
    "referring": "give MMT-Bench's visual referring clean pictures and boxes",
}


def add(parser: ArgumentParser) -> None:
    """Add the actions."""
    add_actions(parser, __name__, ACTIONS)


def main(arguments: Namespace) -> int:
    """Run the action that was typed."""
    return run_action(arguments, __name__)
