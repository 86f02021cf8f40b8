"""`snellen`: run the command that was typed, and print errors as sentences, here alone."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from contextlib import contextmanager

from snellen.cli.parser import import_command, parse_arguments
from snellen.core.errors import COMPLETE, INTERRUPTED, MISTAKE, SnellenError
from snellen.core.terminal_text import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ADVICE = {
    errno.ENOSPC: "; make room, or write elsewhere",
    errno.EDQUOT: "; make room, or write elsewhere",
    errno.EACCES: "; change its rights, or choose another place",
    errno.EROFS: "; choose another place",
    errno.ENOENT: "; correct the path",
    errno.ENOTDIR: "; correct the path",
    errno.EISDIR: "; name a file",
    errno.EMFILE: "; allow more open files with: ulimit -n 4096",
}
"""What to do about an error of the operating system."""


_OUT_OF_MEMORY = (
    "there is not enough memory for this; read smaller files, or use a machine with more "
    "(docs/limits.md says what is held in memory)"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code (`snellen.core.errors`)."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(argv)
    except SnellenError as error:
        print(escape_controls(f"snellen: {error}"), file=sys.stderr)
        return MISTAKE
    except MemoryError:
        print(f"snellen: {_OUT_OF_MEMORY}", file=sys.stderr)
        return MISTAKE
    except BrokenPipeError:
        # The reader ended (`| head`): nothing more can be printed.
        _discard_stdout()
        return COMPLETE
    except SystemExit as exit:
        # Rich ends the process with 1 in this case, which means failed samples here.
        if not isinstance(exit.__context__, BrokenPipeError):
            raise
        _discard_stdout()
        return COMPLETE
    except OSError as error:
        where = error.filename or "standard output"
        advice = _ADVICE.get(error.errno or 0, "")
        print(escape_controls(f"snellen: {where}: {error.strerror or error}{advice}"), file=sys.stderr)
        _discard_stdout()
        return MISTAKE
    except KeyboardInterrupt:
        print("snellen: stopped", file=sys.stderr)
        return INTERRUPTED


def _run(argv: Sequence[str]) -> int:
    import shlex

    arguments = parse_arguments(argv)
    arguments.command_line = shlex.join(["snellen", *argv])
    is_interactive = sys.stderr is not None and sys.stderr.isatty()
    if getattr(arguments, "quiet", False) or not is_interactive:
        from snellen.settings import disable_progress_bars

        disable_progress_bars()
    from snellen.cli.command_modules import run_module

    command = import_command(arguments.command)
    with _sigterm_as_ctrl_c():
        code = run_module(command, arguments)
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM, with which batch systems end jobs, as Ctrl-C: finished samples are kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _raise_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _raise_interrupt(*_: object) -> None:
    """Handler of SIGTERM: raises KeyboardInterrupt."""
    # A process that a script starts with `&` ignores SIGINT; SIGTERM must end it nevertheless.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def _discard_stdout() -> None:
    """Redirect standard output to nowhere: the interpreter flushes it again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
