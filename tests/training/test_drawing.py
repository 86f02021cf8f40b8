"""Drawn pictures and the questions about them: right answers, fair options, disjoint seeds."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from training.tiny import eyechart
from training.tiny.drawing import draw, letter_boxes, png
from training.tiny.eyechart import FAMILIES, Row
from training.tiny.lessons import ALL, Mix, lesson
from training.tiny.prompts import LETTERS, multiple_choice
from training.tiny.questions import ASK, describe, quadrant, side
from training.tiny.statements import CLAIM
from training.tiny.world import COLOURS, SHAPES, Scene, Thing, sample_lettering, sample_scene, stream

ROOT = Path(__file__).parents[2]
DATA = ROOT / "src/snellen/benchmarks/data"
RED_CIRCLE = Thing("red", "circle", 0.2, 0.2, 0.1, COLOURS["red"])
BLUE_STAR = Thing("blue", "star", 0.8, 0.25, 0.1, COLOURS["blue"])
RED_RING = Thing("red", "ring", 0.75, 0.8, 0.1, COLOURS["red"])
SCENE = Scene((240, 240, 240), (RED_CIRCLE, BLUE_STAR, RED_RING))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return eyechart.build()


@pytest.fixture(scope="module")
def cells() -> list[dict[str, str]]:
    with (DATA / "eyechart.tsv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_same_seed_draws_the_same_picture() -> None:
    one, two = (draw(sample_scene(stream("dev", 3, 5))) for _ in range(2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("split", ["dev", "heldout", "test"])
def test_other_splits_draw_other_pictures(split: eyechart.Split) -> None:
    seen = {sample_scene(stream("train", eyechart.SEED, i)) for i in range(200)}
    assert not seen & {sample_scene(stream(split, eyechart.SEED, i)) for i in range(200)}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_its_colour_and_stays_in_its_radius(shape: str) -> None:
    thing = Thing("green", shape, 0.5, 0.5, 0.2, (0, 200, 0))
    picture = draw(Scene((255, 255, 255), (thing,)), 100)
    inked = [(x - 50, y - 50) for x in range(100) for y in range(100) if picture.getpixel((x, y)) == (0, 200, 0)]
    assert len(inked) > 250
    assert max(x * x + y * y for x, y in inked) <= 24**2


def test_drawn_shapes_do_not_overlap() -> None:
    for i in range(200):
        things = sample_scene(stream("dev", 0, i)).things
        for a in things:
            for b in things:
                gap = ((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5 - a.radius - b.radius
                assert a is b or gap > 0


def test_letter_boxes_hold_the_ink() -> None:
    scene = sample_lettering(stream("dev", 1, 2))
    assert scene.lettering is not None
    boxes = letter_boxes(scene.lettering)
    picture = draw(scene).convert("L")
    dark = [
        (x / 128, y / 128)
        for x in range(128)
        for y in range(128)
        if isinstance(v := picture.getpixel((x, y)), int) and v < 100
    ]
    assert len(boxes) == len(scene.lettering.content)
    assert min(x for x, _ in dark) >= boxes[0][0] - 0.02
    assert max(x for x, _ in dark) <= boxes[-1][2] + 0.02


def test_png_is_small_and_keeps_flat_colours() -> None:
    data = png(draw(SCENE))
    back = Image.open(io.BytesIO(data)).convert("RGB")
    assert len(data) < 2000
    assert back.getpixel((int(0.2 * 128), int(0.2 * 128))) == COLOURS["red"]


def test_geometry() -> None:
    assert quadrant(RED_CIRCLE) == "top left"
    assert quadrant(Thing("red", "ring", 0.5, 0.9, 0.1, (0, 0, 0))) is None
    assert side(RED_CIRCLE, BLUE_STAR) == "left"
    assert side(RED_RING, BLUE_STAR) == "below"
    assert side(RED_CIRCLE, RED_RING) is None


def test_a_thing_is_described_by_what_only_it_has() -> None:
    told = {describe(SCENE, RED_CIRCLE, stream("dev", 0, i)) for i in range(40)}
    assert told == {"circle", "red circle"}


@pytest.mark.parametrize("ability", ASK)
def test_a_value_question_has_one_right_value(ability: str) -> None:
    asked = 0
    for i in range(120):
        rng = stream("dev", 2, i)
        scene = sample_lettering(rng) if ability == "rendered_text" else sample_scene(rng)
        question = ASK[ability](scene, rng)
        if question is not None:
            asked += 1
            assert question.answer not in question.wrong
            assert len(set(question.wrong)) == len(question.wrong) >= 3
    assert asked > 40


@pytest.mark.parametrize("ability", CLAIM)
def test_claims_have_the_truth_that_was_asked_for(ability: str) -> None:
    for i in range(80):
        rng = stream("dev", 4, i)
        scene = sample_lettering(rng) if ability == "rendered_text" else sample_scene(rng)
        question = CLAIM[ability](scene, rng, i % 2 == 0)
        assert question is None or question.answer == ("Yes" if i % 2 == 0 else "No")


def test_existence_claims_match_the_picture() -> None:
    for i in range(200):
        rng = stream("dev", 5, i)
        scene = sample_scene(rng)
        question = CLAIM["existence"](scene, rng, i % 2 == 0)
        if question is not None:
            words = set(question.text.strip("?").split())
            fits = [t for t in scene.things if words & set(COLOURS) <= {t.colour} and words & set(SHAPES) <= {t.shape}]
            assert (question.answer == "Yes") == bool(fits)


def test_counts_match_the_picture() -> None:
    for i in range(200):
        rng = stream("dev", 6, i)
        scene = sample_scene(rng)
        question = ASK["count"](scene, rng)
        assert question is not None
        text = question.text.replace("crosses", "crosss")
        kinds = [c for c in COLOURS if f" {c} objects" in text]
        shapes = [s for s in SHAPES if f" {s}s" in text]
        fits = [t for t in scene.things if (not kinds or t.colour in kinds) and (not shapes or t.shape in shapes)]
        assert question.answer == str(len(fits))


def test_default_prompt_layout() -> None:
    assert multiple_choice("Which?", ["x", "y"], "select", "look") == (
        "Hint: look\nQuestion: Which?\nOptions:\nA. x\nB. y\nPlease select the correct answer from the options above."
    )


def test_lessons_are_deterministic() -> None:
    mix = Mix(ALL, several=0.3)
    one, two = ([lesson(stream("train", 1, i), mix) for i in range(20)] for _ in range(2))
    assert one == two


def test_benchmark_is_deterministic_and_covers_the_taxonomy(rows: list[Row]) -> None:
    assert rows == eyechart.build()
    assert {row.category for row in rows} == set(FAMILIES)
    assert len(rows) >= 600
    assert [row.index for row in rows] == list(range(1, len(rows) + 1))


def test_every_choice_has_its_gold_among_distinct_options(rows: list[Row]) -> None:
    choices = [row for row in rows if row.type == "mcq"]
    assert len(choices) > len(rows) / 2
    for row in choices:
        assert len(set(row.options)) == len(row.options) > LETTERS.index(row.answer)


@pytest.mark.parametrize("n_options", [2, 3, 4])
def test_gold_letters_are_uniform(rows: list[Row], n_options: int) -> None:
    gold = Counter(row.answer for row in rows if len(row.options) == n_options)
    assert max(gold.values()) - min(gold[letter] for letter in LETTERS[:n_options]) <= 1


def test_yes_no_pairs_are_balanced_neighbours(rows: list[Row]) -> None:
    pairs = [(rows[row.index - 2], row) for row in rows if row.same_as is not None]
    assert 2 * len(pairs) == sum(row.type == "yes_no" for row in rows)
    for first, second in pairs:
        assert first.scenes == second.scenes
        assert second.same_as == first.index
        assert {first.answer, second.answer} == {"Yes", "No"}


def test_the_bundled_file_is_what_the_script_writes(rows: list[Row], cells: list[dict[str, str]]) -> None:
    assert [row.question for row in rows] == [cell["question"] for cell in cells]
    assert [row.answer for row in rows] == [cell["answer"] for cell in cells]
    assert [row.options for row in rows] == [
        tuple(cell[letter] for letter in LETTERS if cell[letter]) for cell in cells
    ]


@pytest.mark.parametrize("name", ["eyechart.tsv", "eyechart_photos.tsv", "eyechart_places.tsv", "eyechart_pages.tsv"])
def test_bundled_pictures_decode(name: str) -> None:
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    known: set[str] = set()
    for cell in table:
        image = cell["image"]
        if image.isdigit():
            assert image in known
        else:
            for encoded in json.loads(image) if image.startswith("[") else [image]:
                Image.open(io.BytesIO(base64.b64decode(encoded))).verify()
            known.add(cell["index"])
        if cell.get("type") == "mcq":
            assert cell[cell["answer"]]
