"""The rank heat map as a picture: parsed, not looked at."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import pytest

from snellen.benchmarks.seedbench.levels import DimensionGroup, dimensions, group_by_subpart
from snellen.report.plots.heatmap import colour, heat_map, shade
from snellen.report.plots.palette import width_of

TABLES = Path(__file__).parents[1] / "paper_tables"

SVG = "{http://www.w3.org/2000/svg}"
GREY = "#d4d4d4"
VALUES = {
    "a & b": {"x": 50.0, "y": 10.0, "z": None},
    "c": {"x": 70.0, "y": 10.0},
    "d": {"x": 60.0, "y": 5.0, "z": None},
}
GROUPS = [DimensionGroup("first <group>", ("x", "y")), DimensionGroup("second", ("z",))]


def cells(text: str) -> dict[str, str]:
    """Fill by the cell's own words."""
    found = {}
    for box in ElementTree.fromstring(text).iter(f"{SVG}rect"):
        title = box.find(f"{SVG}title")
        if title is not None:
            found[title.text or ""] = box.attrib["fill"]
    return found


def test_darker_is_a_higher_rank_and_grey_is_none() -> None:
    found = cells(heat_map(VALUES, GROUPS, "ranks"))
    assert len(found) == 9
    assert found["c, x: 70.0, rank 1 of 3"] == colour(1.0)
    assert found["d, x: 60.0, rank 2 of 3"] == colour(0.5)
    assert found["a & b, x: 50.0, rank 3 of 3"] == colour(0.0)
    assert found["a & b, y: 10.0, rank 1 of 3"] == found["c, y: 10.0, rank 1 of 3"]
    assert {fill for title, fill in found.items() if ", z: no value" in title} == {GREY}
    darkness = [
        sum(int(colour(step / 10)[at : at + 2], 16) for at in (1, 3, 5)) for step in range(11)
    ]
    assert darkness == sorted(darkness, reverse=True)


def test_the_rank_is_written_too() -> None:
    root = ElementTree.fromstring(heat_map(VALUES, GROUPS))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert [text for text in texts if text and text.isdecimal()] == ["3", "1", "1", "1", "2", "3"]
    assert {"a & b", "c", "d", "x", "y", "z"} <= set(texts)


def test_names_of_groups_stand_whole_inside_the_picture() -> None:
    names = ("Multiple-Images & Text Comprehension", "one")
    root = ElementTree.fromstring(
        heat_map(VALUES, [DimensionGroup(names[0], ("x", "y")), DimensionGroup(names[1], ("z",))])
    )
    bold = [one for one in root.iter(f"{SVG}text") if one.get("font-weight") and one.text]
    assert [one.text for one in bold] == list(names)
    assert all("rotate" in one.get("transform", "") for one in bold)
    assert float(root.attrib["width"]) > 50 + 0.8 * width_of(names[0], 11)
    level = ElementTree.fromstring(heat_map(VALUES, [DimensionGroup("two", ("x", "y"))]))
    (told,) = [one for one in level.iter(f"{SVG}text") if one.get("font-weight") and one.text]
    assert told.get("transform") is None


def test_numbers_have_contrast_in_every_shade() -> None:
    values = {str(at): {"x": float(at)} for at in range(30)}
    root = ElementTree.fromstring(heat_map(values, [DimensionGroup("g", ("x",))]))
    grounds = [
        one.attrib["fill"] for one in root.iter(f"{SVG}rect") if one.find(f"{SVG}title") is not None
    ]
    inks = [one.attrib["fill"] for one in root.iter(f"{SVG}text") if one.get("pointer-events")]
    assert len(grounds) == len(inks) == 30
    for ground, ink in zip(grounds, inks, strict=True):
        light, dark = sorted((luminance(ground), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 4


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("rank", "ranked", "share"), [(1, 1, 1.0), (1, 5, 1.0), (5, 5, 0.0)])
def test_shades(rank: int, ranked: int, share: float) -> None:
    assert shade(rank, ranked) == share


def test_an_empty_table_is_a_picture_too() -> None:
    ElementTree.fromstring(heat_map({}, []))


def test_the_papers_tables_5_and_6() -> None:
    asked = [one for one in dimensions() if one.number >= 19]
    values: dict[str, dict[str, float | None]] = {}
    for name in ("seed_table5_multi_video.csv", "seed_table6_interleaved_generation.csv"):
        with (TABLES / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for one in asked:
                    if one.name in row:
                        cell = row[one.name]
                        number = None if cell in ("-", "") else float(cell)
                        values.setdefault(row["model"], {})[one.name] = number
    found = cells(heat_map(values, group_by_subpart(asked), "SEED-Bench-H"))
    assert len(found) == 33 * 16
    assert found["GPT-4V, Meme Comprehension: 89.3, rank 1 of 29"] == colour(1.0)
    assert found["SEED-LLaMA, Text-Image Creation: 65.8, rank 1 of 3"] == colour(1.0)
    assert found["SPHINX-v2-1k, Text-Image Creation: no value"] == GREY
