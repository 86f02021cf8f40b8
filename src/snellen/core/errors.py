"""Every error Snellen raises on purpose, as one tree named by boundary, and the exit
codes of commands.

SnellenError
├── UsageError            the user's mistake: exit code 2, one clear sentence
│   ├── UnknownName       no such model, benchmark, column ...: nearest names are suggested
│   ├── NotHere           a known name for which there is nothing here: what it is, and how it could be run
│   ├── MissingExtra      an optional library is not installed: names the extra
│   ├── DataError         a data or predictions file cannot be used as it stands
│   │   └── DataMismatch  a file has the name of a published one, but other content
│   ├── RunLocked         another process is writing the same run or file
│   └── StorageError      a folder or store cannot be read or written (rights, no space)
├── MediaError            an image cannot be read or decoded: that sample is a typed failure
└── ModelError            a model could not answer a request: a typed failure, sent again later
"""

from __future__ import annotations

from contextlib import contextmanager

from snellen.core.secret import hide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from snellen.core.output import FailureKind


COMPLETE = 0
"""Exit codes of the command line: this, and the next three."""
INCOMPLETE = 1
"""Samples failed or are missing, or something was found that a check looks for."""
MISTAKE = 2
"""The user's mistake: one sentence on standard error."""
INTERRUPTED = 130
"""Ctrl-C, as of a process that SIGINT ended."""


class SnellenError(Exception):
    """Base of all deliberate errors; `str(error)` is a sentence for the user."""


class UsageError(SnellenError):
    """The user must change the command, its flags or its files."""


class UnknownName(UsageError):
    """A name that is not registered."""

    def __init__(self, kind: str, name: str, registered: Iterable[str], hint: str = "") -> None:
        import difflib

        registered = sorted(registered)
        by_lower = {known.lower(): known for known in registered}
        close = difflib.get_close_matches(name.lower(), by_lower, 3, 0.5)
        ratios = [difflib.SequenceMatcher(None, match, name.lower()).ratio() for match in close]
        # What is much farther than the nearest is not meant, nor is its other spelling.
        spelt = {"".join(filter(str.isalnum, match)): match for match in reversed(close)}
        near = [
            by_lower[match]
            for match, ratio in zip(close, ratios, strict=True)
            if ratio > 0.75 * ratios[0] and match in spelt.values()
        ]
        if near:
            advice = "did you mean " + " or ".join(near) + "?"
        elif registered and len(registered) <= 12:
            advice = "known: " + ", ".join(registered) + (";" if hint else "")
        else:
            advice = "" if hint else f"{len(registered)} are known."
        super().__init__(f"unknown {kind} {name!r}; " + " ".join(filter(None, (advice, hint))))


class NotHere(UsageError):
    """A name that is known, and for which there is no model or benchmark here."""


class MissingExtra(UsageError):
    """An optional library is missing."""

    def __init__(self, what: str, extra: str, library: str, package: str = "snellen") -> None:
        super().__init__(
            f"{what} needs {library}, which is not installed; install it with: pip install '{package}[{extra}]'"
        )


class DataError(UsageError):
    """A data or predictions file that cannot be used; the sentence names file and row."""


class DataMismatch(DataError):
    """A file in the current folder has the name of a published one, but other content."""


class RunLocked(UsageError):
    """Another running process is writing the run folder or file."""


class StorageError(UsageError):
    """Results cannot be read or written at their location."""


class MediaError(SnellenError):
    """An image, video or sound that cannot be read or decoded."""


class ModelError(SnellenError):
    """A model that could not answer; the request stays pending.

    `kind` decides whether the engine sends the request again; `retry_after` is the pause in
    seconds that a server requested. Keys that this process holds are removed from the message.
    """

    def __init__(self, message: str, kind: FailureKind = "request", retry_after: float | None = None) -> None:
        super().__init__(hide(message))
        self.kind = kind
        self.retry_after = retry_after


@contextmanager
def storage_errors(what: str, path: object) -> Iterator[None]:
    """Turn an error of the operating system into a StorageError that one cannot do `what` to a file
    or folder, such as `write`."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {what} {path}: {error.strerror or error}") from error


def error_lines(error: object) -> list[str]:
    """The lines of an error's message; its class if the message is empty."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines or [type(error).__name__]


def first_line(error: object) -> str:
    """The first line of an error's message, or its class if the message is empty."""
    return error_lines(error)[0]


def missing_file(path: Path | str, what: str = "file") -> str:
    """What is said of a path that is no file: a clause, with the name in the same folder that was probably
    meant."""
    # Here, as the command line imports this file before it prints its help.
    import difflib
    from pathlib import Path

    path = Path(path).expanduser()
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        names = []
    near = difflib.get_close_matches(path.name, names, 1, 0.75)
    advice = f"; did you mean {path.with_name(near[0])}?" if near else ""
    return f"there is no such {what}{advice}"


def refuse_pipe(path: Path | str, name: str = "") -> None:
    """Raises DataError for a pipe, a socket and a device: whoever reads one may wait for ever."""
    import stat
    from pathlib import Path

    try:
        mode = Path(path).expanduser().stat().st_mode
    except (OSError, ValueError, RuntimeError):
        return  # whoever opens it says why it cannot be
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(
            f"{name or path} is a pipe or a device, which can be read once; write what comes from "
            "it into a file, and give that"
        )
