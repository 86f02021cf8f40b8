"""What of a reply is its text: it ends before a stop string, and thoughts are split off, by the tags
that reasoning models put around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from snellen.core.output import Generated, Output, StopReason

TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
)
"""Opening and closing tag: DeepSeek-R1 and Qwen3, Claude-like prompts, Gemma, Seed, OpenThinker
and LLaMA-o1, Kimi-VL, Magistral."""
_FIRST_SIGN = re.compile(f"[{re.escape(''.join({tag[0] for pair in TAGS for tag in pair}))}]")
SOLUTION_TAGS = ("<|begin_of_solution|>", "<|end_of_solution|>")


class SplitReply(NamedTuple):
    """A reply and its thoughts. `stop_reason` is "length" for a thought that never ended; the text
    is empty then, since a thought is not an answer."""

    text: str
    reasoning: str | None
    stop_reason: StopReason


def end_before(text: str, stops: Sequence[str]) -> str:
    """A text up to the first of these strings; the whole text without one."""
    return text[: min((place for stop in stops if (place := text.find(stop)) >= 0), default=len(text))]


def split_reasoning(reply: str, stop_reason: StopReason = "stop", starts_in_thought: bool = False) -> SplitReply:
    """Split a reply into thoughts and text.

    A thought is at the start of the reply. If the chat template has opened it, the reply has only
    the closing tag. Tags elsewhere belong to the text. With `starts_in_thought` the chat template
    opens a thought, so that a reply cut before any closing tag is all thought.
    """
    tags = TAGS if _FIRST_SIGN.search(reply) else ()
    start = reply.lstrip()
    for opening, closing in tags:
        if start.startswith(opening):
            thought, closed, remaining = start[len(opening) :].partition(closing)
            if not closed:
                return SplitReply("", thought.strip(), "length")
            return SplitReply(_strip_solution_tags(remaining), thought.strip() or None, stop_reason)
    # A closing tag without its opening tag before it: the thought began in the prompt.
    for opening, closing in tags:
        thought, closed, remaining = reply.partition(closing)
        if closed and opening not in thought:
            return SplitReply(_strip_solution_tags(remaining), thought.strip() or None, stop_reason)
    if starts_in_thought and stop_reason == "length":
        return SplitReply("", reply.strip() or None, "length")
    return SplitReply(reply, None, stop_reason)


def opens_thought(prompt: str) -> bool:
    """Whether a prompt ends with the opening tag of a thought, so that the reply continues it."""
    return prompt.rstrip().endswith(tuple(opening for opening, _ in TAGS))


def without_thoughts(output: Output, starts_in_thought: bool = False) -> Output:
    """Move thoughts in the text of an output, if any, to its field `reasoning`."""
    if not isinstance(output, Generated) or output.reasoning is not None:
        return output
    split = split_reasoning(output.text, output.stop_reason, starts_in_thought)
    if split.reasoning is None and split.text == output.text:
        return output
    return msgspec.structs.replace(output, text=split.text, reasoning=split.reasoning, stop_reason=split.stop_reason)


def _strip_solution_tags(text: str) -> str:
    text = text.strip()
    for tag in SOLUTION_TAGS:
        text = text.removeprefix(tag).removesuffix(tag)
    return text.strip()
