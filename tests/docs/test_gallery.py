"""The gallery is drawn from its numbers, and its numbers are those of the papers' tables."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from msgspec import json as msgjson
from paper_files import mmt_accuracies, paper_rows

from snellen.cli.parser import build_parser

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "analyses.md").read_text(encoding="utf-8").partition("## Gallery\n")[2]
IMAGES = sorted((DOCS / "images" / "gallery").glob("*.svg"))
NUMBERS = msgjson.decode((DOCS / "data" / "gallery.json").read_bytes())
SVG = "{http://www.w3.org/2000/svg}"


def test_images_are_in_step() -> None:
    done = subprocess.run([sys.executable, str(DOCS / "gallery.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_image_is_shown_and_small() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(images/gallery/(.+?)\)", PAGE)
    assert sorted(shown) == [path.name for path in IMAGES]
    assert all(path.stat().st_size < 150_000 for path in IMAGES)


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.stem)
def test_images_are_self_contained_and_not_clipped(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.get("aria-label")
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    for node in root.iter(f"{SVG}text"):
        assert -2 <= float(node.get("x") or 0) <= width + 2
        assert -2 <= float(node.get("y") or 0) <= height + 2
        if node.get("transform") is None:
            style = dict(part.split(": ", 1) for part in (node.get("style") or "").split("; "))
            long = 0.5 * float(style["font-size"].removesuffix("px")) * len(node.text or "")
            anchor, x = style.get("text-anchor", "start"), float(node.get("x") or 0)
            start = {"middle": x - long / 2, "end": x - long}.get(anchor, x)
            assert start >= -2, node.text
            assert start + long <= width + 2, node.text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_commands_of_the_page_are_known() -> None:
    parser = build_parser()
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 9
    for block in blocks:
        words = shlex.split(block.replace("\\\n", " ").removeprefix("$ "))
        arguments, unknown = parser.parse_known_args(words[1:])
        assert not unknown, block
        assert arguments.command in ("analyse", "leaderboard", "export")


def test_numbers_are_those_of_the_tables() -> None:
    english = {row["model"]: row for row in paper_rows("mmbench_table11_test_l2.csv")}
    for model, value in NUMBERS["languages"]["English"].items():
        assert value == float(english[model]["overall"])
    for model, held in NUMBERS["open_and_closed"].items():
        assert held == {name: float(english[model][name]) for name in held}
    printed = {
        (row["board"].split()[0].lower(), row["model"].replace(" ", "")): float(row["score"])
        for row in paper_rows("mme_leaderboards.csv")
    }
    for board in ("perception", "cognition"):
        for _, model, score in NUMBERS["mme_boards"][board]:
            assert score == pytest.approx(printed[board, model], abs=0.011)


def test_means_by_image_type_are_plain_means_of_subtasks() -> None:
    types = {row["subtask"]: row["image_types"].split(";") for row in paper_rows("mmt_subtasks.csv")}
    scores = [row for row in mmt_accuracies() if row["model"] == "BLIP2"]
    held = [float(row["accuracy"]) for row in scores if "Depth Map" in types.get(row["subtask"], ())]
    assert held
    assert NUMBERS["image_types"]["BLIP2"]["Depth Map"] == pytest.approx(sum(held) / len(held), abs=1e-3)
