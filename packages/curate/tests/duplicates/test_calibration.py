"""The tables of docs/curate/duplicates.md can be printed again, and say what they said."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from drawn_scenes import CHANGES, draw_card, draw_scene

PAGE = Path(__file__).parents[4] / "docs" / "curate" / "duplicates.md"


@pytest.fixture(scope="module")
def calibration() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibration", Path(__file__).with_name("calibration.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_missed_copies_are_as_rare_as_the_page_says(calibration: ModuleType) -> None:
    sets = {
        "scenes": [draw_scene(seed) for seed in range(1_000, 1_040)],
        "cards": [draw_card(seed) for seed in range(1_000, 1_040)],
    }
    rows = [line.split(" | ") for line in calibration.missed_table(sets)][2:]
    page = {line.split(" | ")[0]: line.split(" | ") for line in PAGE.read_text().splitlines()}
    assert [row[0].strip("| ") for row in rows] == list(CHANGES)
    for row in rows:
        for here, there in zip(row[1:], page[row[0]][-2:], strict=True):
            ours, stated = ([float(cell) for cell in one.strip("| ").split(" / ")] for one in (here, there))
            # 40 pictures: four standard errors of a share, and one picture.
            for one, other in zip(ours, stated, strict=True):
                share = max(other, 1.0) / 100
                assert abs(one - other) <= 400 * (share * (1 - min(share, 0.99)) / 40) ** 0.5 + 2.6


def test_unrelated_images_are_not_paired(calibration: ModuleType) -> None:
    columns = calibration.hash_images(draw_scene(seed) for seed in range(300))
    rates = calibration.false_pairs(columns)
    assert rates.both == rates.hashes == rates.lone == 0
    table = list(calibration.false_table({"scenes": columns}))
    assert table[-1].startswith("| 300 scenes | 44,850 | ")
