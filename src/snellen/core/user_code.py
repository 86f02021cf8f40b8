"""Errors in code of the user: the line that raised, and a traceback without frames of Snellen."""

from __future__ import annotations

import contextlib
import csv
import functools
import os
import sys
import sysconfig
import traceback
from pathlib import Path

from snellen.core.secret import hide

MAX_TRACEBACK = 20_000
"""Maximum length, in characters, of a stored traceback; its end is kept, where the error is."""

_OWN = str(Path(__file__).resolve().parents[1]) + os.sep
_LIBRARIES = tuple(
    {
        str(Path(path).resolve()) + os.sep
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_path(name))
    }
)
_PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Folders of installed libraries, also those of other interpreters and of PYTHONPATH."""
_NOTEBOOK_FOLDER = "ipykernel_"
"""IPython compiles each cell as a file in a folder of this name, with the process id."""


def describe_error(error: BaseException) -> str:
    """`ValueError: message (mine.py, line 12, in answer)`: the innermost frame of the user's code,
    if the error passed through any."""
    message = f"{type(error).__name__}: {error}".removesuffix(": ")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users_file(frame.filename)]
    if not frames:
        return hide(message)
    last = frames[-1]
    return hide(f"{message} ({_file_label(last.filename)}, line {last.lineno}, in {last.name})")


def users_traceback(error: BaseException) -> str:
    """The traceback from the first frame that is not Snellen's own, as Python prints it; "" if
    there is none: then the error is not one of the user's code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OWN):
        trace = trace.tb_next
    if trace is None:
        return ""
    lines = traceback.format_exception(type(error), error, trace)
    return hide("".join(lines).rstrip())[-MAX_TRACEBACK:]


def is_users_file(filename: str) -> bool:
    """Whether code of this file is the user's: neither Snellen's nor of an installed library."""
    if filename.startswith("<") and not filename.startswith("<ipython-input"):
        return filename in ("<stdin>", "<string>")
    if filename.startswith((_OWN, *_LIBRARIES)) or not _PACKAGES.isdisjoint(Path(filename).parts):
        return False
    return not any(_is_installed(folder, filename) for folder in sys.path if folder)


@functools.cache
def _is_installed(folder: str, filename: str) -> bool:
    """Whether a file below an entry of `sys.path` belongs to a package that an installer put there,
    as `pip install --target` does: what it installed is in the RECORD beside it."""
    if not filename.startswith(folder.rstrip(os.sep) + os.sep):
        return False
    path = Path(filename).relative_to(folder).as_posix()
    return any(path in installed for installed in _installed_files(folder))


@functools.cache
def _installed_files(folder: str) -> tuple[frozenset[str], ...]:
    """The files of each package that was installed into a folder, relative to it."""
    found = []
    for record in Path(folder).glob("*.dist-info/RECORD"):
        with (
            contextlib.suppress(OSError, UnicodeDecodeError, csv.Error),
            record.open(newline="", encoding="utf-8") as file,
        ):
            found.append(frozenset(row[0] for row in csv.reader(file) if row))
    return tuple(found)


def _file_label(filename: str) -> str:
    """The file's name without its folder; cells of notebooks have no names of their own."""
    path = Path(filename)
    if path.parent.name.startswith(_NOTEBOOK_FOLDER) or filename.startswith("<ipython-input"):
        return "notebook cell"
    return path.name
