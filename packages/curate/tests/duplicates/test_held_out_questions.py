"""The script behind docs/curate/evidence.md counts what it says, on a made-up twin of its files."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import held_out_questions
import pytest

PAIRS = [
    ("What colour is the car?", "What color is the car?", "1"),
    ("Is there a dog in the image?", "Is there a dog in the picture?", "1"),
    ("Is there a dog in the image?", "Is there a cat in the image?", "0"),
    ("What is on the left?", "What is on the right?", "0"),
    ("Who holds the cup?", "Who is the person with a cup?", "1"),
    ("How many cups are there?", "How many  cups are there ?", "0"),
]
"""The last pair differs in spaces alone and is left out, whatever its label says."""
WRONG = ("Where is the red ball?", "Please, where is the red ball?", "0")
"""A control: a pair with this label must be counted as wrong."""
QUESTIONS = [
    {"image": "one.jpg", "text": "Is there a dog in the image?", "label": "yes"},
    {"image": "one.jpg", "text": "Is there a dog in this picture?", "label": "yes"},
    {"image": "one.jpg", "text": "Is there a cat in the image?", "label": "yes"},
    {"image": "two.jpg", "text": "Is there a dog in the image?", "label": "yes"},
    {"image": "two.jpg", "text": "Is there a dog in the image?", "label": "yes"},
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))


def write_twin(folder: Path, pairs: Sequence[tuple[str, str, str]], *, changed: str = "") -> Path:
    """A clone with two files, and the list that names them. Returns the list."""
    clone = folder / "twin"
    clone.mkdir()
    files = {
        "pairs.tsv": "".join("\t".join(pair) + "\n" for pair in pairs),
        "questions.jsonl": "".join(json.dumps(row) + "\n" for row in QUESTIONS),
    }
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    for name, text in files.items():
        (clone / name).write_text(text)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "twin"], check=True)
    lines = []
    for kind, (name, text), more in zip(
        ("labelled", "unlabelled"),
        files.items(),
        ('format = "tsv"\ncolumns = [0, 1, 2]\n', 'suffix = "\\nAnswer yes or no."\n'),
        strict=True,
    ):
        digest = hashlib.sha256((text + changed).encode()).hexdigest()
        lines.append(
            f'[[{kind}]]\nname = "{name}"\nrepository = "made/twin"\ncommit = "HEAD"\n'
            f'path = "{name}"\nsha256 = "{digest}"\n{more}'
        )
    path = folder / "twin.toml"
    path.write_text("\n".join(lines))
    return path


def rows_of(out: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) > 1}


def test_the_twin_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = write_twin(tmp_path, PAIRS)
    drops = tmp_path / "drops.jsonl"
    held_out_questions.main([str(tmp_path), "--sources", str(sources), "--drops", str(drops)])
    rows = rows_of(capsys.readouterr().out)
    assert rows["pairs.tsv"][:4] == ["5", "3", "2", "0"]
    assert rows["pairs.tsv"] == rows["all"]
    assert rows["pairs.tsv"][5] == "66.7 %"
    assert rows["questions.jsonl"] == ["5", "2", "2", "1", "1", "0"]
    left_out = [json.loads(line)[2:] for line in drops.read_text().splitlines()]
    assert [one[0] for one in left_out] == ["near question", "same question"]
    assert not any("cat" in text for one in left_out for text in one)


def test_a_wrong_pair_is_counted_as_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = write_twin(tmp_path, [*PAIRS, WRONG])
    held_out_questions.main([str(tmp_path), "--sources", str(sources), "--only", "pairs"])
    row = rows_of(capsys.readouterr().out)["pairs.tsv"]
    assert row[:4] == ["6", "3", "3", "1"]
    assert row[4].startswith("66.7 % (from ")


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    sources = write_twin(tmp_path, PAIRS, changed="x")
    with pytest.raises(ValueError, match=r"pairs\.tsv: sha256 .*, expected"):
        held_out_questions.main([str(tmp_path), "--sources", str(sources)])


def test_every_source_names_where_it_comes_from() -> None:
    sources = tomllib.loads(held_out_questions.SOURCES.read_text())
    for source in (*sources["labelled"], *sources["unlabelled"]):
        assert source["licence"], source["name"]
        assert len(source["commit"]) == 40
        assert len(source["sha256"]) == 64
