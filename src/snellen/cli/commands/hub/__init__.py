"""`snellen hub ACTION`: a file per action, with `add(parser)` and `main(arguments)`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module
from typing import Any

from snellen.cli.flags import add_action

ACTIONS: dict[str, str] = {
    "init": "make a hub in a folder: configuration, database, storage, first account",
    "serve": "serve the hub's API",
    "worker": "score submissions, until stopped",
    "account": "add an account, change its role, or disable it",
    "token": "make a token for an account, with which programs submit",
    "benchmark": "add a benchmark, or replace its data and score everything again",
    "upgrade": "bring the database to the schema of this version",
    "key": "print a new key for hidden answers",
}
"""Actions and their help lines. `NAME.py` in this folder is the action NAME."""


def add(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, help in ACTIONS.items():
        _module(name).add(add_action(actions, name, help))


def main(arguments: Namespace) -> int:
    code: int = _module(arguments.action).main(arguments)
    return code


def add_folder(parser: ArgumentParser) -> None:
    """Add the hub's folder to an action."""
    parser.add_argument("folder", metavar="HUB", help="the hub's folder")


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")
