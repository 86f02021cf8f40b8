"""Draws of a local model: by the request alone, whatever stands beside it, and anew each time."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace
from questions_for_models import ask, noise

from snellen.core.output import Generated
from snellen.core.request import Generation
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import open_model

HOT = Generation(max_new_tokens=4, temperature=6.0)


@pytest.fixture(scope="module")
def tiny() -> HuggingFace:
    model = open_model("snellen/tiny")
    assert isinstance(model, HuggingFace)
    return model


def said(model: HuggingFace, settings: list[Generation], repeats: list[int]) -> list[str]:
    """Replies to one question, in one batch."""
    question = ask("Which of these is right?\nA. red\nB. green", noise(1))
    outputs = model.answer_batch(
        [replace(question, settings=one, repeat=repeat) for one, repeat in zip(settings, repeats, strict=True)]
    )
    found = []
    for output in outputs:
        assert isinstance(output, Generated)
        found.append(output.text)
    return found


def test_draws_differ_and_come_again(tiny: HuggingFace) -> None:
    repeats = list(range(24))
    first = said(tiny, [HOT] * 24, repeats)
    assert len(set(first)) > 1
    assert said(tiny, [HOT] * 24, repeats[::-1]) == first[::-1]
    alone = [said(tiny, [HOT], [repeat])[0] for repeat in repeats[:4]]
    assert alone == first[:4]


def test_seeds_are_drawn_together_and_each_by_its_own(tiny: HuggingFace) -> None:
    seeded = [replace(HOT, seed=seed) for seed in range(24)]
    together = said(tiny, seeded, list(range(24)))
    assert together[:4] == [said(tiny, [seeded[at]], [at])[0] for at in range(4)]
    assert together != said(tiny, [replace(one, seed=99) for one in seeded], list(range(24)))


def test_a_temperature_of_0_takes_the_likeliest(tiny: HuggingFace) -> None:
    greedy = Generation(max_new_tokens=4)
    assert len(set(said(tiny, [greedy] * 6, list(range(6))))) == 1


def test_a_small_top_p_takes_the_likeliest(tiny: HuggingFace) -> None:
    narrow = replace(HOT, top_p=1e-6)
    (likeliest,) = said(tiny, [Generation(max_new_tokens=4)], [0])
    assert Counter(said(tiny, [narrow] * 8, list(range(8)))) == {likeliest: 8}


def test_the_single_likeliest_token_is_drawn_with_top_k_1(tiny: HuggingFace) -> None:
    (likeliest,) = said(tiny, [Generation(max_new_tokens=4)], [0])
    one = replace(HOT, top_k=1)
    assert Counter(said(tiny, [one] * 8, list(range(8)))) == {likeliest: 8}
    few = said(tiny, [replace(HOT, top_k=3, max_new_tokens=1)] * 24, list(range(24)))
    assert 1 < len(set(few)) <= 3


def test_penalties_count_each_tokens_own_past() -> None:
    """By hand: the prompt 1, 2 after padding (0), the reply 3, 3. Repetition divides or multiplies,
    presence is subtracted once."""
    import torch

    from snellen.models.hf.generate import _Penalties

    prompt = {"input_ids": torch.tensor([[0, 1, 2]]), "attention_mask": torch.tensor([[0, 1, 1]])}
    scores = torch.tensor([[4.0, 4.0, -4.0, 4.0, 4.0]])
    ids = torch.tensor([[0, 1, 2, 3, 3]])
    repeated = _Penalties(Generation(repetition_penalty=2.0), prompt, 3)(ids, scores)
    assert repeated.tolist() == [[4.0, 2.0, -8.0, 2.0, 4.0]]
    present = _Penalties(Generation(presence_penalty=1.5), prompt, 3)(ids, scores)
    assert present.tolist() == [[4.0, 4.0, -4.0, 2.5, 4.0]]


def test_a_penalty_changes_replies_and_the_others_of_a_batch_do_not(tiny: HuggingFace) -> None:
    free = Generation(max_new_tokens=6, temperature=1.0, seed=1)
    held = replace(free, repetition_penalty=50.0, presence_penalty=2.0)
    together = said(tiny, [held] * 4, [0, 1, 2, 3])
    assert [said(tiny, [held], [repeat])[0] for repeat in range(4)] == together
    assert together != said(tiny, [free] * 4, [0, 1, 2, 3])
