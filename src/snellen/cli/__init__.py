"""The command line: parse, call one function, print."""

from snellen.cli.main import main

__all__ = ["main"]
