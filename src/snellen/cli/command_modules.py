"""The module of a command or action: a dataclass `Options`, whose fields are its flags and
arguments (`snellen.api.flags`), and `main(options)`, which returns its exit code."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import fields
from typing import Any

from snellen.cli.flags import add_options, read_options


def add_arguments(module: Any, parser: ArgumentParser) -> None:
    """Add the flags and arguments of a module."""
    if hasattr(module, "Options"):
        add_options(parser, module.Options)
    else:
        module.add(parser)


def run_module(module: Any, arguments: Namespace) -> int:
    """Run a module with what was typed; returns its exit code. A field `command_line` gets the
    whole command."""
    if not hasattr(module, "Options"):
        code: int = module.main(arguments)
        return code
    needs_line = any(field.name == "command_line" for field in fields(module.Options))
    more = {"command_line": arguments.command_line} if needs_line else {}
    code = module.main(read_options(arguments, module.Options, **more))
    return code
