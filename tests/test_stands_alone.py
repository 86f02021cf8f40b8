"""The tests pass wherever they are started: also in the background, where Ctrl-C is ignored."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHILD = """
import subprocess, sys

def test_child():
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "True"
"""
WAITING = "import time\n\ndef test_waits():\n    time.sleep(60)\n"


def _ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder of tests with the repository's own conftest.py."""
    (tmp_path / "tests").mkdir()
    for path in (ROOT / "conftest.py", ROOT / "tests" / "allowed_skips.txt", ROOT / "tests" / "kinds.py"):
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    (tmp_path / "tests" / "kinds.toml").write_text('system = ["."]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def _run(suite: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, str(suite)],
        cwd=suite,
        env=environment,
        preexec_fn=_ignore_ctrl_c,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "workers"])
@pytest.mark.attack("tests started with Ctrl-C ignored", "they pass all the same")
def test_background_children_receive_ctrl_c(suite: Path, workers: tuple[str, ...]) -> None:
    (suite / "test_child.py").write_text(CHILD)
    done = _run(suite, *workers)
    assert done.returncode == 0, done.stdout


@pytest.mark.attack("a test that waits for ever", "it is ended")
def test_a_test_that_waits_is_ended(suite: Path) -> None:
    (suite / "test_waiting.py").write_text(WAITING)
    done = _run(suite, "-o", "timeout=1")
    assert done.returncode == 1
    assert "Timeout" in done.stdout


def test_every_test_has_a_time_limit(request: pytest.FixtureRequest) -> None:
    assert 0 < float(request.config.getini("timeout")) <= 600
