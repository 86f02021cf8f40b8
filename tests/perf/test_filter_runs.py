"""The script that measures filtering over stored runs runs through."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.release
def test_filtering_made_runs_is_measured() -> None:
    command = [sys.executable, "-m", "benchmarks.perf.filter_runs", "--items", "60", "--brief"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "60 items x 8 runs" in done.stdout
