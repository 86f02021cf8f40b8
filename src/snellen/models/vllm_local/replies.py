"""What vLLM returns, as outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snellen.core.output import CandidateScore, Failure, FailureKind, Generated, StopReason, Usage
from snellen.core.request import Generation
from snellen.models.hf.generate import decode_text
from snellen.models.hf.prompt import GRID
from snellen.models.reasoning import end_before

if TYPE_CHECKING:
    from vllm import RequestOutput

_TOO_LONG = ("max_model_len", "maximum context length", "maximum model length", "longer than the")


def read_reply(result: RequestOutput, settings: Generation, tokenizer: Any) -> Generated | Failure:
    """The reply of a request for text, decoded as those of `hf/` models are."""
    completion = result.outputs[0]
    if completion.finish_reason not in ("stop", "length"):
        return Failure("request", f"vLLM ended the reply early: {completion.finish_reason}")
    reason: StopReason = "length" if completion.finish_reason == "length" else "stop"
    text = end_before(decode_text(tokenizer, list(completion.token_ids)), settings.stop)
    return Generated(
        text.strip(),
        reason,
        usage=read_usage(result),
        first_logprobs=_first_logprobs(completion.logprobs, settings.logprobs, tokenizer),
    )


def read_grids(processed: Any) -> list[tuple[int, int] | None]:
    """Rows and columns of patches of each image of a processed prompt; None for an image that the
    engine has already. Empty for processors that make no such grid."""
    items = (processed.get("mm_kwargs") or {}).get("image") or ()
    if any(item is not None and GRID not in item for item in items):
        return []
    grids = (None if item is None else item[GRID].data.tolist() for item in items)
    return [None if grid is None else (grid[-2], grid[-1]) for grid in grids]


def read_usage(result: RequestOutput) -> Usage:
    """Tokens of a request, those of images in the prompt included."""
    return Usage(
        len(result.prompt_token_ids or ()),
        len(result.outputs[0].token_ids),
        cached_tokens=result.num_cached_tokens or 0,
    )


def read_score(result: RequestOutput, start: int) -> CandidateScore | Failure:
    """Sum of the log-probabilities of a prompt's tokens from `start` on."""
    tokens, entries = result.prompt_token_ids, result.prompt_logprobs
    if tokens is None or entries is None or len(entries) != len(tokens):
        return Failure("request", "vLLM gave no log-probabilities of the prompt")
    values = []
    for token, entry in zip(tokens[start:], entries[start:], strict=True):
        if entry is None or token not in entry:
            return Failure("request", "vLLM gave no log-probability of a candidate's token")
        values.append(entry[token].logprob)
    return CandidateScore(float(sum(values)), len(values))


def _first_logprobs(positions: Any, count: int, tokenizer: Any) -> dict[str, float]:
    """The `count` likeliest first tokens. vLLM adds the generated one, if it is not among them."""
    if not count or not positions:
        return {}
    ranked = sorted(positions[0].items(), key=lambda item: item[1].rank or 0)
    return {tokenizer.decode([token]): float(one.logprob) for token, one in ranked[:count]}


def failure_kind(message: str) -> FailureKind:
    """The kind of failure that an error of vLLM's is, by its message."""
    lower = message.lower()
    return "too_long" if any(sign in lower for sign in _TOO_LONG) else "request"
