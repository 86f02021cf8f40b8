"""Commands with actions, such as `snellen curate ACTION`: a package with a module per action
(`cli.command_modules`)."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial
from importlib import import_module

from snellen.cli.command_modules import add_arguments, run_module
from snellen.cli.lazy_parser import add_action


def add_actions(parser: ArgumentParser, package: str, actions: Mapping[str, str]) -> None:
    """Add the actions of a package; `actions` are their names and help lines. The module of an
    action is imported when it is parsed."""
    subparsers = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, help in actions.items():
        add_action(subparsers, name, help, partial(_add_arguments_of, _module(package, name)))


def _module(package: str, action: str) -> str:
    return f"{package}.{action.replace('-', '_')}"


def _add_arguments_of(module: str, parser: ArgumentParser) -> None:
    add_arguments(import_module(module), parser)


def run_action(arguments: Namespace, package: str) -> int:
    """Run the action that was typed; returns its exit code."""
    return run_module(import_module(_module(package, arguments.action)), arguments)
