"""The models that come with the package, as a user opens them."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw
from questions_for_models import ask, noise, rank

from snellen.core.output import Generated, Ranked
from snellen.core.request import Generation
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import open_model

NAMES = ("snellen/tiny", "snellen/tiny-early")
COLOURS = {"red": (214, 40, 40), "green": (44, 160, 44), "blue": (31, 80, 200)}
SHORT = Generation(max_new_tokens=6)


def circle(colour: str) -> bytes:
    image = Image.new("RGB", (128, 128), (240, 240, 240))
    ImageDraw.Draw(image).ellipse((36, 36, 92, 92), fill=COLOURS[colour])
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module", params=NAMES)
def model(request: pytest.FixtureRequest) -> HuggingFace:
    opened = open_model(request.param)
    assert isinstance(opened, HuggingFace)
    return opened


def test_a_bundled_model_is_named_as_such(model: HuggingFace) -> None:
    assert model.identity.provider == "snellen"
    assert model.identity.facts["dtype"] == "float32"
    assert model.capabilities.inputs == {"text", "image"}
    assert model.capabilities.log_likelihood


def test_a_batch_does_not_change_its_answers(model: HuggingFace) -> None:
    requests = [
        ask("What color is the circle?", circle("red"), settings=SHORT),
        ask("What color is the circle?" + " Answer with one word." * 3, circle("blue")),
        ask("Which is it?\nA. red\nB. green\nAnswer with the option's letter.", circle("green")),
        ask("In the second picture: what color is the circle?", circle("red"), circle("blue")),
        ask("Is there a red circle? Please answer yes or no.", noise(1)),
        ask("What color?", settings=SHORT),
    ]
    alone = [model.answer_batch([request])[0] for request in requests]
    texts = [output.text for output in alone if isinstance(output, Generated)]
    together = [o.text for o in model.answer_batch(requests) if isinstance(o, Generated)]
    assert together == texts
    assert len(texts) == len(requests)


def test_tiny_sees_colours() -> None:
    model = open_model("snellen/tiny")
    assert isinstance(model, HuggingFace)
    outputs = model.answer_batch(
        [ask("What color is the circle?", circle(colour), settings=SHORT) for colour in COLOURS]
    )
    said = [output.text.lower() for output in outputs if isinstance(output, Generated)]
    assert said == list(COLOURS)
    for colour in COLOURS:
        request = rank("What color is the circle?", tuple(COLOURS), circle(colour))
        [ranked] = model.answer_batch([request])
        assert isinstance(ranked, Ranked)
        scores = [candidate.logprob for candidate in ranked.candidates]
        assert list(COLOURS)[scores.index(max(scores))] == colour
