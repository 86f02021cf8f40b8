"""`snellen hub ACTION`: a file per action, with `add(parser)` and `main(arguments)`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.actions import add_actions, run_action

ACTIONS: dict[str, str] = {
    "init": "make a hub in a folder: configuration, database, storage, first account",
    "serve": "serve the hub's API",
    "worker": "score submissions, until stopped",
    "account": "add an account, change its role, or disable it",
    "token": "make a token for an account, with which programs submit",
    "benchmark": "add a benchmark, or replace its data and score everything again",
    "import": "put reported numbers or runs on boards: papers, tables of anybody, folders of runs",
    "rescore": "score every submission again after an upgrade of Snellen; earlier numbers are kept",
    "flags": "write what readers flagged as a data set that snellen curate review opens",
    "suite": "add, change or delete a suite of benchmarks with its average",
    "upgrade": "bring the database to the schema of this version",
    "key": "print a new key for hidden answers",
}
"""Actions and their help lines. `NAME.py` in this folder is the action NAME."""


def add(parser: ArgumentParser) -> None:
    add_actions(parser, __name__, ACTIONS)


def main(arguments: Namespace) -> int:
    return run_action(arguments, __name__)


def add_folder(parser: ArgumentParser) -> None:
    """Add the hub's folder to an action."""
    parser.add_argument("folder", metavar="HUB", help="the hub's folder")
