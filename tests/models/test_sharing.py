"""Prompts that begin alike are computed once, and no answer changes for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from questions_for_models import ask, noise, rank
from transformers import (
    PaliGemmaConfig,
    PaliGemmaForConditionalGeneration,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from snellen.core.output import Failure, Generated, Ranked
from snellen.core.request import Generation
from snellen.models.hf.model import HuggingFace
from snellen.models.hf.prefix_sharing import PrefixSharing
from snellen.models.hf.shared_generation import Decoder
from snellen.models.hf.tokenise import TokenisedPrompt
from snellen.models.naming.registry import open_model

Folder = Callable[[str], Path]
IMAGE = 5
QUESTION = list(range(30, 60))


def text_of_qwen() -> dict[str, Any]:
    return {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "vocab_size": 300,
        "max_position_embeddings": 512,
        "initializer_range": 0.4,
        "bos_token_id": None,
        "eos_token_id": 17,
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0},
    }


def vision_of_qwen(**more: Any) -> dict[str, Any]:
    return {
        "depth": 2,
        "hidden_size": 32,
        "num_heads": 2,
        "patch_size": 8,
        "spatial_merge_size": 2,
        "initializer_range": 0.4,
        **more,
    }


SIGNS = {
    "image_token_id": IMAGE,
    "video_token_id": 6,
    "vision_start_token_id": 7,
    "vision_end_token_id": 8,
    "bos_token_id": None,
    "eos_token_id": 17,
}


def qwen2() -> Any:
    vision = vision_of_qwen(embed_dim=32, mlp_ratio=2)
    config = Qwen2VLConfig(text_config=text_of_qwen(), vision_config=vision, **SIGNS)
    return Qwen2VLForConditionalGeneration(config)


def qwen2_5() -> Any:
    vision = vision_of_qwen(intermediate_size=48, out_hidden_size=32, fullatt_block_indexes=[1], window_size=32)
    config = Qwen2_5_VLConfig(text_config=text_of_qwen(), vision_config=vision, **SIGNS)
    return Qwen2_5_VLForConditionalGeneration(config)


def qwen3() -> Any:
    vision = vision_of_qwen(
        intermediate_size=48, out_hidden_size=32, num_position_embeddings=64, deepstack_visual_indexes=[0]
    )
    config = Qwen3VLConfig(text_config=text_of_qwen(), vision_config=vision, **SIGNS)
    return Qwen3VLForConditionalGeneration(config)


def qwen_row(height: int, width: int, tail: list[int], name: str) -> TokenisedPrompt:
    """A prompt with one picture of height x width patches, four of which make a token."""
    generator = torch.Generator().manual_seed(ord(name))
    tokens = height * width // 4
    ids = [10, 11, 7] + [IMAGE] * tokens + [8] + tail
    return TokenisedPrompt(
        ids=tuple(ids),
        image_prefix_length=3 + tokens,
        media={
            "pixel_values": torch.randn(height * width, 3 * 2 * 8 * 8, generator=generator),
            "image_grid_thw": torch.tensor([[1, height, width]]),
        },
        token_type_inputs={"mm_token_type_ids": torch.tensor([int(token == IMAGE) for token in ids])},
        image_digests=(name,),
    )


ROWS = [
    qwen_row(4, 4, [*QUESTION, 100, 101], "a"),
    qwen_row(8, 6, [*QUESTION, 100, 103, 104], "b"),
    qwen_row(4, 4, [*QUESTION, 102, 101, 9, 9], "a"),
    qwen_row(8, 6, [40, 41], "b"),
    qwen_row(4, 4, list(range(90, 140)), "a"),
]


@pytest.mark.parametrize("make", [qwen2, qwen2_5, qwen3])
def test_two_pictures_of_unlike_size_in_one_batch(make: Callable[[], Any]) -> None:
    torch.manual_seed(0)
    model = make().eval()
    sharing = PrefixSharing(model, budget=10**8, batch_size=4)
    for _ in range(2):
        together = sharing.prefill(ROWS).logits[:, -1]
        for row, logits in zip(ROWS, together, strict=True):
            torch.testing.assert_close(logits, sharing.logits_unshared(row), atol=1e-4, rtol=0)


@pytest.mark.parametrize("make", [qwen2, qwen2_5, qwen3])
def test_words_are_those_of_transformers(make: Callable[[], Any]) -> None:
    torch.manual_seed(0)
    model = make().eval()
    sharing = PrefixSharing(model, budget=10**8, batch_size=4)
    decoding = Decoder(sharing, None, frozenset([17]))
    found = decoding.decode(sharing.prefill(ROWS), Generation(max_new_tokens=12))
    for row, words in zip(ROWS, found, strict=True):
        ids = torch.tensor([row.ids])
        alone = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            mm_token_type_ids=row.token_type_inputs["mm_token_type_ids"][None],
            **row.media,
            max_new_tokens=12,
            do_sample=False,
            pad_token_id=0,
        )
        assert words == alone[0, len(row.ids) :].tolist()


def opened(folder: Path, **options: str) -> HuggingFace:
    model = open_model(f"hf/{folder}", options)
    assert isinstance(model, HuggingFace)
    return model


def calls_of(module: Any) -> list[int]:
    """Pictures that go through a vision tower from now on, call by call."""
    calls: list[int] = []
    module.register_forward_hook(lambda _, given, out: calls.append(len(out.last_hidden_state)))
    return calls


QUESTIONS = [
    ask(f"What is in the picture? {words} Answer with one word.", noise(seed, size, 40))
    for seed, size in ((1, 40), (2, 70), (3, 40))
    for words in ("A. red B. green", "A. green B. red", "Is it a star?")
]


@pytest.mark.parametrize("family", ["llava", "idefics3", "llama"])
def test_answers_are_the_same_with_and_without(checkpoint: Folder, family: str) -> None:
    folder = checkpoint(family)
    pictures = () if family == "llama" else (noise(1), noise(2))
    words = "Which option is right? " * 8
    requests = [
        *(QUESTIONS if pictures else []),
        ask(words + "red"),
        ask(words + "blue"),
        rank(words, ("red", "a green square", "yes"), *pictures),
        rank("Is there a square?", ("no", "yes"), *pictures[:1]),
    ]
    shared, apart = opened(folder), opened(folder, sharing="off")
    # Twice: with everything new, then from what was kept.
    for _ in range(2):
        for mine, plain in zip(shared.answer_batch(requests), apart.answer_batch(requests), strict=True):
            if isinstance(mine, Ranked) and isinstance(plain, Ranked):
                assert [one.tokens for one in mine.candidates] == [one.tokens for one in plain.candidates]
                assert [one.logprob for one in mine.candidates] == pytest.approx(
                    [one.logprob for one in plain.candidates], abs=1e-4
                )
            else:
                assert isinstance(mine, Generated)
                assert isinstance(plain, Generated)
                assert (mine.text, mine.stop_reason, mine.usage) == (plain.text, plain.stop_reason, plain.usage)
    assert shared.remarks == ()
    assert shared.identity == apart.identity


def test_each_picture_is_looked_at_once(checkpoint: Folder) -> None:
    model = opened(checkpoint("llava"), batch_size="4")
    # The test of whether sharing is safe looks at its pictures more often.
    model.answer_batch([ask("What?", noise(11)), ask("What?", noise(12))])
    calls = calls_of(model.load().model.model.vision_tower)
    model.answer_batch(QUESTIONS)
    model.answer_batch(QUESTIONS[::-1])
    assert sum(calls) == 3


def test_a_model_that_reads_prompts_both_ways_is_asked_apart() -> None:
    """PaliGemma's words see those behind them, so that no prompt begins like another."""
    from snellen.models.hf.batch_size import BatchSizer, BatchSizers
    from snellen.models.hf.loaded import LoadedModel
    from snellen.models.hf.memory import MainMemory
    from snellen.models.hf.shared_generation import SharedGeneration

    torch.manual_seed(0)
    config = PaliGemmaConfig(
        text_config={
            "model_type": "gemma",
            "vocab_size": 300,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "initializer_range": 0.4,
        },
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 16,
            "vision_use_head": False,
        },
        projection_dim=32,
        image_token_index=IMAGE,
    )
    model = PaliGemmaForConditionalGeneration(config).eval()
    loaded = LoadedModel(model, None, None, "cpu", frozenset(), None, 1)
    answering = SharedGeneration(loaded, BatchSizers(*(BatchSizer(4, 4, MainMemory()) for _ in BatchSizers._fields)))
    rows = [
        TokenisedPrompt(
            ids=(IMAGE,) * 4 + (10, *range(30, 50), last),
            image_prefix_length=4,
            media={"pixel_values": torch.randn(1, 3, 32, 32)},
            token_type_inputs={"token_type_ids": torch.zeros(26, dtype=torch.long)},
            image_digests=(str(last),),
        )
        for last in (60, 61)
    ]
    assert not answering.verify(rows)
    assert answering.disabled_reason is not None
    assert "differ" in answering.disabled_reason


