"""The ten commands of docs/hub.md, typed at a terminal: from nothing to a published score."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_api import free_port

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "hub.md"
HEADING = "## From nothing to a published score"
PASSWORD = "correct horse battery"
PATIENCE = 120.0
PORT = "8440"


def commands() -> list[str]:
    """The commands of the page, without the remarks behind them."""
    section = PAGE.read_text(encoding="utf-8").partition(HEADING)[2]
    block = re.search(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block
    lines = [line[2:] for line in block[1].splitlines() if line.startswith("$ ")]
    return [line.split("  # ")[0].rstrip() for line in lines]


class Terminal:
    """A shell at a terminal of its own, in a folder."""

    def __init__(self, folder: Path, path: str) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={
                "PATH": path,
                "PS1": "<$?>",
                "TERM": "dumb",
                "HOME": str(folder),
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )
        os.close(slave)
        self._unread = ""
        self.wait_for("<0>")

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def wait_for(self, text: str) -> str:
        """What is printed up to a text, that included."""
        end = time.monotonic() + PATIENCE
        while text not in self._unread:
            ready = select.select([self._master], [], [], 0.5)[0]
            if ready:
                self._unread += os.read(self._master, 65_536).decode(errors="replace")
            assert time.monotonic() < end, f"{text!r} did not come after: {self._unread}"
        before, _, self._unread = self._unread.partition(text)
        return before + text

    def close(self) -> None:
        self.type("kill %1 %2; wait; exit")
        self._process.wait(PATIENCE)
        os.close(self._master)


@pytest.mark.release
def test_ten_commands_lead_to_a_published_score(tmp_path: Path) -> None:
    typed = commands()
    assert len(typed) == 10
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    own = tmp_path / "bin"
    own.mkdir()
    script = own / "snellen"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m snellen "$@"\n')
    script.chmod(0o755)
    port = str(free_port())
    terminal = Terminal(folder, f"{own}{os.pathsep}{os.environ['PATH']}")
    printed = ""
    try:
        for line in typed:
            terminal.type(line.replace(PORT, port))
            if " init " in line or line.endswith(" ann"):
                terminal.wait_for("password: ")
                terminal.type(PASSWORD)
                terminal.wait_for("once more: ")
                terminal.type(PASSWORD)
            if line.endswith("&"):
                terminal.wait_for("serving" if " serve " in line else "waiting for submissions")
                continue
            printed += terminal.wait_for("<0>")
    finally:
        terminal.close()
    assert "my-model: scored, published" in printed
    assert "my-model" in printed.partition("form=csv")[2]
    assert "PROBLEM" not in printed
    assert (folder / "monday.zip").stat().st_size > 1_000
