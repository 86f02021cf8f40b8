"""What one family can do through the hf backend, tried on a tiny checkpoint of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from family_parts import Family
from questions_for_models import ask, noise, rank

from snellen.core.output import Failure, Generated, Output, Ranked
from snellen.core.request import Generate, Generation, Rank
from snellen.models.hf.generate import generate_function, is_forced
from snellen.models.hf.model import HuggingFace
from snellen.models.hf.prefetch import PromptPrefetcher
from snellen.models.hf.prefix_sharing import PrefixSharing
from snellen.models.hf.prompt import render, takes_token_types
from snellen.models.hf.tokenise import TokenisedPrompt
from snellen.models.image_cache import ImageCache
from snellen.models.naming.registry import open_model

CANDIDATES = ("red", "a dark green square", "yes")


@dataclass(frozen=True, slots=True)
class Trial:
    """What was seen of a family. Replies, batches, rankings and sharing were compared with the
    model's own `generate` on the way; what differed would have raised."""

    model_type: str
    processor: str
    pictures: int
    """In one prompt."""
    words_alone: bool
    template: str
    """Where the prompt's form came from: the checkpoint's own, or the profile."""
    sharing: str
    """`yes`, or why not."""


def opened(folder: Path, **options: str) -> HuggingFace:
    model = open_model(f"hf/{folder}", {"device": "cpu", "dtype": "float32"} | options)
    assert isinstance(model, HuggingFace)
    return model


def questions(family: Family) -> list[Generate | Rank]:
    """Unlike in length, pictures and their number."""
    one, wide = noise(1), noise(2, 70, 40)
    asked: list[Generate | Rank] = [
        ask("What color is it?", one, settings=SHORT),
        ask("Which option is right? A. red B. green", wide, settings=SHORT),
        ask("Which option is right? A. green B. red", wide, settings=SHORT),
        rank("Is there a square?", CANDIDATES, one),
    ]
    if family.words_alone:
        asked += [ask("yes or no? " * 6, settings=SHORT), rank("Is it red?", CANDIDATES)]
    if family.pictures > 1:
        several = [noise(seed) for seed in range(3, 3 + min(family.pictures, 3) - 1)]
        asked += [
            ask("Is the first above the others?", one, *several, settings=SHORT),
            rank("Are they the same?", CANDIDATES, *several, one),
        ]
    return asked


SHORT = Generation(max_new_tokens=6)


def try_out(family: Family, folder: Path) -> Trial:
    """Raises AssertionError for whatever does not hold."""
    family.build(folder)
    apart, shared = opened(folder, sharing="off"), opened(folder)
    loaded = apart.load()
    shared.adopt(loaded)
    asked = questions(family)
    together = answered(apart.answer_batch(asked))
    alone = [answered(apart.answer_batch([one]))[0] for one in asked]
    same(together, alone, "a batch changed an answer")
    said = {tuple(pair) for pair in map(essence, together)}
    assert len(said) >= len(asked) - 1, f"the answers do not tell the questions apart: {said}"
    for request, output in zip(asked, together, strict=True):
        if isinstance(request, Rank):
            assert scores(output) == pytest.approx(by_hand(apart, request), abs=2e-3)
        else:
            assert isinstance(output, Generated)
            assert output.text == spoken(apart, request), "the model says something else"
    for _ in range(2):
        same(answered(shared.answer_batch(asked)), together, "sharing changed an answer")
    remarks = shared.remarks
    if not remarks:
        assert furthest(shared, asked) <= 1e-4, "sharing changed logits"
    return Trial(
        model_type=loaded.model.config.model_type,
        processor=type(loaded.processor).__name__,
        pictures=family.pictures,
        words_alone=family.words_alone,
        template="profile" if loaded.uses_profile_prompt else "checkpoint",
        sharing=re.sub(r" by [\d.]+% of the largest|: .*", "", remarks[0].split(": ", 1)[1]) if remarks else "yes",
    )


