"""`snellen hub key`."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line


def add(parser: ArgumentParser) -> None:
    del parser


def main(arguments: Namespace) -> int:
    """Print a key of 256 bits for SNELLEN_HUB_KEY."""
    del arguments
    print_line(secrets.token_urlsafe(32))
    return COMPLETE
