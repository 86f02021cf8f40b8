"""Log-likelihood of candidate replies from servers that score their prompt.

`echo`: text completions that repeat the prompt with its log-probabilities (OpenAI's older API,
vLLM, SGLang, llama-cpp-python, Together). `prompt_logprobs`: vLLM's chat completions, with images.
As in process, every candidate is tokenised together with the context, and scored from the end of
the longest token prefix that the context alone shares with all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.errors import ModelError
from snellen.core.output import CandidateScore, Failure, Output, Ranked, Usage
from snellen.core.request import Rank
from snellen.models.remote.chat import first_choice, messages_of, usage_of, with_extra
from snellen.models.remote.dialect import (
    Body,
    MediaByDigest,
    RemoteModelConfig,
    Reply,
    dict_or_empty,
    finite_number,
    token_count,
    unreadable_field,
)
from snellen.models.remote.http import ServerClient
from snellen.models.remote.media import encode_body


class ScoredPrompt(NamedTuple):
    """Tokens of a prompt and their log-probabilities in nats."""

    tokens: list[str]
    logprobs: list[float | None]
    usage: Usage
    """Tokens that this POST used."""


async def rank(client: ServerClient, request: Rank, media: MediaByDigest, config: RemoteModelConfig) -> Output:
    """Score the context alone and with each candidate: one POST each, all counted in the usage."""
    score_prompt = _score_by_chat if config.setup.rank == "prompt_logprobs" else _score_by_echo
    if config.setup.rank == "echo" and media:
        return Failure("unsupported", "rank=echo scores text alone; rank=prompt_logprobs, images")
    context = await score_prompt(client, request, media, config, None)
    prompts = [
        await score_prompt(client, request, media, config, candidate_text) for candidate_text in request.candidates
    ]
    shared = min(_shared_prefix_length(context.tokens, row.tokens) for row in prompts)
    scores = tuple(_score(row, shared) for row in prompts)
    for candidate, score in zip(request.candidates, scores, strict=True):
        if not math.isfinite(score.logprob):
            return Failure("nan", f"the log-likelihood of candidate {candidate!r} is not a number")
    return Ranked(scores, sum((row.usage for row in prompts), context.usage))


def _score(prompt: ScoredPrompt, start: int) -> CandidateScore:
    """Sum of the log-probabilities from token `start` on. Raises ModelError if one is missing."""
    tail = prompt.logprobs[start:]
    if not tail or None in tail:
        raise ModelError("the server gave no log-probabilities for the candidate", "request")
    return CandidateScore(sum(value for value in tail if value is not None), len(tail))


async def _score_by_echo(
    client: ServerClient, request: Rank, media: MediaByDigest, config: RemoteModelConfig, candidate: str | None
) -> ScoredPrompt:
    """Score the prompt with `echo`: the server repeats it and generates one more token.

    Raises ModelError if the reply has no log-probabilities of the prompt.
    """
    prompt = "\n".join(message.text() for message in request.messages) + (candidate or "")
    body: Body = {"model": config.model, "prompt": prompt, "max_tokens": 1, "temperature": 0.0}
    body |= {"echo": True, "logprobs": 1}
    reply = await client.post("completions", encode_body(with_extra(body, config), media))
    logprobs = dict_or_empty(first_choice(reply).get("logprobs"))
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    offsets = logprobs.get("text_offset")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        raise _no_logprobs_error("echo")
    if not all(isinstance(token, str) for token in tokens):
        raise unreadable_field("tokens", tokens)
    # Offsets, if there are any, tell where the prompt ends; else one generated token follows it.
    if isinstance(offsets, list) and len(offsets) == len(tokens):
        prompt_length = sum(token_count(offset) < len(prompt) for offset in offsets)
    else:
        prompt_length = len(tokens) - 1
    usage = _usage(reply, prompt_length)
    prompt_logprobs = [_logprob(value) for value in values[:prompt_length]]
    return ScoredPrompt(tokens[:prompt_length], prompt_logprobs, usage)


async def _score_by_chat(
    client: ServerClient, request: Rank, media: MediaByDigest, config: RemoteModelConfig, candidate: str | None
) -> ScoredPrompt:
    """Score the chat with vLLM's `prompt_logprobs`; the candidate is an unfinished last message.

    Raises ModelError if the reply has no log-probabilities of the prompt.
    """
    messages = messages_of(request, media, config)
    has_candidate = candidate is not None
    if has_candidate:
        messages.append({"role": "assistant", "content": candidate})
    body: Body = {
        "model": config.model,
        "messages": messages,
        "max_tokens": 1,
        "temperature": 0.0,
        "prompt_logprobs": 0,
        "add_generation_prompt": not has_candidate,
        "continue_final_message": has_candidate,
    }
    reply = await client.post("chat/completions", encode_body(with_extra(body, config), media))
    entries = reply.get("prompt_logprobs") or first_choice(reply).get("prompt_logprobs")
    if not isinstance(entries, list) or len(entries) < 2:
        raise _no_logprobs_error("prompt_logprobs")
    tokens, values = map(list, zip(*(_token(entry) for entry in entries), strict=True))
    return ScoredPrompt(tokens, values, _usage(reply, len(tokens)))


def _usage(reply: Reply, prompt: int) -> Usage:
    """Usage by the server, else the tokens of the prompt and the one generated token."""
    return usage_of(reply.get("usage")) or Usage(prompt, 1)


def _token(entry: object) -> tuple[str, float | None]:
    """Token and log-probability of one position of `prompt_logprobs`, whose first entry is the
    prompt's token. The first position has none, since nothing precedes it."""
    if not isinstance(entry, dict) or not entry:
        return "", None
    token, value = next(iter(entry.items()))
    return str(token), _logprob(dict_or_empty(value).get("logprob"))


def _logprob(value: object) -> float | None:
    """A number, including NaN, which is an outcome; None for anything else."""
    return value if isinstance(value, float) else finite_number(value)


def _no_logprobs_error(method: str) -> ModelError:
    return ModelError(f"the server does not know rank={method}: it gave no log-probabilities", "request")


def _shared_prefix_length(first: Sequence[str], second: Sequence[str]) -> int:
    for index, (first_token, second_token) in enumerate(zip(first, second, strict=False)):
        if first_token != second_token:
            return index
    return min(len(first), len(second))
