"""Replies that were cut at their token limit are asked for again, with a larger limit.

The first replies stay in the store and in the records. The question is asked anew, not continued:
servers differ in whether and how they go on with a reply that was begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from msgspec.structs import replace

from snellen.core.output import Failure, Generated, Output
from snellen.core.record import CutReply, Flow, Pass, Record, every_pass
from snellen.core.request import Generate
from snellen.core.sample import Sample
from snellen.engine.loop.request_broker import MAIN


def extend_truncated(flow: Callable[[Sample], Flow], limit: int) -> Callable[[Sample], Flow]:
    """A flow that asks the model once more, with `limit` tokens, whenever a reply was cut at a
    lower limit. The flow goes on with the new reply, and its record keeps the cut one beside it
    (`Pass.cut_reply`). If the model's context is too short for `limit`, the cut reply stays."""
    return partial(_ask_again_if_cut, flow, limit)


def extension_remark(records: Iterable[Record], limit: int) -> str:
    """How many replies were asked for again with `limit` tokens, as a sentence."""
    replies = extended = still = 0
    limits: set[int] = set()
    for record in records:
        for done in every_pass(record):
            replies += 1
            if done.cut_reply is not None:
                extended += 1
                limits.add(done.cut_reply.max_new_tokens)
                still += is_cut(done.output)
    if not extended:
        return f"no reply was cut, so none was asked for again with {limit:,} tokens"
    lower = " or ".join(f"{each:,}" for each in sorted(limits))
    return (
        f"token limits are mixed: {extended:,} of {replies:,} replies were cut at {lower} tokens "
        f"and asked for again with {limit:,}; {still or 'none'} of them "
        f"{'were' if still > 1 else 'was'} cut there too"
    )


def is_cut(output: Output) -> bool:
    """Whether a reply reached its token limit."""
    return isinstance(output, Generated) and output.stop_reason == "length"


def _ask_again_if_cut(flow: Callable[[Sample], Flow], limit: int, sample: Sample) -> Flow:
    cut_replies: list[tuple[Output, CutReply]] = []
    """Each longer reply, with the one that it replaces."""
    steps = flow(sample)
    try:
        request = next(steps)
        while True:
            output = yield request
            if isinstance(request, Generate) and _is_extendable(request, output, limit):
                settings = replace(request.settings, max_new_tokens=limit)
                longer = yield replace(request, settings=settings)
                if not (isinstance(longer, Failure) and longer.kind == "too_long"):
                    assert isinstance(output, Generated)
                    cut_reply = CutReply(request.settings.max_new_tokens, output)
                    cut_replies.append((longer, cut_reply))
                    output = longer
            request = steps.send(output)
    except StopIteration as end:
        record: Record = end.value
        if not cut_replies:
            return record
        passes = tuple(_with_cut_reply(each, cut_replies) for each in record.passes)
        return replace(record, passes=passes)


def _is_extendable(request: Generate, output: Output, limit: int) -> bool:
    is_shorter = request.settings.max_new_tokens < limit
    return request.to == MAIN and is_shorter and is_cut(output)


def _with_cut_reply(done: Pass, cut_replies: Iterable[tuple[Output, CutReply]]) -> Pass:
    for longer, cut_reply in cut_replies:
        # By identity: two passes may have equal replies.
        if done.output is longer:
            return replace(done, cut_reply=cut_reply)
    return done
