"""Which requests meet in a batch, in which order and after which others, changes no answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from family_table import FAMILIES, skipped
from family_trial import answered, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from questions_for_models import ask, noise, rank

from snellen.core.output import Generated, Output, Ranked
from snellen.core.request import Generate, Generation, Rank
from snellen.models.hf.model import HuggingFace

NAMES = ["Qwen2.5-VL", "SmolVLM", "LLaVA-OneVision", "Gemma 3", "InternVL3", "PaddleOCR-VL"]
"""Positions along three axes, tiles, sliding windows and plain patches."""
WORDS = "Which of these is right? "
SHORT, DRAWN = Generation(max_new_tokens=6), Generation(max_new_tokens=5, temperature=0.9, seed=3)
SMALL, WIDE, TALL = noise(1), noise(2, 70, 40), noise(3, 30, 90)
POOL: list[Generate | Rank] = [
    ask(WORDS + "A. red B. green", SMALL, settings=SHORT),
    ask(WORDS + "A. green B. red", SMALL, settings=SHORT),
    ask(WORDS + "A. red B. green", WIDE, settings=SHORT),
    ask("Is there a star?", WIDE, settings=SHORT),
    ask(WORDS * 4 + "A. red B. green", TALL, settings=SHORT),
    ask("Is there a star?", TALL, settings=DRAWN),
    ask(WORDS + "A. red B. green", SMALL, settings=DRAWN),
    ask(WORDS * 2, settings=SHORT),
    rank("What is it?", ("red", "a dark green square", "yes"), SMALL),
    rank("What is it?", ("no", "a star"), TALL),
    rank(WORDS, ("red", "green")),
]


class Model(NamedTuple):
    shared: HuggingFace
    alone: Sequence[Output]
    """Of each request of the pool, computed by itself without sharing."""


@pytest.fixture(
    scope="module", params=[*NAMES[:2], *(pytest.param(name, marks=pytest.mark.release) for name in NAMES[2:])]
)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    family = FAMILIES[request.param]
    reason = skipped(family)
    if reason is not None:
        pytest.skip(reason)
    folder = family.build(tmp_path_factory.mktemp("model") / "model")
    apart, shared = opened(folder, sharing="off"), opened(folder, batch_size="3")
    alone = [answered(apart.answer_batch([one]))[0] for one in POOL]
    return Model(shared, alone)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(range(len(POOL))), min_size=1, max_size=7), max_size=4))
def test_no_answer_depends_on_its_batch(model: Model, batches: list[list[int]]) -> None:
    """The model goes from batch to batch and example to example with what it kept."""
    for batch in batches:
        outputs = model.shared.answer_batch([POOL[place] for place in batch])
        for place, output in zip(batch, answered(outputs), strict=True):
            same(output, model.alone[place])
    assert model.shared.remarks == (), "nothing was shared"


def same(output: Output, alone: Output) -> None:
    if isinstance(alone, Generated):
        assert isinstance(output, Generated)
        assert (output.text, output.stop_reason, output.usage) == (alone.text, alone.stop_reason, alone.usage)
        return
    assert isinstance(output, Ranked)
    assert isinstance(alone, Ranked)
    for mine, theirs in zip(output.candidates, alone.candidates, strict=True):
        assert mine.tokens == theirs.tokens
        assert mine.logprob == pytest.approx(theirs.logprob, abs=2e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 11])
def test_answers_do_not_depend_on_batch_size(model: Model, size: int) -> None:
    for start in range(0, len(POOL), size):
        outputs = model.shared.answer_batch(POOL[start : start + size])
        for output, alone in zip(answered(outputs), model.alone[start:], strict=False):
            same(output, alone)
