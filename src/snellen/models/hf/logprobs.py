"""Log-likelihood of candidate replies after a shared context (SEED-Bench, Sec. 4.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from snellen.core.output import CandidateScore, Failure, Output, Ranked, Usage
from snellen.core.request import Rank
from snellen.models.hf.generate import is_forced, said
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.prompt import (
    Prompt,
    adds_special_tokens,
    check_length,
    encode,
    with_reply,
)
from snellen.models.hf.tokenise import common
from snellen.models.split_batch import halving


def rank(loaded: Loaded, request: Rank, prompt: Prompt, policy: str, at_once: int) -> Output:
    """Scores every candidate, `at_once` in one forward pass.

    Each is tokenised together with the context; what is scored begins behind the longest token
    prefix that the bare context shares with all of them, so that candidates whose first letters
    melt into the context's last token are still compared on equal terms.
    """
    if not request.candidates:
        raise ValueError("a ranking request without candidates")
    if is_forced(loaded):
        return _said(loaded, request, prompt, at_once)
    replies = [
        with_reply(request, prompt, candidate, loaded, policy) for candidate in request.candidates
    ]
    special = adds_special_tokens(loaded, prompt.text)
    tokenised = loaded.tokenizer([prompt.text, *replies], add_special_tokens=special)["input_ids"]
    context, *rows = tokenised
    shared = min(common(context, row) for row in rows)
    tails = [row[shared:] for row in rows]

    def score(batch: Sequence[int]) -> list[_Scored]:
        texts = [replies[index] for index in batch]
        inputs = encode(loaded, texts, [prompt.images] * len(batch), "right")
        return _score_tails(loaded, inputs, [tails[index] for index in batch])

    return _collected(request, range(len(rows)), score, at_once)


def _said(loaded: Loaded, request: Rank, prompt: Prompt, at_once: int) -> Output:
    def score(batch: Sequence[int]) -> list[_Scored]:
        return [
            _Scored(one.logprob, one.tokens, context)
            for one, context in said(loaded, request, prompt, batch)
        ]

    return _collected(request, range(len(request.candidates)), score, at_once)


def _collected(
    request: Rank,
    places: range,
    score: Callable[[Sequence[int]], list[_Scored]],
    at_once: int,
) -> Output:
    scored: list[_Scored] = []
    for start in range(0, len(places), at_once):
        for found in halving(places[start : start + at_once], score):
            if isinstance(found, Failure):
                return found
            scored.append(found)
    scores = [CandidateScore(found.logprob, found.tokens) for found in scored]
    return ranked(request, scores, scored[0].context)


def ranked(request: Rank, scores: Sequence[CandidateScore], context: int) -> Output:
    """The output of a ranking, whose candidates follow `context` tokens; a Failure where a
    likelihood is no finite number."""
    for candidate, score in zip(request.candidates, scores, strict=True):
        if not math.isfinite(score.logprob):
            return Failure("nan", f"the log-likelihood of candidate {candidate!r} is not a number")
    return Ranked(tuple(scores), usage=Usage(context + sum(score.tokens for score in scores)))


class _Scored(NamedTuple):
    logprob: float
    tokens: int
    context: int
    """Tokens before the scored ones."""


def _score_tails(loaded: Loaded, inputs: Any, tails: Sequence[list[int]]) -> list[_Scored]:
    """Sums over each row's last tokens, which must be `tails`; rows are padded on the right."""
    import torch

    ids = inputs["input_ids"]
    lengths = inputs["attention_mask"].sum(1).tolist()
    check_length(loaded, lengths)
    begins = [length - len(tail) for length, tail in zip(lengths, tails, strict=True)]
    # The logits at one place are about the next token, hence the steps back by one.
    first = min(begins) - 1
    kept = ids.shape[1] - first
    with torch.inference_mode():
        logits = loaded.model(**inputs, use_cache=False, logits_to_keep=kept).logits[:, -kept:]
    found = []
    for row, (begin, tail) in enumerate(zip(begins, tails, strict=True)):
        targets = ids[row, begin : begin + len(tail)]
        if targets.tolist() != tail:
            raise ValueError("the processor tokenises the candidate otherwise than the tokenizer")
        steps = logits[row, begin - 1 - first : begin - 1 - first + len(tail)]
        chosen = steps.float().log_softmax(-1).gather(1, targets[:, None])
        found.append(_Scored(float(chosen.sum()), len(tail), begin))
    return found
