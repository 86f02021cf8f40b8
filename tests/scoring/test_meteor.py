"""METEOR by the authors' program; golden captions are in tests/benchmarks/test_golden_vqa.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import score
from snellen.core.errors import MissingExtra, UsageError
from snellen.scoring.captions import meteor_program
from snellen.scoring.captions.meteor import MeteorCounts, meteor_counts
from snellen.scoring.captions.meteor_program import CaptionWithReferences, caption_counts

LAYOUT = Path(__file__).parents[1] / "benchmarks" / "layouts" / "coco-caption.tsv"
STATED = ("this is a good test", ("this is a test", "this is also a test")), 0.44434387
"""A caption, its references and the score that nlg-eval's own test states (MIT)."""
OTHERS = (
    ("a cat on a mat", ("a cat sat on the mat",)),
    ("", ("a cat",)),
    ("a cat", ("a cat",)),
    ("e f", ("a b c",)),
    ("café noir", ("café noir",)),
)
TOGETHER = 0.31144972769177565
"""What the program itself says of STATED and OTHERS together (its command EVAL)."""


def captioned(caption: str, references: tuple[str, ...]) -> CaptionWithReferences:
    return CaptionWithReferences(caption.split(), [one.split() for one in references])


def program(folder: Path, text: str) -> None:
    """A `java` that does as told, alone on the path."""
    folder.mkdir()
    path = folder / "java"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> list[MeteorCounts]:
    """Needs a Java runtime: `make test` installs one on Debian."""
    odd = captioned("a cat ||| on a\nmat", ("a cat sat on the mat",))
    captions = [captioned(*STATED[0]), *(captioned(*one) for one in OTHERS), odd]
    return caption_counts(captions, tmp_path_factory.mktemp("meteor"))


def test_a_caption_scores_what_is_stated(counts: list[MeteorCounts]) -> None:
    assert counts[0].score() == pytest.approx(STATED[1], abs=5e-9)


def test_several_captions_score_what_the_program_says(counts: list[MeteorCounts]) -> None:
    assert sum(counts[:-1], MeteorCounts()).score() == pytest.approx(TOGETHER, abs=1e-14)
    halves = sum(counts[:2], MeteorCounts()) + sum(counts[2:-1], MeteorCounts())
    assert halves.score() == pytest.approx(TOGETHER, abs=1e-14)
    assert [one.score() for one in counts[2:6]] == [0.0, 1.0, 0.0, 1.0]


def test_bars_and_line_breaks_do_not_end_a_caption(counts: list[MeteorCounts]) -> None:
    assert counts[-1] == counts[1]


def test_meteor_results_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = " ".join(["1", "1", "0", "0", "1", "1", *["0"] * 14, "1", "1", "1"])
    program(tmp_path / "bin", f"echo '{line}'")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    asked = [captioned("boat", ("boat",))]
    first = caption_counts(asked, tmp_path)
    assert first == [meteor_counts(line)]
    program(tmp_path / "worse", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "worse"))
    assert caption_counts(asked, tmp_path) == first
    with pytest.raises(UsageError, match="exit code 1"):
        caption_counts([captioned("ship", ("boat",))], tmp_path)


def test_missing_java_or_package_gives_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [captioned("boat", ("boat",))]
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"needs a Java runtime.*default-jre-headless"):
        caption_counts(asked, tmp_path)
    program(tmp_path / "short", "echo 1 2 3")
    monkeypatch.setenv("PATH", str(tmp_path / "short"))
    with pytest.raises(UsageError, match="gave 1 lines of counts for 1 captions"):
        caption_counts(asked, tmp_path)
    program(tmp_path / "slow", "exec /bin/sleep 20")
    monkeypatch.setenv("PATH", str(tmp_path / "slow"))
    monkeypatch.setattr(meteor_program, "_START_SECONDS", 0.1)
    monkeypatch.setattr(meteor_program, "_CAPTION_SECONDS", 0.1)
    with pytest.raises(UsageError, match="took more than 0 s and was stopped"):
        caption_counts(asked, tmp_path)
    monkeypatch.setattr(meteor_program, "_PACKAGE", "no_such_package")
    with pytest.raises(MissingExtra, match=r"snellen\[meteor\]"):
        caption_counts(asked, tmp_path)


def test_lines_of_other_form_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 23 numbers, got 2"):
        meteor_counts("1 2")


def replies(tmp_path: Path) -> Path:
    file = tmp_path / "replies.csv"
    file.write_text("index,prediction\n0,a red boat on the water\n1,two men play chess\n")
    return file


@pytest.mark.release
def test_captions_are_scored_by_meteor_where_it_is_asked_for(tmp_path: Path) -> None:
    file = replies(tmp_path)
    plain = score("coco-caption", file, data=LAYOUT).summary
    assert "meteor" not in plain.metrics
    found = score("coco-caption:meteor=on", file, data=LAYOUT).summary
    meteor = found.metrics["meteor"]
    assert meteor.value is not None
    assert meteor.interval is not None
    assert meteor.interval.low <= meteor.value <= meteor.interval.high
    assert found.beside == ("bleu_4", "meteor", "rouge_l")
    assert found.metrics["cider"] == plain.metrics["cider"]


def test_other_metrics_are_computed_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = replies(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = score("coco-caption:meteor=on", file, data=LAYOUT).summary
    assert found.metrics["meteor"].value is None
    assert found.headline.value is not None
    assert any("needs a Java runtime" in notice for notice in found.notices)
