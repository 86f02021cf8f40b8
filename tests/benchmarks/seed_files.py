"""Small data sets in SEED-Bench's official format, with drawn pictures: for tests."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from snellen.benchmarks.abilities.seedbench.levels import Dimension, dimensions

COLOURS = ("red", "green", "blue", "yellow")
RGB = {"red": (220, 30, 30), "green": (30, 170, 60), "blue": (40, 60, 220), "yellow": (230, 210, 40)}


def disc(colour: str, size: int = 64) -> bytes:
    """A PNG of a disc on light grey."""
    picture = Image.new("RGB", (size, size), (236, 236, 236))
    ImageDraw.Draw(picture).ellipse((12, 12, size - 12, size - 12), fill=RGB[colour])
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def write_pictures(home: Path) -> None:
    for colour in COLOURS:
        folder = home / "SEED-Bench-H-data" / "discs"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{colour}.png").write_bytes(disc(colour))


def seed_h(home: Path, per_dimension: int = 2, only: Iterable[str] | None = None) -> Path:
    """A question file of version H with the pictures beside it."""
    write_pictures(home)
    wanted = set(only) if only is not None else None
    questions = [
        question(one, number)
        for one in dimensions()
        if wanted is None or one.name in wanted
        for number in range(per_dimension)
    ]
    types = {one.name: one.number for one in dimensions()}
    path = home / "SEED-Bench-H.json"
    path.write_text(json.dumps({"questions": questions, "question_type": types}))
    return path


def question(one: Dimension, number: int) -> dict[str, Any]:
    colour = COLOURS[(one.number + number) % 4]
    files = [f"discs/{name}.png" for name in COLOURS]
    right = "ABCD"[COLOURS.index(colour)]
    common = {
        "question_id": f"{one.number}_{number}",
        "question_type_id": one.number,
        "answer": right,
        "level": one.level,
        "subpart": one.subpart,
        "data_type": one.subpart.split(" & ")[0],
        "version": "H",
    }
    picture = f"discs/{colour}.png"
    names = {f"choice_{letter.lower()}": name for letter, name in zip("ABCD", COLOURS, strict=True)}
    if one.subpart == "Image Generation":
        choices = {f"choice_{letter.lower()}": file for letter, file in zip("ABCD", files, strict=True)}
        before = [picture] * 3 if one.name.startswith("Next") else []
        lead = "Which picture below better fits the description: "
        text = "What will happen next?" if before else f"{lead}A {colour} disc."
        return common | choices | {"data_type": "Image Generation", "question": text, "data_id": [*before, *files]}
    if one.subpart == "Image & Text Generation":
        return (
            common
            | names
            | {
                "data_type": "Image & Text Generation",
                "question": f"What does a {colour} disc look like?",
                "data_id": files,
            }
        )
    if one.part == "part-2":
        text = "<img>: it is green. <img>: it is of what color?"
        return common | names | {"question": text, "data_id": [files[1], picture]}
    single = one.subpart.startswith("Single")
    shown = picture if single else [picture] * (8 if "Video" in one.subpart else 2)
    return common | names | {"question": "What color is the circle?", "data_id": shown}
