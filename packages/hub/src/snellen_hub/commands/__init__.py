"""`snellen hub ACTION`: a file per action, with `add(parser)` and `main(arguments)`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.actions import add_actions, run_action
from snellen.cli.flags import argument_type
from snellen.core.errors import UsageError

ACTIONS: dict[str, str] = {
    "key": "print a new key for hidden answers",
    "init": "make a hub in a folder: configuration, database, storage, first account",
    "benchmark": "add a benchmark, or replace its data and score everything again",
    "reveal": "score the private questions of a hidden benchmark once, now or at dates",
    "phases": "set the phases of a competition: times, submissions of a team, final scores",
    "host": "let an account manage one benchmark, and nothing else of the hub",
    "attack": "measure how many hidden answers many accounts could recover, on a copy",
    "account": "add an account, change its role, confirm or disable it",
    "token": "make a token for an account, with which programs submit",
    "serve": "serve the hub's pages and its API",
    "worker": "score submissions, until stopped",
    "suite": "add, change or delete a suite of benchmarks with its average",
    "import": "put reported numbers or runs on boards: papers, tables of anybody, folders of runs",
    "flags": "write what readers flagged as a data set that snellen curate review opens",
    "rescore": "score every submission again after an upgrade of Snellen; earlier numbers are kept",
    "doctor": "check that a hub is intact, and say how to fix what is not",
    "backup": "copy a hub, also while it runs, into one file",
    "restore": "make a hub of such a file, in any database and storage",
    "upgrade": "bring the database to the schema of this version",
}
"""Actions and their help lines, in the order in which one needs them. `NAME.py` in this folder
is the action NAME."""


def add(parser: ArgumentParser) -> None:
    add_actions(parser, __name__, ACTIONS)


def main(arguments: Namespace) -> int:
    """Run the action."""
    return run_action(arguments, __name__)


def add_folder(parser: ArgumentParser) -> None:
    """Add the hub's folder to an action."""
    parser.add_argument(
        "folder", metavar="HUB", type=argument_type(_parse_folder), help="the hub's folder"
    )


def is_address(text: str) -> bool:
    """Whether a hub is named by its address, not its folder."""
    return text.lower().startswith(("http://", "https://"))


def _parse_folder(text: str) -> str:
    if is_address(text):
        raise UsageError(
            f"{text} is an address, and this needs the folder of a hub, on its own machine; hosts "
            "set phases by its address (snellen hub phases), and the rest on its pages"
        )
    return text
