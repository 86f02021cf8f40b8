"""`snellen dev ACTION`: for those who work on Snellen's sources."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.actions import add_actions, run_action


def add(parser: ArgumentParser) -> None:
    """Add the actions."""
    add_actions(parser, __name__, {"new-benchmark": "write the files of a new benchmark, with a failing test"})


def main(arguments: Namespace) -> int:
    """Run the action that was typed."""
    return run_action(arguments, __name__)
