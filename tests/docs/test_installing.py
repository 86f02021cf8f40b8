"""The line of docs/installing.md that installs all packages, in an empty environment."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^\$ (pip install .+)$", re.MULTILINE)


@pytest.mark.release  # it installs packages from an index
@pytest.mark.timeout(1200)
def test_one_command_installs_all_packages(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    [line] = LINE.findall(page)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    programs = tmp_path / "env" / "bin"
    # torch is large, and what hf needs it for is tested elsewhere.
    words = [word.replace("hf,", "") for word in shlex.split(line)[1:]]
    subprocess.run([programs / "pip", *words, "--quiet"], cwd=ROOT, check=True)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}
    data = ROOT / "examples" / "my_questions.tsv"
    for command, expected in (
        ("snellen run -m random -b eyechart --limit 4 -q", "eyechart"),
        (f"snellen curate statistics {data}", "animals"),
        ("snellen hub --help", "usage: snellen hub"),
        ("snellen doctor", "snellen-hub: 0.1.0"),
    ):
        done = subprocess.run(shlex.split(command), cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        assert expected in done.stdout, command
