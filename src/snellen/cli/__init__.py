"""The command line: parse arguments, call a function of `api`, print the result. No command
computes a number; which commands there are is in `parser`, what each takes in `commands`."""

from snellen.cli.main import main

__all__ = ["main"]
