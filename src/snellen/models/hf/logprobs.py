"""Log-likelihood of candidate replies after a shared context (SEED-Bench, Sec. 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from snellen.core.output import CandidateScore, Failure, Output, Ranked, Usage
from snellen.core.request import Rank
from snellen.models.hf.batch_size import BatchSizer, BatchTiming, FinishedBatch, run_batches
from snellen.models.hf.generate import forced_logprobs, is_forced
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import Prompt, adds_special_tokens, check_length, encode, with_reply
from snellen.models.hf.tokenise import shared_prefix_length
from snellen.models.split_batch import split_and_retry


class RenderedRank(NamedTuple):
    """A ranking request with its rendered prompt."""

    request: Rank
    prompt: Prompt


class RankedRequest(NamedTuple):
    """The output of a ranking request, and its part of the time of its batches in seconds."""

    output: Output
    seconds: float


class _CandidateRow(NamedTuple):
    """One candidate of a request, a row of a batch."""

    request: int
    """Index of its request."""
    candidate: str
    text: str
    """The prompt followed by the candidate."""
    tail: list[int]
    """The tokens that are scored; empty for a candidate that must be generated."""


def rank_unshared(
    loaded: LoadedModel, requests: Sequence[RenderedRank], policy: str, sizer: BatchSizer
) -> list[RankedRequest]:
    """Score the candidates of requests with equal numbers of images by their log-likelihood, each
    prompt read from its first token. Batches hold the candidates of several requests.

    Each candidate is tokenised together with the context. It is scored from the end of the longest
    common token prefix of the context alone and all its candidates: tokenisers may merge a
    candidate's first letters into the context's last token, and so all are compared on equal terms.
    """
    prepared = split_and_retry(
        range(len(requests)), lambda indices: [_candidate_rows(loaded, requests[i], i, policy) for i in indices]
    )
    scores: list[list[_TailScore | Failure]] = [[] for _ in requests]
    seconds = [0.0] * len(requests)
    for batch, batch_scores, batch_seconds in _score_rows(loaded, requests, prepared, sizer):
        for row, score in zip(batch, batch_scores, strict=True):
            scores[row.request].append(score)
            seconds[row.request] += batch_seconds / len(batch)
    outputs = []
    for request, rows, row_scores in zip(requests, prepared, scores, strict=True):
        output = rows if isinstance(rows, Failure) else _output(request.request, row_scores)
        outputs.append(output)
    return [RankedRequest(*pair) for pair in zip(outputs, seconds, strict=True)]


def _candidate_rows(loaded: LoadedModel, rendered: RenderedRank, index: int, policy: str) -> list[_CandidateRow]:
    request, prompt = rendered
    if not request.candidates:
        raise ValueError("a ranking request without candidates")
    if is_forced(loaded):
        return [_CandidateRow(index, text, prompt.text, []) for text in request.candidates]
    replies = [with_reply(request, prompt, text, loaded, policy) for text in request.candidates]
    special = adds_special_tokens(loaded, prompt.text)
    tokenised = loaded.tokenizer([prompt.text, *replies], add_special_tokens=special)["input_ids"]
    context, *rows = tokenised
    shared = min(shared_prefix_length(context, row) for row in rows)
    return [
        _CandidateRow(index, candidate, text, row[shared:])
        for candidate, text, row in zip(request.candidates, replies, rows, strict=True)
    ]


def _score_rows(
    loaded: LoadedModel,
    requests: Sequence[RenderedRank],
    prepared: Sequence[list[_CandidateRow] | Failure],
    sizer: BatchSizer,
) -> Iterator[FinishedBatch[_CandidateRow, _TailScore]]:
    """Each batch of rows with its scores and its time in seconds."""

    def score(batch: Sequence[_CandidateRow], timing: BatchTiming) -> list[_TailScore]:
        scores = _score_batch(loaded, requests, batch)
        timing.record_prefill(len(batch))
        return scores

    by_request = [rows for rows in prepared if not isinstance(rows, Failure)]
    unbatched = loaded.profile is not None and loaded.profile.unbatched
    all_rows = [row for rows in by_request for row in rows]
    for rows in by_request if unbatched else [all_rows]:
        yield from run_batches(rows, sizer, score)


def _score_batch(
    loaded: LoadedModel, requests: Sequence[RenderedRank], batch: Sequence[_CandidateRow]
) -> list[_TailScore]:
    prompts = [requests[row.request].prompt for row in batch]
    if is_forced(loaded):
        forced = forced_logprobs(loaded, prompts, [row.candidate for row in batch])
        return [_TailScore(score.logprob, score.tokens, length) for score, length in forced]
    images, videos = [prompt.images for prompt in prompts], [prompt.videos for prompt in prompts]
    inputs = encode(loaded, [row.text for row in batch], images, "right", videos=videos)
    return _score_tails(loaded, inputs, [row.tail for row in batch])


def _output(request: Rank, tail_scores: Sequence[_TailScore | Failure]) -> Output:
    """The output of a request; the failure of one candidate is the failure of the request."""
    scores: list[CandidateScore] = []
    for tail in tail_scores:
        if isinstance(tail, Failure):
            return tail
        scores.append(CandidateScore(tail.logprob, tail.tokens))
    first = tail_scores[0]
    return ranking_output(request, scores, 0 if isinstance(first, Failure) else first.context_tokens)


def ranking_output(request: Rank, scores: Sequence[CandidateScore], context_tokens: int) -> Output:
    """The output of a ranking after a context of `context_tokens` tokens; a Failure if a
    log-likelihood is not finite."""
    for candidate, score in zip(request.candidates, scores, strict=True):
        if not math.isfinite(score.logprob):
            return Failure("nan", f"the log-likelihood of candidate {candidate!r} is not a number")
    return Ranked(tuple(scores), usage=Usage(context_tokens + sum(score.tokens for score in scores)))


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
        logits = loaded.model(**inputs, use_cache=False, logits_to_keep=kept_count).logits[:, -kept_count:]
    scores = []
    for row, (start, tail) in enumerate(zip(starts, tails, strict=True)):
        targets = ids[row, start : start + len(tail)]
        if targets.tolist() != tail:
            raise ValueError("the processor tokenises the candidate otherwise than the tokenizer")
        steps = logits[row, start - 1 - first : start - 1 - first + len(tail)]
        target_logprobs = steps.float().log_softmax(-1).gather(1, targets[:, None])
        scores.append(_TailScore(float(target_logprobs.sum()), len(tail), start))
    return scores