def test_batches_are_smaller_once_memory_was_short(checkpoint: Folder) -> None:
    model = opened(checkpoint("llava"), batch_size="8")
    expected = model.answer_batch(QUESTIONS)
    sizes: list[int] = []
    inner = model.load().model

    def forward(*_: Any, **given: Any) -> None:
        sizes.append(len(given["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")

    hook = inner.register_forward_pre_hook(lambda _, args, given: forward(*args, **given), with_kwargs=True)
    again = model.answer_batch(QUESTIONS)
    first = len(sizes)
    final = model.answer_batch(QUESTIONS)
    hook.remove()
    texts = [[one.text for one in outputs if isinstance(one, Generated)] for outputs in (expected, again, final)]
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == len(QUESTIONS)
    assert max(sizes[:first]) > 2
    assert max(sizes[first:]) <= 2, "it did not run out of memory twice"


def test_memory_that_is_short_for_the_test_does_not_end_sharing(checkpoint: Folder) -> None:
    model = opened(checkpoint("llava"), batch_size="4")
    calls: list[int] = []

    def forward(*_: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    hook = model.load().model.register_forward_pre_hook(forward)
    first = model.answer_batch(QUESTIONS)
    assert model.remarks == ()
    looked = calls_of(model.load().model.model.vision_tower)
    again = model.answer_batch(QUESTIONS)
    hook.remove()
    expected = opened(checkpoint("llava"), sharing="off").answer_batch(QUESTIONS)
    for outputs in (first, again):
        assert [one.text for one in outputs if isinstance(one, Generated)] == [
            one.text for one in expected if isinstance(one, Generated)
        ]
    # Two plainly for the test, then each of the three once.
    assert sum(looked) <= 5, "it does not share"


def test_prompts_made_ahead_are_the_same_prompts(checkpoint: Folder) -> None:
    ahead, late = opened(checkpoint("llava")), opened(checkpoint("llava"))
    broken = ask("What?", b"no picture at all")
    for model in (ahead, late):
        model.answer_batch(QUESTIONS[:1])
    for request in (*QUESTIONS, broken, *QUESTIONS):
        ahead.prepare(request)
    outputs = [model.answer_batch([*QUESTIONS, broken]) for model in (ahead, late)]
    texts = [[one.text for one in found[:-1] if isinstance(one, Generated)] for found in outputs]
    assert texts[0] == texts[1]
    for found in outputs:
        assert isinstance(found[-1], Failure)
        assert found[-1].kind == "media"
