"""A run folder of questions that ask for places of every shape, with replies of every outcome."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
from PIL import Image, ImageDraw
from synthetic import info, summarise, write_run

from snellen.core.arrays import np
from snellen.core.media import digest_bytes
from snellen.core.output import Answer, Generated, Misplaced, Misplacement, ParsedAnswer, Unparsed, outcome_of
from snellen.core.place import Box, Mask, Places, Point, Span
from snellen.core.record import Pass, Record
from snellen.core.request import Media, Text, user
from snellen.core.run import Counts, Report
from snellen.scoring.places.masks import mask_of_pixels
from snellen.store.runs import RunFolder

ATTACK = "</script><img src=x onerror='window.hurt=1'>"
WIDE, TALL, SMALL, LARGE = (320, 192), (160, 384), (96, 64), (1280, 960)


def photo(size: tuple[int, int], box: tuple[int, int, int, int]) -> bytes:
    """A picture with a dark ellipse in a box."""
    image = Image.new("RGB", size, "#dfe8ee")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, size[1] * 2 // 3, *size), fill="#6b7f5a")
    draw.ellipse(box, fill="#7a2f2f")
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def ellipse_mask(size: tuple[int, int], box: tuple[int, int, int, int]) -> Mask:
    picture = Image.new("L", size)
    ImageDraw.Draw(picture).ellipse(box, fill=255)
    return mask_of_pixels(np.asarray(picture) > 0)


def place_record(
    name: str, gold: Places, answer: Places | Answer, score: float, *, data: bytes = b"", question: str = ""
) -> tuple[Record, dict[str, bytes]]:
    digest = digest_bytes(data) if data else ""
    pictures = {digest: data} if data else {}
    question = question or "Find the dark ellipse."
    parsed = ParsedAnswer(answer.text(), "numbers in brackets", (0, 5)) if isinstance(answer, Places) else answer
    reply = "Here: [1, 2, 3, 4]" if isinstance(answer, Places) else getattr(answer, "value", "") or "I see nothing."
    media = [Media("image", digest)] if data else []
    turn = Pass((user(*media, Text(question)),), Generated(reply), parsed, (gold.text(),), correct=score >= 1)
    record = Record(
        id=name,
        kind="place",
        question=question,
        outcome=outcome_of(parsed),
        score=score,
        answer=parsed.value if isinstance(parsed, ParsedAnswer) else None,
        gold=(gold.text(),),
        groups={"category": "wide"},
        media=(digest,) if data else (),
        passes=(turn,),
        values={"iou": score},
    )
    return record, pictures


def misplaced(problem: Misplacement, value: str) -> Misplaced:
    return Misplaced(problem, "numbers in brackets", value, (0, len(value)))


def place_records() -> list[tuple[Record, dict[str, bytes]]]:
    """One of every shape and outcome."""
    box = Box(40, 50, 120, 110)
    oval = (40, 50, 119, 109)
    wide, tall = photo(WIDE, oval), photo(TALL, oval)
    one = Places(boxes=(box,), extent=WIDE)
    several = Places(
        boxes=(box, Box(200, 20, 260, 60), Box(150, 120, 190, 170)),
        labels=("red circle", ATTACK, "blue star"),
        extent=WIDE,
    )
    said = Places(boxes=(Box(44, 48, 118, 112), Box(30, 140, 80, 180)), labels=("red circle", "blue star"), extent=WIDE)
    polygon = tuple(Point(*corner) for corner in ((40, 80), (80, 50), (120, 80), (80, 110)))
    near = Box(48, 54, 128, 112)
    return [
        place_record("box", one, Places(boxes=(near,), extent=WIDE), 0.72, data=wide),
        place_record("labels", several, said, 0.4, data=wide),
        place_record(
            "tall",
            Places(boxes=(box,), extent=TALL),
            Places(boxes=(Box(50, 40, 110, 120),), extent=TALL),
            1.0,
            data=tall,
        ),
        place_record(
            "small",
            Places(boxes=(Box(10, 8, 30, 24),), extent=SMALL),
            Places(boxes=(Box(12, 9, 30, 25),), extent=SMALL),
            1.0,
            data=photo(SMALL, (10, 8, 29, 23)),
        ),
        place_record(
            "large",
            Places(boxes=(Box(700, 300, 1000, 560),), extent=LARGE),
            Places(boxes=(Box(690, 280, 1010, 540),), extent=LARGE),
            1.0,
            data=photo(LARGE, (700, 300, 999, 559)),
        ),
        place_record(
            "point",
            Places(points=(Point(80, 80),), extent=WIDE),
            Places(points=(Point(150, 60),), extent=WIDE),
            0.0,
            data=wide,
        ),
        place_record(
            "mask",
            Places(masks=(ellipse_mask(WIDE, oval),), extent=WIDE),
            Places(points=(Point(82, 84),), extent=WIDE),
            1.0,
            data=wide,
        ),
        place_record(
            "polygon",
            Places(polygons=(polygon,), extent=WIDE),
            Places(polygons=(polygon[:3],), extent=WIDE),
            0.5,
            data=wide,
        ),
        place_record("none", Places(extent=WIDE), Places(boxes=(box,), extent=WIDE), 0.0, data=wide),
        place_record(
            "span", Places(spans=(Span(1.5, 4.0),), extent=(12.5,)), Places(spans=(Span(3, 6.25),), extent=(12.5,)), 0.2
        ),
        place_record("space", one, misplaced("other_space", "[0.2, 0.3, 0.4, 0.5]"), 0.0, data=wide),
        place_record("outside", one, misplaced("outside", "[400, 50, 900, 100]"), 0.0, data=wide),
        place_record("malformed", one, misplaced("malformed_place", "[120, 110, 40, 50]"), 0.0, data=wide),
        place_record("nonsense", one, Unparsed(), 0.0, data=wide),
    ]


def write_place_run(root: Path, model: str = "snellen/tiny", copies: int = 1) -> RunFolder:
    """The folder of such a run."""
    records: list[Record] = []
    pictures: dict[str, bytes] = {}
    for number in range(copies):
        for record, shown in place_records():
            name = f"{record.id}-{number}" if copies > 1 else record.id
            records.append(msgspec.structs.replace(record, id=name, position=len(records)))
            pictures |= shown
    run = info(model, "eyechart-places", False, "complete", Counts(len(records), len(records)))
    return write_run(root, Report(run, summarise(records, False)), records, pictures)
