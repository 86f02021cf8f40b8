"""`snellen`: the commands, their exit codes, and the one place where errors become sentences."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from snellen.cli.parser import build_parser
from snellen.core.errors import SnellenError

COMPLETE, INCOMPLETE, MISTAKE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command: 0 complete, 1 samples failed or are missing, 2 the user's mistake,
    130 stopped by Ctrl-C."""
    argv = list(sys.argv[1:] if argv is None else argv)
    arguments = build_parser().parse_args(argv)
    arguments.command_line = " ".join(["snellen", *map(_quoted, argv)])
    command = import_module(f"snellen.cli.{arguments.module}")
    try:
        code: int = command.main(arguments)
        sys.stdout.flush()
        return code
    except SnellenError as error:
        print(f"snellen: {error}", file=sys.stderr)
        return MISTAKE
    except BrokenPipeError:
        # The reader went away (`| head`): nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COMPLETE
    except KeyboardInterrupt:
        print("snellen: stopped", file=sys.stderr)
        return INTERRUPTED


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)
