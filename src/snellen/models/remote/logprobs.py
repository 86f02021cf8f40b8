"""Log-likelihood of candidate replies from servers that score the text they are given.

`echo`: text completions that repeat the prompt with its log-probabilities (OpenAI's older API,
vLLM, SGLang, llama-cpp-python, Together). `prompt_logprobs`: vLLM's chat completions, pictures
included. As in process, every candidate is tokenised together with the context, and what is scored
begins behind the longest token prefix that the bare context shares with all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from snellen.core.errors import ModelError
from snellen.core.output import CandidateScore, Failure, Output, Ranked, Usage
from snellen.core.request import Rank
from snellen.models.remote.chat import messages_of, usage_of, with_extra
from snellen.models.remote.dialect import (
    Asked,
    Body,
    Pictures,
    Reply,
    mapping,
    number,
    unreadable,
    whole_number,
)
from snellen.models.remote.errors import reported
from snellen.models.remote.http import Wire
from snellen.models.remote.media import written


class Scored(NamedTuple):
    """A whole prompt as the server read it: tokens, and each one's log-probability in nats."""

    tokens: list[str]
    logprobs: list[float | None]
    usage: Usage
    """What this one POST took."""


async def rank(wire: Wire, request: Rank, pictures: Pictures, asked: Asked) -> Output:
    """Scores the bare context and every candidate behind it: one POST for each, all of which the
    usage counts, as the server does."""
    how = _by_chat if asked.setup.rank == "prompt_logprobs" else _by_echo
    if asked.setup.rank == "echo" and pictures:
        return Failure("unsupported", "rank=echo scores text alone; rank=prompt_logprobs, pictures")
    context = await how(wire, request, pictures, asked, None)
    rows = [await how(wire, request, pictures, asked, one) for one in request.candidates]
    shared = min(_common(context.tokens, row.tokens) for row in rows)
    scores = tuple(_score(row, shared) for row in rows)
    for candidate, score in zip(request.candidates, scores, strict=True):
        if not math.isfinite(score.logprob):
            return Failure("nan", f"the log-likelihood of candidate {candidate!r} is not a number")
    return Ranked(scores, _together([context.usage, *(row.usage for row in rows)]))


def _score(row: Scored, begin: int) -> CandidateScore:
    tail = row.logprobs[begin:]
    if not tail or None in tail:
        raise ModelError("the server gave no log-probabilities for the candidate", "request")
    return CandidateScore(sum(value for value in tail if value is not None), len(tail))


async def _by_echo(
    wire: Wire, request: Rank, pictures: Pictures, asked: Asked, candidate: str | None
) -> Scored:
    prompt = "\n".join(message.text() for message in request.messages) + (candidate or "")
    body: Body = {"model": asked.model, "prompt": prompt, "max_tokens": 1, "temperature": 0.0}
    body |= {"echo": True, "logprobs": 1}
    reply = await wire.post("completions", written(with_extra(body, asked), pictures))
    logprobs = mapping(_choice(reply).get("logprobs"))
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    offsets = logprobs.get("text_offset")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        raise _unscored("echo")
    if not all(isinstance(token, str) for token in tokens):
        raise unreadable("tokens", tokens)
    if isinstance(offsets, list) and len(offsets) == len(tokens):
        given = sum(whole_number(offset) < len(prompt) for offset in offsets)
    else:
        given = len(tokens) - 1
    spent = _usage(reply, given)
    read = [_logprob(value) for value in values[:given]]
    return Scored(tokens[:given], read, spent)


async def _by_chat(
    wire: Wire, request: Rank, pictures: Pictures, asked: Asked, candidate: str | None
) -> Scored:
    messages = messages_of(request, pictures, asked)
    begun = candidate is not None
    if begun:
        messages.append({"role": "assistant", "content": candidate})
    body: Body = {
        "model": asked.model,
        "messages": messages,
        "max_tokens": 1,
        "temperature": 0.0,
        "prompt_logprobs": 0,
        "add_generation_prompt": not begun,
        "continue_final_message": begun,
    }
    reply = await wire.post("chat/completions", written(with_extra(body, asked), pictures))
    found = reply.get("prompt_logprobs") or _choice(reply).get("prompt_logprobs")
    if not isinstance(found, list) or len(found) < 2:
        raise _unscored("prompt_logprobs")
    tokens, values = map(list, zip(*(_token(one) for one in found), strict=True))
    return Scored(tokens, values, _usage(reply, len(tokens)))


def _usage(reply: Reply, prompt: int) -> Usage:
    """As the server tells it, else the tokens of the prompt and the one that had to be written."""
    return usage_of(reply.get("usage")) or Usage(prompt, 1)


def _together(several: Sequence[Usage]) -> Usage:
    return Usage(
        sum(one.prompt_tokens for one in several),
        sum(one.completion_tokens for one in several),
        sum(one.reasoning_tokens for one in several),
        sum(one.cached_tokens for one in several),
    )


def _token(entry: object) -> tuple[str, float | None]:
    """One place of `prompt_logprobs`: the prompt's own token stands first in it. The first place
    of all holds none, since nothing comes before it."""
    if not isinstance(entry, dict) or not entry:
        return "", None
    token, value = next(iter(entry.items()))
    return str(token), _logprob(mapping(value).get("logprob"))


def _logprob(value: object) -> float | None:
    """A number as it stands, NaN too, which is an outcome of its own; None for what is none."""
    return value if isinstance(value, float) else number(value)


def _choice(reply: dict[str, Any]) -> Any:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        raise reported(reply) or ModelError("the reply holds no choices", "server")
    return mapping(choices[0])


def _unscored(way: str) -> ModelError:
    return ModelError(
        f"the server does not know rank={way}: it gave no log-probabilities", "request"
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