def furthest(model: HuggingFace, asked: Sequence[Generate | Rank]) -> float:
    """By how much logits behind prompts that are read together, their beginnings shared, differ
    from those behind each read by itself, as a share of the largest (of 1 at least).

    Pictures of unlike size take turns; the second time beginnings are known, the third time whole
    prompts."""
    loaded = model.load()
    preparing = PromptPrefetcher(loaded, model.images, 1)
    alike: dict[frozenset[str], list[TokenisedPrompt]] = defaultdict(list)
    for request in asked:
        if isinstance(request, Rank) and is_forced(loaded):
            continue
        for row in preparing.get(request):
            alike[frozenset(row.token_type_inputs)].append(row)
    sharing = PrefixSharing(loaded.model, budget=10**9, batch_size=3)
    sharing.keeps_prompts = True
    found = []
    for rows in alike.values():
        plain = [sharing.logits_unshared(row).float() for row in rows]
        for _ in range(3):
            together = sharing.prefill(rows).logits[:, -1].float()
            for one, other in zip(together, plain, strict=True):
                found.append(float((one - other).abs().max() / max(1.0, other.abs().max())))
    return max(found)


def answered(outputs: Sequence[Output]) -> Sequence[Output]:
    for output in outputs:
        assert not isinstance(output, Failure), output
    return outputs


def same(some: Sequence[Output], others: Sequence[Output], what: str) -> None:
    for one, other in zip(some, others, strict=True):
        if isinstance(one, Generated):
            assert essence(one) == essence(other), what
        else:
            assert scores(one) == pytest.approx(scores(other), abs=2e-3), what


def essence(output: Output) -> list[Any]:
    if isinstance(output, Generated):
        return [output.text, output.stop_reason]
    return [round(score, 2) for score in scores(output)]


def scores(output: Output) -> list[float]:
    assert isinstance(output, Ranked), output
    return [one.logprob for one in output.candidates]


class Forcing:
    """Makes `generate` say some tokens."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.left = list(tokens)

    def __call__(self, _: Any, scores: Any) -> Any:
        only = torch.full_like(scores, -torch.inf)
        only[:, self.left.pop(0)] = 0.0
        return only


def steps_of(model: HuggingFace, request: Generate | Rank, length: int, *changes: Any) -> Any:
    """Logits of each step of the model's own `generate` over its processor's output."""
    loaded = model.load()
    prompt = render(request, loaded, ImageCache(), model.images)
    images: dict[str, Any] = {"images": [list(prompt.images)]} if prompt.images else {}
    if takes_token_types(loaded):
        images["return_mm_token_type_ids"] = True
    context = loaded.processor(text=[prompt.text], return_tensors="pt", **images)
    context.pop("labels", None)
    context = context.to(dtype=torch.float32)
    made = generate_function(loaded)(
        **context,
        max_new_tokens=length,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
        logits_processor=list(changes),
    )
    return [one[0].float() for one in made.logits]


def by_hand(model: HuggingFace, request: Rank) -> list[float]:
    """Log-likelihoods of the candidates while the model is made to say them."""
    loaded = model.load()
    between = loaded.profile.between if loaded.uses_profile_prompt and loaded.profile else ""
    found = []
    for candidate in request.candidates:
        tail = loaded.tokenizer(between + candidate, add_special_tokens=False)["input_ids"]
        forcing = Forcing(tail)
        steps = steps_of(model, request, len(tail), forcing)
        if forcing.left:
            pytest.fail("its generate does not let itself be forced")
        found.append(sum(float(step.log_softmax(-1)[one]) for step, one in zip(steps, tail, strict=True)))
    return found


def spoken(model: HuggingFace, request: Generate) -> str:
    """The likeliest token of each step, as text."""
    loaded = model.load()
    chosen = []
    for step in steps_of(model, request, request.settings.max_new_tokens):
        chosen.append(int(step.argmax()))
        if chosen[-1] in loaded.eos_token_ids:
            chosen.pop()
            break
    text: str = loaded.tokenizer.decode(chosen, skip_special_tokens=True)
    return text.strip()
