"""Questions that show several pictures: stories of an album, and captions after two examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from question_commands import decisions

import snellen
from snellen.core.request import Request
from snellen.prompts.choice import prompt
from snellen_curate.open_data import open_items
from snellen_curate.questions.build import make_questions
from snellen_curate.questions.options import QuestionOptions
from snellen_curate.questions.results import QuestionsResult
from snellen_curate.questions.sources import open_images
from snellen_curate.questions.writing import choose_dimensions, load_dimensions

COLOURS = ("red", "green", "blue", "white", "black")
OTHERS = ("yellow", "purple", "orange")
CAPTION = "a {colour} car , a house , a tree , a street , a lamp and a fence"


def script(request: Request) -> str:
    """Asks about the car's colour, restates it as a caption, and tells a story of an album."""
    text = request.messages[1].text()
    if "tell one story" in text:
        shown = len(request.images())
        assert text.count("Picture ") >= shown
        question = {
            "question": f"What is in all {shown} pictures?",
            "answer": "a car",
            "distractors": ["a boat", "a train", "a kite"],
        }
        return json.dumps({"questions": [question]})
    colour = next(colour for colour in COLOURS if f"{colour} car" in text or f": {colour}" in text)
    if "Ask about a property" in text:
        question = {"question": "Which color has the car?", "answer": colour, "distractors": list(OTHERS)}
        return json.dumps({"questions": [question]})
    aspect = "flavour" if colour == "black" else "color"
    wrong = [f"The car is {other}." for other in OTHERS]
    return json.dumps({"aspect": aspect, "statement": f"The car is {colour}.", "wrong": wrong})


def make(folder: Path, out: Path, *names: str) -> QuestionsResult:
    options = QuestionOptions(
        extract=[f"file:{folder / 'facts.jsonl'}"],
        writer=snellen.wrap_model(script),
        dimensions=choose_dimensions(load_dimensions(), names),
    )
    return make_questions(open_images(folder / "pictures"), out, options, progress=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five pictures, of which four belong to one story and one is alone."""
    home = tmp_path_factory.mktemp("cars")
    lines = []
    for number, colour in enumerate(COLOURS):
        name = f"{'trip' if number < 4 else 'alone'}/{number}.png"
        (home / "pictures" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (48, 32), colour).save(home / "pictures" / name)
        lines.append(
            {
                "picture": name,
                "captions": [CAPTION.format(colour=colour)],
                "instances": [{"label": "car", "attributes": [colour]}],
            }
        )
    (home / "facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


def test_a_third_image_is_captioned_after_two_examples(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    result = make(folder, out, "Instance Attribute", "In-Context Captioning")
    assert result.by_dimension == {"In-Context Captioning": 4, "Instance Attribute": 5}
    made = decisions(out)
    # Its aspect was none of those that are asked for, three times.
    dropped = "in-context:alone/4.png/instance-attribute/1"
    assert {name for name, one in made.items() if one.action == "drop"} == {dropped}
    assert made[dropped].rule == "not-json"
    assert len(made[dropped].evidence) == 3
    for item in open_items(out):
        if not item.id.startswith("in-context"):
            continue
        sample = item.sample
        assert len({ref.digest for ref in sample.media}) == 3
        text = sample.question.split("<image>: ")
        assert text[0] == ""
        assert [part.startswith("The car is ") for part in text[1:]] == [True, True]
        assert text[2].endswith(" <image>:")
        # The examples' captions are those of their pictures, and pictures stand where they are.
        shown = item.label("picture").split(", ")
        colours = [COLOURS[int(Path(name).stem)] for name in shown]
        assert f"The car is {colours[0]}. " == text[1]
        assert sample.options[sample.gold[0]] == f"The car is {colours[2]}."
        kinds = [type(part).__name__ for part in prompt(sample)[0].parts]
        assert kinds == ["Text", *["Media", "Text"] * 3]
        assert len(made[item.id].evidence) == 3
    before = (out / "items.jsonl").read_bytes()
    assert make(folder, out, "Instance Attribute", "In-Context Captioning") == result
    assert (out / "items.jsonl").read_bytes() == before


def test_a_story_shows_two_to_four_images_of_one_album(folder: Path, tmp_path: Path) -> None:
    result = make(folder, tmp_path / "set", "Visual Story Understanding")
    assert result.items == 1
    (item,) = open_items(tmp_path / "set")
    assert item.id == "album:trip/visual-story-understanding/1"
    names = item.label("picture").split(", ")
    assert names == sorted(names)
    assert 2 <= len(names) <= 4
    assert len(item.sample.media) == len(names)
    assert item.sample.question == f"What is in all {len(names)} pictures?"
    assert item.label("l2-category") == "Interleaved Image & Text Comprehension"
