"""Answers that are pictures, driven by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from seed_files import COLOURS, disc, seed_h

from snellen.benchmarks.abilities.seedbench.image_answers import (
    LEAD_IN,
    RULE,
    TEXT_ACCURACY,
    drawing_flow,
    text_then_drawing_flow,
)
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.ranking import ranked_flow
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.media import InlineSource
from snellen.core.output import CandidateScore, Compared, Drawn, Failure, Generated, Output, Ranked
from snellen.core.record import run_flow
from snellen.core.request import CLIP, Compare, Draw, Drawing, Rank, Request, request_digest
from snellen.core.sample import MediaRef, Sample

DRAWING = disc("green", 32)
NAME = hashlib.sha256(DRAWING).hexdigest()


def sample(question: str = f"{LEAD_IN} A green disc.", gold: str = "B") -> Sample:
    pictures = {}
    for letter, colour in zip("ABCD", COLOURS, strict=True):
        data = disc(colour)
        pictures[letter] = MediaRef(hashlib.sha256(data).hexdigest(), InlineSource(data))
    options = dict(zip("ABCD", COLOURS, strict=True))
    return Sample("1", "choice", question, (gold,), options, option_images=pictures)


class Model:
    """Says `said` likeliest, draws the green disc, and finds option B most alike."""

    def __init__(self, said: str = "green") -> None:
        self.said = said
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Output:
        self.asked.append(request)
        if isinstance(request, Rank):
            return Ranked(tuple(CandidateScore(-float(t != self.said), 1) for t in request.candidates))
        if isinstance(request, Draw):
            return Drawn((NAME,), data={NAME: DRAWING})
        assert isinstance(request, Compare)
        return Compared((0.2, 0.9, 0.1, 0.3))


def test_a_drawing_is_compared_with_every_candidate() -> None:
    model = Model()
    record = run_flow(drawing_flow(Drawing(seed=3))(sample()), model)
    draw, compare = model.asked
    assert isinstance(draw, Draw)
    assert isinstance(compare, Compare)
    assert draw.messages[0].text() == "A green disc."
    assert draw.settings.seed == 3
    assert compare.to == CLIP
    assert compare.picture == NAME
    assert compare.media[NAME].read() == DRAWING
    assert len(compare.candidates) == 4
    assert (record.answer, record.score) == ("B", 1.0)
    assert NAME in record.media
    drawn, chosen = record.passes
    assert drawn.output == Drawn((NAME,))
    assert chosen.answer is not None
    assert chosen.answer.rule == RULE  # type: ignore[union-attr]
    assert run_flow(drawing_flow(Drawing())(sample(gold="A")), Model()).score == 0.0


def test_a_text_that_is_wrong_draws_nothing() -> None:
    model = Model(said="red")
    record = run_flow(text_then_drawing_flow(ranked_flow, Drawing())(sample("What does it look like?")), model)
    assert [type(one) for one in model.asked] == [Rank]
    assert (record.score, record.saved, record.values) == (0.0, 2, {TEXT_ACCURACY: 0.0})


@pytest.mark.parametrize(("gold", "said", "score"), [("B", "green", 1.0), ("A", "red", 0.0)])
def test_text_and_picture_must_both_be_right(gold: str, said: str, score: float) -> None:
    model = Model(said)
    question = sample("What does it look like?", gold)
    record = run_flow(text_then_drawing_flow(ranked_flow, Drawing())(question), model)
    assert [type(one) for one in model.asked] == [Rank, Draw, Compare]
    assert (record.score, record.values) == (score, {TEXT_ACCURACY: 1.0})
    assert model.asked[1].messages[0].text() == f"What does it look like?\n{said}"


@pytest.mark.parametrize("fails", [Rank, Draw, Compare])
def test_a_failure_anywhere_leaves_the_sample_unscored(fails: type) -> None:
    model = Model()

    def failing(request: Request) -> Output:
        return Failure("out_of_memory", "full") if isinstance(request, fails) else model(request)

    record = run_flow(text_then_drawing_flow(ranked_flow, Drawing())(sample("What?")), failing)
    assert (record.score, record.unscored, record.failure) == (None, "failed", "out_of_memory")


@pytest.mark.parametrize("letter", ["B", "A"])
@pytest.mark.parametrize("flow", [drawing_flow(Drawing()), text_then_drawing_flow(ranked_flow, Drawing())])
def test_recorded_letters_replace_drawings(flow: Callable[[Sample], object], letter: str) -> None:
    record = run_flow(flow(sample()), lambda _: Generated(letter))  # type: ignore[arg-type,var-annotated]
    assert record.score == float(letter == "B")


LEVEL_3 = "seedbench:version=H,level=L3"
OPTIONS = f"{LEVEL_3},draw_size=320x256,draw_steps=4,draw_guidance=2.5,draw_seed=3"


def drawings(spec: str, data: Path) -> list[Draw]:
    benchmark = open_benchmark(spec, Variant(data=str(data), clip=True))
    found: list[Draw] = []
    for one in benchmark.samples(benchmark.open()):
        model = Model(one.options[one.gold[0]])
        run_flow(benchmark.flow(one), model)
        found += [request for request in model.asked if isinstance(request, Draw)]
    return found


def test_options_about_drawing_reach_every_drawing_and_the_record(tmp_path: Path) -> None:
    data = seed_h(tmp_path, 1)
    requests = drawings(OPTIONS, data)
    wanted = Drawing(width=320, height=256, steps=4, guidance=2.5, seed=3)
    assert len(requests) == 3, "the caption, what comes next, and the text with its picture"
    assert all(request.settings == wanted for request in requests)
    plain = drawings(LEVEL_3, data)
    assert all(request.settings == Drawing() for request in plain)
    digests = {request_digest(request, "") for request in (*requests, *plain)}
    assert len(digests) == 6
    parameters = open_benchmark(OPTIONS, Variant(data=str(data))).parameters
    told = {name: value for name, value in parameters.items() if name.startswith("draw_")}
    assert told == {"draw_size": "320x256", "draw_steps": "4", "draw_guidance": "2.5", "draw_seed": "3"}
    plainly = open_benchmark(LEVEL_3, Variant(data=str(data))).parameters
    assert not any(name.startswith("draw_") for name in plainly)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("level=L3,draw_size=512", "width and height in pixels"),
        ("level=L3,draw_size=0x9", "width and height in pixels"),
        ("level=L3,draw_steps=0", "a whole number from 1 to"),
        ("level=L3,draw_seed=-1", "a whole number from 0 to"),
        ("level=L3,draw_guidance=much", "a number from 0 to 1000"),
        ("draw_steps=4", "level=L3 alone"),
    ],
)
def test_mistakes_about_drawing_give_one_sentence(options: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        open_benchmark(f"seedbench:version=H,{options}")
