"""Runs pdflatex on LaTeX that nobody has read, such as formulas that models wrote.

TeX itself may then run no command and open no file but those of its own folders and of an empty one (its
`openin_any=p`, `openout_any=p` and `-no-shell-escape`). The process has limits of time, memory and length of
files, a clean environment and, where Linux gives them, no rights of root and no files but TeX's own by
Landlock (`protection`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import UsageError
from snellen.generated_code.limits import ProgramLimits

STYLES = ("amsmath.sty", "amssymb.sty", "booktabs.sty", "geometry.sty", "upgreek.sty", "xcolor.sty", "mathcolor.ltx")
CHINESE = ("CJK.sty", "c70gkai.fd")
INSTALL = (
    "apt install texlive-latex-extra texlive-fonts-recommended texlive-science latex-cjk-chinese "
    "latex-cjk-chinese-arphic-gkai00mp, or TeX Live of 2022 or later"
)
_START = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given['path']; "
    "from snellen.generated_code.tex import become_tex; become_tex(**given['start'])"
)
_NAME = "formulas"
_SECONDS = 20.0


class TexRun(NamedTuple):
    """What a run has left: its PDF, empty if it made none, and its log."""

    pdf: bytes
    log: str
    is_ended: bool
    """Whether a signal ended it, such as that of a limit."""


class TexPrograms(NamedTuple):
    """TeX as it is installed."""

    pdflatex: str
    folders: tuple[str, ...]
    """With its styles and fonts."""
    missing: tuple[str, ...]
    """Styles that drawing formulas needs and that are not there."""


@functools.cache
def find_tex() -> TexPrograms | None:
    """The pdflatex of this machine; None without one."""
    pdflatex, kpsewhich = shutil.which("pdflatex"), shutil.which("kpsewhich")
    if pdflatex is None or kpsewhich is None or not hasattr(os, "fork"):
        return None
    names = (*STYLES, *CHINESE)
    found = _output(kpsewhich, *names)
    folders = _output(kpsewhich, "--expand-path=$TEXMF").strip().split(os.pathsep)
    folders += [str(Path(pdflatex).resolve().parent)]
    missing = tuple(name for name in names if f"/{name}" not in found)
    return TexPrograms(pdflatex, tuple(folder for folder in folders if Path(folder).is_dir()), missing)


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    return done.stdout


def check_tex(what: str) -> None:
    """Raises UsageError without a pdflatex that can draw formulas."""
    tex = find_tex()
    if tex is None:
        raise UsageError(f"{what} needs pdflatex, which is not installed; install it with: {INSTALL}")
    if tex.missing:
        raise UsageError(f"{what} needs {', '.join(tex.missing)} of TeX; install it with: {INSTALL}")


def run_tex(source: str, limits: ProgramLimits) -> TexRun:
    """Typeset a LaTeX document in an empty folder. Raises UsageError without TeX."""
    check_tex("drawing formulas")
    tex = find_tex()
    assert tex is not None
    with tempfile.TemporaryDirectory(prefix="snellen-tex-") as outer:
        Path(outer).chmod(0o711)
        folder = Path(outer, "run")
        folder.mkdir()
        (folder / f"{_NAME}.tex").write_text(source, encoding="utf-8", errors="replace")
        start = {"pdflatex": tex.pdflatex, "folder": str(folder), "folders": tex.folders, "limits": _as_dict(limits)}
        path = [entry for entry in sys.path if entry]
        process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps({"path": path, "start": start})],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder,
            start_new_session=True,
        )
        try:
            process.wait(limits.wall_seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            ended = process.wait()
        log = _read(folder / f"{_NAME}.log", limits).decode("utf-8", "replace")
        # A run that was ended leaves the beginning of a file.
        return TexRun(_read(folder / f"{_NAME}.pdf", limits) if ended >= 0 else b"", log, ended < 0)


def _as_dict(limits: ProgramLimits) -> dict[str, float]:
    return {name: getattr(limits, name) for name in limits.__struct_fields__}


def _read(path: Path, limits: ProgramLimits) -> bytes:
    """A file of the run, which may have made anything of its name."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > limits.file_mb << 20:
        return b""
    return path.read_bytes()


def become_tex(pdflatex: str, folder: str, folders: Sequence[str], limits: dict[str, float]) -> None:
    """Give up what TeX does not need, and become it; for the process of a run."""
    from snellen.generated_code.protection import protect_program

    protect_program(ProgramLimits(**limits), Path(folder), folders, pdflatex)  # type: ignore[arg-type]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": folder,
        "TEXMFVAR": folder,
        "LC_ALL": "C.UTF-8",
        "openin_any": "p",
        "openout_any": "p",
        "shell_escape": "f",
        "SOURCE_DATE_EPOCH": "0",
    }
    arguments = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", f"{_NAME}.tex"]
    os.execve(pdflatex, arguments, environment)
