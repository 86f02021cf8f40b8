"""Answers that are pictures, driven by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from seed_files import COLOURS, disc

from snellen.benchmarks.image_answers import (
    LEAD_IN,
    RULE,
    TEXT,
    drawn_answer,
    text_then_picture,
)
from snellen.benchmarks.ranking import ranked
from snellen.core.flow import drive
from snellen.core.media import InlineSource
from snellen.core.output import (
    CandidateScore,
    Compared,
    Drawn,
    Failure,
    Generated,
    Output,
    Ranked,
)
from snellen.core.request import CLIP, Compare, Draw, Drawing, Rank, Request
from snellen.core.sample import MediaRef, Sample

DRAWING = disc("green", 32)
NAME = hashlib.sha256(DRAWING).hexdigest()


def sample(question: str = f"{LEAD_IN} A green disc.", gold: str = "B") -> Sample:
    pictures = {}
    for letter, colour in zip("ABCD", COLOURS, strict=True):
        data = disc(colour)
        pictures[letter] = MediaRef(hashlib.sha256(data).hexdigest(), InlineSource(data))
    options = dict(zip("ABCD", COLOURS, strict=True))
    return Sample("1", "choice", question, (gold,), options, pictures=pictures)


class Model:
    """Says `said` likeliest, draws the green disc, and finds option B most alike."""

    def __init__(self, said: str = "green") -> None:
        self.said = said
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Output:
        self.asked.append(request)
        if isinstance(request, Rank):
            return Ranked(
                tuple(CandidateScore(-float(t != self.said), 1) for t in request.candidates)
            )
        if isinstance(request, Draw):
            return Drawn((NAME,), data={NAME: DRAWING})
        assert isinstance(request, Compare)
        return Compared((0.2, 0.9, 0.1, 0.3))


def test_a_drawing_is_compared_with_every_candidate() -> None:
    model = Model()
    record = drive(drawn_answer(Drawing(seed=3))(sample()), model)
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
    assert drive(drawn_answer(Drawing())(sample(gold="A")), Model()).score == 0.0


def test_a_text_that_is_wrong_draws_nothing() -> None:
    model = Model(said="red")
    record = drive(text_then_picture(ranked, Drawing())(sample("What does it look like?")), model)
    assert [type(one) for one in model.asked] == [Rank]
    assert (record.score, record.saved, record.values) == (0.0, 2, {TEXT: 0.0})


@pytest.mark.parametrize(("gold", "said", "score"), [("B", "green", 1.0), ("A", "red", 0.0)])
def test_text_and_picture_must_both_be_right(gold: str, said: str, score: float) -> None:
    model = Model(said)
    question = sample("What does it look like?", gold)
    record = drive(text_then_picture(ranked, Drawing())(question), model)
    assert [type(one) for one in model.asked] == [Rank, Draw, Compare]
    assert (record.score, record.values) == (score, {TEXT: 1.0})
    assert model.asked[1].messages[0].text() == f"What does it look like?\n{said}"


@pytest.mark.parametrize("fails", [Rank, Draw, Compare])
def test_a_failure_anywhere_leaves_the_sample_unscored(fails: type) -> None:
    model = Model()

    def failing(request: Request) -> Output:
        return Failure("out_of_memory", "full") if isinstance(request, fails) else model(request)

    record = drive(text_then_picture(ranked, Drawing())(sample("What?")), failing)
    assert (record.score, record.unscored, record.failure) == (None, "failed", "out_of_memory")


@pytest.mark.parametrize("letter", ["B", "A"])
@pytest.mark.parametrize("flow", [drawn_answer(Drawing()), text_then_picture(ranked, Drawing())])
def test_recorded_letters_stand_for_drawings(flow: Callable[[Sample], object], letter: str) -> None:
    record = drive(flow(sample()), lambda _: Generated(letter))  # type: ignore[arg-type,var-annotated]
    assert record.score == float(letter == "B")
