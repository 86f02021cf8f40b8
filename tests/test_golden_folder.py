"""The golden data in the repository: whole, named with licence and source, and small."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

HOME = Path(__file__).parent / "golden"
SETS = sorted(path for path in HOME.iterdir() if path.is_dir())
LATER = {"mega_bench_gemini2"}
"""Sets taken from their authors' repositories, which the collection does not have."""
LICENCES = ("MIT", "Apache-2.0", "CC BY-SA 4.0")


def listed() -> dict[str, str]:
    lines = (HOME / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def test_every_file_is_listed_and_unchanged() -> None:
    files = [path for path in HOME.rglob("*") if path.is_file()]
    found = {
        path.relative_to(HOME).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in ("README.md", "SHA256SUMS")
    }
    assert found == listed()
    assert sum(path.stat().st_size for path in files) < 3.5e6


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.name)
def test_every_set_says_where_it_is_from(path: Path) -> None:
    text = (path / "README.md").read_text(encoding="utf-8")
    for part in ("- Source: ", "- Licence: ", "- File", "- Score: ", "- Left out: "):
        assert part in text, part
    (licence,) = (line for line in text.splitlines() if line.startswith("- Licence: "))
    assert licence.removeprefix("- Licence: ").startswith(LICENCES)
    assert f"| `{path.name}` |" in (HOME / "README.md").read_text(encoding="utf-8")


@pytest.mark.external_golden
def test_the_copies_are_those_of_the_whole_collection(golden: Callable[[str], Path]) -> None:
    home = golden(".")
    for name, digest in listed().items():
        if name.partition("/")[0] in LATER:
            continue
        assert hashlib.sha256((home / name).read_bytes()).hexdigest() == digest, name
