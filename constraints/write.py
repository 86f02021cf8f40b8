"""Writes `tests.txt`: every package that the tests need, pinned and with the hashes of its files.

    python constraints/write.py

`uv` resolves for every platform at once. PyTorch and what only PyTorch needs are left out, because
its build depends on the machine: it is installed first, in the version of the Makefile. No address
of an index is written.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
TARGET = HERE / "tests.txt"
LEFT_OUT = {"faces"}
"""Extras of other packages that the tests do not install."""
HEAD = """\
# Written by constraints/write.py. Every package of the tests but PyTorch, which is installed first.
#   pip install torch==VERSION
#   pip install --require-hashes -r constraints/tests.txt
#   pip install --no-deps -e . -e ./packages/curate -e ./packages/hub
"""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==")


def resolve(torch: str, leave_out: list[str]) -> str:
    """The pinned packages of all extras, `torch` being a requirement such as torch==2.13.0."""
    least = _project(ROOT)["requires-python"].removeprefix(">=")
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--generate-hashes",
        "--no-header",
        "--no-emit-index-url",
        "--no-emit-find-links",
        "--python-version",
        least,
        "--extra",
        "all",
        "--extra",
        "dev",
        "--annotation-style",
        "line",
        "--constraint",
        "-",
        *(part for name in leave_out for part in ("--no-emit-package", name)),
        "pyproject.toml",
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".in") as others:
        others.write("\n".join(_requirements_of_others()))
        others.flush()
        done = subprocess.run([*command, others.name], input=torch, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def _project(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return project


def _requirements_of_others() -> list[str]:
    """What the other packages of the repository need, but Snellen, and all extras that the tests
    install."""
    found = []
    for folder in sorted((ROOT / "packages").iterdir()):
        project = _project(folder)
        extras = project["optional-dependencies"]
        found += [one for one in project["dependencies"] if not one.startswith("snellen")]
        found += [one for name in extras if name not in LEFT_OUT for one in extras[name]]
    return found


def only_for_torch(pinned: str) -> list[str]:
    """PyTorch and the packages that nothing but PyTorch and these need."""
    needed_by: dict[str, set[str]] = {}
    name = ""
    for line in pinned.splitlines():
        if found := _PIN.match(line):
            name = found[1]
            needed_by[name] = set()
        elif "# via" in line:
            needed_by[name] |= {one.strip() for one in line.split("# via", 1)[1].split(",")}
    out = {"torch"}
    while more := {one for one, by in needed_by.items() if by and by <= out} - out:
        out |= more
    return sorted(out)


def main(torch: str) -> None:
    pinned = resolve(torch, only_for_torch(resolve(torch, [])))
    TARGET.write_text(HEAD + pinned, encoding="utf-8")
    print(f"{TARGET}: {len(re.findall(_PIN.pattern, pinned, re.MULTILINE))} packages")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "torch==2.13.0")
