"""Log-likelihood of candidate replies after a shared context (SEED-Bench, Sec. 4.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from snellen.core.output import CandidateScore, Failure, Output, Ranked, Usage
from snellen.core.request import Rank
from snellen.models.hf.generate import forced_logprobs, is_forced
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import (
    Prompt,
    adds_special_tokens,
    check_length,
    encode,
    with_reply,
)
from snellen.models.hf.tokenise import shared_prefix_length
from snellen.models.split_batch import split_and_retry


def rank(
    loaded: LoadedModel, request: Rank, prompt: Prompt, policy: str, batch_size: int
) -> Output:
    """Score every candidate by its log-likelihood, `batch_size` in one forward pass.

    Each candidate is tokenised together with the context. It is scored from the end of the longest
    common token prefix of the context alone and all candidates: tokenisers may merge a candidate's
    first letters into the context's last token, and so all are compared on equal terms.
    """
    if not request.candidates:
        raise ValueError("a ranking request without candidates")
    if is_forced(loaded):
        return _rank_forced(loaded, request, prompt, batch_size)
    replies = [
        with_reply(request, prompt, candidate, loaded, policy) for candidate in request.candidates
    ]
    special = adds_special_tokens(loaded, prompt.text)
    tokenised = loaded.tokenizer([prompt.text, *replies], add_special_tokens=special)["input_ids"]
    context, *rows = tokenised
    shared = min(shared_prefix_length(context, row) for row in rows)
    tails = [row[shared:] for row in rows]

    def score(batch: Sequence[int]) -> list[_TailScore]:
        texts = [replies[index] for index in batch]
        inputs = encode(loaded, texts, [prompt.images] * len(batch), "right")
        return _score_tails(loaded, inputs, [tails[index] for index in batch])

    return _score_batches(request, range(len(rows)), score, batch_size)


def _rank_forced(loaded: LoadedModel, request: Rank, prompt: Prompt, batch_size: int) -> Output:
    def score(batch: Sequence[int]) -> list[_TailScore]:
        return [
            _TailScore(candidate.logprob, candidate.tokens, context_tokens)
            for candidate, context_tokens in forced_logprobs(loaded, request, prompt, batch)
        ]

    return _score_batches(request, range(len(request.candidates)), score, batch_size)


def _score_batches(
    request: Rank,
    indices: range,
    score: Callable[[Sequence[int]], list[_TailScore]],
    batch_size: int,
) -> Output:
    """Score candidates batch by batch; the failure of one is the failure of the request."""
    tail_scores: list[_TailScore] = []
    for start in range(0, len(indices), batch_size):
        for tail_score in split_and_retry(indices[start : start + batch_size], score):
            if isinstance(tail_score, Failure):
                return tail_score
            tail_scores.append(tail_score)
    scores = [CandidateScore(tail.logprob, tail.tokens) for tail in tail_scores]
    return ranking_output(request, scores, tail_scores[0].context_tokens)


def ranking_output(request: Rank, scores: Sequence[CandidateScore], context_tokens: int) -> Output:
    """The output of a ranking after a context of `context_tokens` tokens; a Failure if a
    log-likelihood is not finite."""
    for candidate, score in zip(request.candidates, scores, strict=True):
        if not math.isfinite(score.logprob):
            return Failure("nan", f"the log-likelihood of candidate {candidate!r} is not a number")
    return Ranked(
        tuple(scores), usage=Usage(context_tokens + sum(score.tokens for score in scores))
    )


class _TailScore(NamedTuple):
    """Log-likelihood of the last tokens of a prompt."""

    logprob: float
    tokens: int
    context_tokens: int
    """Tokens before the scored ones."""


def _score_tails(loaded: LoadedModel, inputs: Any, tails: Sequence[list[int]]) -> list[_TailScore]:
    """Sum the log-probabilities of each row's last tokens, which must be `tails`.

    Rows are padded on the right. Raises ValueError if the processor's tokens are different ones.
    """
    import torch

    ids = inputs["input_ids"]
    lengths = inputs["attention_mask"].sum(1).tolist()
    check_length(loaded, lengths)
    starts = [length - len(tail) for length, tail in zip(lengths, tails, strict=True)]
    # The logits in one column predict the token in the next, hence the steps back by one. Only
    # the columns from the first one needed to the end are computed: (rows, kept_count, vocab_size).
    first = min(starts) - 1
    kept_count = ids.shape[1] - first
    with torch.inference_mode():
        logits = loaded.model(**inputs, use_cache=False, logits_to_keep=kept_count).logits[
            :, -kept_count:
        ]
    scores = []
    for row, (start, tail) in enumerate(zip(starts, tails, strict=True)):
        targets = ids[row, start : start + len(tail)]
        if targets.tolist() != tail:
            raise ValueError("the processor tokenises the candidate otherwise than the tokenizer")
        steps = logits[row, start - 1 - first : start - 1 - first + len(tail)]
        target_logprobs = steps.float().log_softmax(-1).gather(1, targets[:, None])
        scores.append(_TailScore(float(target_logprobs.sum()), len(tail), start))
    return scores
