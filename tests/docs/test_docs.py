"""The pages cannot lie: their commands and programs are run, their output is compared.

Marks in a page, above a fence (comments that a reader does not see):
    <!-- file: NAME -->        the block is that file of examples/, or a new one for what follows
    <!-- exit: N -->           the commands of the block end with this code
    <!-- output of: COMMAND --> the JSON block is part of what the command prints
    <!-- not run: REASON -->   the block is not run
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from snellen.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
GENERATED = {"cli.md", "benchmarks.md", "models.md", "reproduction.md"}

BLOCK = re.compile(
    r"(?P<marks>(?:^<!-- .+? -->\n)*)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"<!-- (file|exit|output of|not run): (.+?) -->")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
SLOW_MODEL = re.compile(r"^(snellen/|hf/)")
"""Models that are replaced by `random`: their output is not compared."""


class Block(NamedTuple):
    language: str
    marks: dict[str, str]
    text: str


class Step(NamedTuple):
    command: str
    output: list[str]


def blocks(page: Path) -> Iterator[Block]:
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(found["language"], dict(MARK.findall(found["marks"])), found["text"])


def steps(text: str) -> Iterator[Step]:
    """The commands of a console block, each with the lines shown under it."""
    command, output = "", []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield Step(command, output)
            command, output = line[2:], []
        elif line.strip():
            output.append(line)
    yield Step(command, output)


def plain(text: str) -> str:
    """A line without what may differ: white space, underscores shown as blanks."""
    return " ".join(text.replace("_", " ").split())


def shown(output: str) -> list[str]:
    return [plain(line) for line in output.splitlines()]


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run_command(command: str) -> Ended:
    arguments = shlex.split(command)
    assert arguments[0] == "snellen"
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments[1:])
        except SystemExit as stop:  # argparse: --help, --version, a wrong flag
            code = int(stop.code or 0)
    return Ended(code, out.getvalue(), err.getvalue())


def run_step(step: Step, expected: int) -> None:
    words = step.command.split()
    cheap = " ".join("random" if SLOW_MODEL.match(word) else word for word in words)
    ended = run_command(cheap)
    # A step of curation that finds something to look at ends with 1.
    expected = ended.code if words[:2] == ["snellen", "curate"] and ended.code == 1 else expected
    assert ended.code == expected, f"{step.command}: {ended.code}\n{ended.out}{ended.err}"
    if cheap != " ".join(words):
        return
    printed = shown(ended.out + ended.err)
    for line in step.output:
        if line.strip() != "...":
            assert plain(line) in printed, f"{step.command} prints no {line!r}:\n{ended.out}"


def run_program(text: str) -> str:
    Path("program.py").write_text(text)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path("program.py", run_name="__main__")
    return out.getvalue()


def is_part(expected: Any, actual: Any) -> bool:
    """Whether every documented value is there, numbers rounded as the page has them."""
    if isinstance(expected, dict):
        return all(key in actual and is_part(expected[key], actual[key]) for key in expected)
    if isinstance(expected, float):
        return bool(actual == pytest.approx(expected, abs=0.006))
    return bool(expected == actual)


def follow(page: Path) -> int:
    """Do what a page says, in order, in the current folder; returns how much was run."""
    done = 0
    for block in blocks(page):
        if "not run" in block.marks:
            continue
        if name := block.marks.get("file"):
            example = EXAMPLES / name
            if example.exists():
                assert block.text == example.read_text(encoding="utf-8"), name
            Path(name).write_text(block.text, encoding="utf-8")
        elif command := block.marks.get("output of"):
            assert is_part(json.loads(block.text), json.loads(run_command(command).out)), command
            done += 1
        elif block.language == "console":
            for step in steps(block.text):
                run_step(step, int(block.marks.get("exit", 0)))
                done += 1
        elif block.language == "python":
            run_program(block.text)
            done += 1
    return done


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples in it, as a reader has who follows a page."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        # It watches checkpoints appear, which takes half a minute; tests/tracking does so, too.
        pytest.param(page, marks=pytest.mark.release) if page.stem == "training" else page
        for page in PAGES
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_commands_and_programs_of_a_page_run(page: Path, folder: Path) -> None:
    console = sum(block.language in ("console", "python") and not block.marks for block in blocks(page))
    assert follow(page) >= console


def test_readme_shows_how_to_begin() -> None:
    assert sum(block.language == "console" for block in blocks(ROOT / "README.md")) >= 4


def test_detects_a_wrong_page(folder: Path) -> None:
    page = folder / "wrong.md"
    page.write_text("```console\n$ snellen list models\nno-such-model\n```\n")
    with pytest.raises(AssertionError, match="no-such-model"):
        follow(page)


def test_examples_run(folder: Path) -> None:
    assert "random:seed=1" in run_program((EXAMPLES / "evaluate.py").read_text())


def test_every_page_is_in_the_navigation() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))

    def pages(node: Any) -> Iterator[str]:
        if isinstance(node, str):
            yield node
        else:
            for child in node if isinstance(node, list) else node.values():
                yield from pages(child)

    listed = list(pages(config["nav"]))
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_generated_pages_are_in_step() -> None:
    done = subprocess.run([sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_generated_pages_have_no_hand_written_sister() -> None:
    assert {page.name for page in DOCS.glob("*.md") if "generate.py" in page.read_text()} >= (GENERATED)


def test_tree_in_the_readme_is_the_repository() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = text.rsplit("```text\n", 1)[1].split("```")[0]
    for line in tree.splitlines():
        name = line.split()[0] if line.split() else ""
        if line.startswith("  ") and not line.startswith("    "):
            assert (ROOT / name).exists(), name
        elif line.startswith("    ") and not line.startswith("     "):
            assert (ROOT / "src" / "snellen" / name).exists(), name


def stored_fields() -> Iterator[str]:
    from snellen.core import record, run, summary

    stored = (
        *(record.Record, record.Pass),
        *(run.RunInfo, run.RunConfig, run.Counts, run.DataInfo, run.Report),
        *(summary.Summary, summary.Metric, summary.Interval, summary.Bounds),
    )
    for struct in stored:
        yield from struct.__struct_fields__


def test_every_stored_field_is_described() -> None:
    page = (DOCS / "run-folder.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    assert set(stored_fields()) - named == set()


def test_every_exported_name_is_described() -> None:
    import snellen

    named = set(re.findall(r"`(\w+)`", (DOCS / "python-api.md").read_text(encoding="utf-8")))
    assert set(snellen.__all__) - named == set()


def test_every_outcome_is_described() -> None:
    from snellen.core.output import OUTCOMES

    page = (DOCS / "outcomes.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| ([a-z ]+) \|", page, re.MULTILINE)
    assert [outcome.replace("_", " ") for outcome in OUTCOMES] == described[1:]
