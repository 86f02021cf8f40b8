"""The module of a command or action: a dataclass `Options`, whose fields are its flags and
arguments (`snellen.api.flags`), and `main(options)`, which returns its exit code; None
for one that completed.

A command with actions, such as `snellen curate ACTION`, is a package with a module for each, and
`ACTIONS`, their names and help lines. Its own `main(arguments)`, if it has one, runs the action.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import fields
from functools import partial
from importlib import import_module
from typing import Any

from snellen.cli.flags import add_options, read_options
from snellen.cli.lazy_parser import add_action
from snellen.core.errors import COMPLETE


def add_arguments(module: Any, parser: ArgumentParser) -> None:
    """Add the flags and arguments of a module, or its actions. The module of an action is imported
    when it is parsed."""
    if hasattr(module, "Options"):
        add_options(parser, module.Options)
    elif hasattr(module, "ACTIONS"):
        actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
        for name, help in module.ACTIONS.items():
            add_action(actions, name, help, partial(_add_arguments_of, module, name))
    else:
        module.add(parser)


def _add_arguments_of(package: Any, action: str, parser: ArgumentParser) -> None:
    add_arguments(import_action(package, action), parser)


def import_action(package: Any, action: str) -> Any:
    """The module of an action."""
    return import_module(f"{package.__name__}.{action.replace('-', '_')}")


def run_module(module: Any, arguments: Namespace) -> int:
    """Run a module with what was typed; returns its exit code. A field `command_line` gets the
    whole command."""
    if not hasattr(module, "main"):
        return run_module(import_action(module, arguments.action), arguments)
    typed: Any = arguments
    if hasattr(module, "Options"):
        needs_line = any(field.name == "command_line" for field in fields(module.Options))
        more = {"command_line": arguments.command_line} if needs_line else {}
        typed = read_options(arguments, module.Options, **more)
    code: int | None = module.main(typed)
    return code or COMPLETE
