"""`snellen completion`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE

_SHELLS = ("bash", "zsh", "fish")


def add(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help="bash, zsh or fish")


def main(arguments: Namespace) -> int:
    """Print the script that completes commands, flags and names."""
    from snellen.cli.completion import completion_script

    sys.stdout.write(completion_script(arguments.shell))
    return COMPLETE
