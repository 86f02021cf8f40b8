"""The script behind docs/curate/evidence.md counts what it says, on a made-up twin of its files."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import held_out_translations as held_out
import pytest

from snellen_curate.translate.languages import open_language

GERMAN = open_language("de")
ROWS = [
    (f"The {colour} car with {number} wheels is on the left.", f"Das {farbe} Auto mit {number} Rädern ist links.")
    for colour, farbe in zip(("red", "blue", "green", "white"), ("rote", "blaue", "grüne", "weiße"), strict=True)
    for number in range(3, 13)
]
WRONG = ("There are 7 birds.", "Es gibt 9 Vögel.")
"""A control: this translation must count as a false alarm."""


def write_twin(folder: Path, rows: list[tuple[str, str]]) -> dict[str, Any]:
    """A clone with a set of two files, and its entry."""
    clone = folder / "twin"
    clone.mkdir()
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    digests = {}
    for at, tag in enumerate(("en", "de")):
        data = "".join(f"{row[at]}\tlabel\n" for row in rows).encode()
        (clone / f"{tag}.tsv").write_bytes(data)
        digests[tag] = hashlib.sha256(data).hexdigest()
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "twin"], check=True)
    return {
        "name": "Twin",
        "repository": "us/twin",
        "commit": "HEAD",
        "format": "mgsm",
        "path": "{}.tsv",
        "sha256": digests,
    }


def test_good_texts_and_slips_are_counted_by_half(tmp_path: Path) -> None:
    texts = list(held_out.read_set(write_twin(tmp_path, ROWS), "de", tmp_path))
    assert len(texts) == len(ROWS)
    assert {text.part for text in texts} == {"tuned", "held out"}
    shown: list[str] = []
    measured = held_out.measure(texts, GERMAN, "held out", shown.append)
    half = [text for text in texts if text.part == "held out"]
    assert measured.good == {"Twin": (0, len(half))}
    for kind in ("digit changed", "not translated", "side exchanged", "colour exchanged"):
        assert measured.found[kind] == (len(half), len(half)), kind
    hits, made = measured.recall
    assert hits + sum(line.startswith("MISS") for line in shown) == made > 100
    # The same slips again: the seed decides.
    assert held_out.measure(texts, GERMAN, "held out", shown.append) == measured


def test_a_wrong_translation_is_an_alarm_and_takes_no_slip(tmp_path: Path) -> None:
    texts = list(held_out.read_set(write_twin(tmp_path, [WRONG] * 2), "de", tmp_path))
    for part in {text.part for text in texts}:
        shown: list[str] = []
        measured = held_out.measure(texts, GERMAN, part, shown.append)
        assert measured.good == {"Twin": (1, 1)}  # equal texts count once
        assert measured.recall == (0, 0)
        assert [line.split()[0] for line in shown] == ["ALARM"]


def test_other_bytes_are_refused_and_other_languages_have_no_texts(tmp_path: Path) -> None:
    entry = write_twin(tmp_path, ROWS)
    assert list(held_out.read_set(entry, "fr", tmp_path)) == []
    entry["sha256"] = {"en": "0" * 64, "de": "0" * 64}
    with pytest.raises(ValueError, match="expected 0000"):
        list(held_out.read_set(entry, "de", tmp_path))


EXCHANGES = [
    ("left: links > rechts", "on the left", "er ist links", ["er ist rechts"]),
    ("left: links > rechts", "it leaves", "er ist links", []),
    ("left: links > rechts", "on the left", "links, links", []),
    ("not: nicht > ", "is not red", "ist nicht rot", ["ist rot"]),
    ("%: % > ‰", "12%", "12 %", ["12 ‰"]),
]


@pytest.mark.parametrize(("entry", "source", "target", "expected"), EXCHANGES)
def test_a_slip_needs_its_word_in_both_texts(entry: str, source: str, target: str, expected: list[str]) -> None:
    assert list(held_out.exchanges(entry, source, target, bounds=True)) == expected
