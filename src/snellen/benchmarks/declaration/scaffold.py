"""The files of a new benchmark, to be filled in: `snellen dev new-benchmark`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from snellen.benchmarks.declaration.registry import family_folders, is_registered
from snellen.core.errors import UsageError

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TOML = ".toml"
_FAMILY = '''"""{title}: what it asks (Authors, year, https://arxiv.org/abs/...).

One example row: index 0, question "...", A "...", B "...", answer "A", image <base64>.

Oddities: what a reader of the data stumbles over, and where our rule differs from the authors'.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import choices

BENCHMARK = Declaration(
    name="{name}",
    version="1",
    title="{title}, what it asks",
    paper="",
    provenance="who made the data, and their licence",
    data=single_tsv("https://example.org/{name}.tsv", "md5 of the file"),
    aliases={{}},
    scoring=choices(),
    coverage="generic type",
)
'''
_FILE = """\
# {title}: what it asks (Authors, year, https://arxiv.org/abs/...).
#
# One example row: index 0, question "...", A "...", B "...", answer "A", image <base64>.
#
# Oddities: what a reader of the data stumbles over, and where our rule differs from the authors'.

version = "1"
title = "{title}, what it asks"
paper = ""
source = "who made the data, and their licence"
coverage = "generic type"
files = [{{ url = "https://example.org/{name}.tsv", md5 = "md5 of the file" }}]
"""
_LAYOUT = "index\tquestion\tA\tB\tanswer\n0\tA made-up question in the layout of the data?\tyes\tno\t\n"
_TEST = '''"""{title} gives the published number."""

from __future__ import annotations

import pytest


def test_published_predictions_give_the_published_number() -> None:
    pytest.fail("score one model's published predictions, and compare with its authors' number")
'''


def write_new_benchmark(name: str, about: str, folder: Path) -> list[Path]:
    """Write the family and its layout below the repository's root, and a failing test of a family
    with code; their paths.

    `name` is that of the benchmark, which will have code, or `NAME.toml`, which will have none.
    `about` is the folder of the family, such as `documents`. Nothing has to be registered: the name
    of the file is the name of the benchmark. Until the layout has a gold answer and the declaration
    a paper, `tests/benchmarks/test_declarations.py` fails, too. Raises UsageError for a name that
    is malformed or taken, and for an unknown folder.
    """
    has_code = not name.endswith(_TOML)
    name = name.removesuffix(_TOML)
    home, tests = benchmark_folders(name, about, folder)
    title = name.replace("-", " ").title()
    layout = tests / "layouts" / f"{name}.tsv"
    if has_code:
        module = name.replace("-", "_")
        files = {
            home / f"{module}.py": _FAMILY.format(name=name, title=title),
            layout: _LAYOUT,
            tests / f"test_{module}.py": _TEST.format(title=title),
        }
    else:
        files = {home / f"{name}.toml": _FILE.format(name=name, title=title), layout: _LAYOUT}
    return write_new_files(name, files)


def benchmark_folders(name: str, about: str, folder: Path) -> tuple[Path, Path]:
    """Where the file of a new benchmark goes, and its tests. Raises UsageError as above."""
    if about not in family_folders():
        raise UsageError(f"{about}: expected one of the folders of benchmarks: {', '.join(family_folders())}")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"benchmark {name!r}: expected lower-case letters and digits, with hyphens between "
            "words, e.g. my-benchmark, or my-benchmark.toml for one without code"
        )
    return folder / "src/snellen/benchmarks" / about, folder / "tests/benchmarks"


def write_new_files(name: str, files: Mapping[Path, str]) -> list[Path]:
    """Write the files of a benchmark; their paths. Raises UsageError where it is there already, or
    where there is no checkout."""
    present = [path for path in files if path.exists()]
    if is_registered(name) or present:
        where = f" ({present[0]})" if present else ""
        raise UsageError(f"the benchmark {name!r} is there already{where}; choose another name")
    for path in files:
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent} is not there; expected the root of a checkout of Snellen's sources")
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return list(files)
