"""Precision and recall on planted duplicates."""

from __future__ import annotations

import json
import random
from pathlib import Path

import planted
import pytest
from drawn_scenes import CHANGES, draw_card, draw_scene, jpeg, png

from snellen_curate.duplicates.find import find_duplicates
from snellen_curate.duplicates.image_rule import ImageRule
from snellen_curate.duplicates.report import DuplicateSettings

KINDS = ("exact_duplicate", "near_duplicate_picture", "near_duplicate_question")
SURVIVED = (
    "as PNG",
    "half the size",
    "a quarter of the size",
    "twice the size",
    "JPEG, quality 50",
    "JPEG, quality 20",
    "half the size, JPEG 50",
    "brightness x 0.7",
    "contrast x 0.6",
    "without colour",
    "cropped by 3 %",
    "rotated by 1 degree",
)
"""Changes of which at least nine copies in ten must be found."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("file", ["data", "translated_well"])
def test_planted_duplicates_are_found_and_nothing_else(file: str, tmp_path: Path) -> None:
    made = planted.build(tmp_path / "planted")
    report = find_duplicates(getattr(made, file), processes=1).report
    expected = {name: first for kind in KINDS for name, first in made.planted[kind].items()}
    found = {name: cluster.kept for cluster in report.clusters for name in cluster.items if name != cluster.kept}
    assert found == expected
    assert report.contradictions == ()
    broken = {name for one in report.broken for name in one.items}
    assert broken == made.ids_of("broken_picture", "lost_picture")


def test_copies_are_found_and_unrelated_images_are_not(tmp_path: Path) -> None:
    """120 scenes and 120 cards, each with a copy by one of the changes."""
    rows, expected = [], set()
    changes = [*SURVIVED]
    for number in range(240):
        seed = number // 2
        image = draw_scene(seed) if number % 2 else draw_card(seed)
        change = random.Random(number).choice(changes)
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(image))
        (tmp_path / f"{number}c.png").write_bytes(png(CHANGES[change](image)))
        for suffix in (".jpg", "c.png"):
            row = {"question": "What is shown?", "answer": "x", "image": f"{number}{suffix}"}
            rows.append({"index": f"{number} {suffix}", **row})
        expected.add(frozenset((f"{number} .jpg", f"{number} c.png")))
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = find_duplicates(path, processes=1).report
    found = {frozenset((pair.left, pair.right)) for pair in report.duplicates}
    true = found & expected
    assert len(true) / len(expected) >= 0.96
    # Cards of one shape on white may be alike without being copies.
    assert len(true) / len(found) >= 0.96
    assert not [pair for pair in found - expected if not _is_card(pair)]
    loose = DuplicateSettings(ImageRule(radius=10, likeness=0.01))
    by_hash = find_duplicates(path, loose, processes=1).report
    assert len(by_hash.duplicates) > 1.2 * len(found), "the small copies must decide"


def _is_card(pair: frozenset[str]) -> bool:
    return all(int(name.split()[0]) % 2 == 0 for name in pair)
