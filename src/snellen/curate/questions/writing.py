"""Steps that ask: questions of a picture's description, and checks of each question by models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from snellen.core.flow import Steps
from snellen.core.media import Source
from snellen.core.output import ParsedAnswer
from snellen.core.request import Generation, Media
from snellen.core.sample import MediaRef, Sample, sampling_key
from snellen.curate.asking import ask_json, ask_text
from snellen.curate.questions.balance import LABELS, place_options
from snellen.curate.questions.extraction import VisualFacts, describe
from snellen.curate.questions.prompt_texts import DimensionPrompt, prompt_messages
from snellen.curate.questions.rules import WrittenQuestion, WrittenQuestions
from snellen.extract.choice import parse_choice
from snellen.prompts.choice import prompt

WRITER, REASONER, CHECKER = "writer", "reasoner", "checker"
"""Roles: who writes the questions, those that take reasoning, and who checks options and videos."""
_SETTINGS = Generation(max_new_tokens=2048)
_VERDICT = Generation(max_new_tokens=256)
_REPLY = Generation(max_new_tokens=64)


class _FrameVerdict(Struct, frozen=True):
    answerable: bool
    reason: str = ""


class _DistractorVerdict(Struct, frozen=True):
    too_close: list[int]
    reason: str = ""


class TextVerdict(NamedTuple):
    """What a text-only model chose; None if its reply names no option."""

    model: str
    chosen: str | None
    correct: bool


def write_questions(
    role: str,
    dimension: DimensionPrompt,
    extraction: VisualFacts,
    picture: str,
    media: Sequence[MediaRef] = (),
    *,
    count: int,
) -> Steps[list[WrittenQuestion]]:
    """Up to `count` questions of one dimension; `media` are shown if the dimension says so.

    Raises NotJson and AskFailed.
    """
    shown = tuple(media) if dimension.shows else ()
    messages = prompt_messages(
        "writing",
        *(Media(ref.kind, ref.digest) for ref in shown),
        text="task",
        system="shows" if shown else "system",
        instruction=dimension.text.strip(),
        count=str(count),
        description=describe(extraction),
    )
    sources: Mapping[str, Source] = {ref.digest: ref.source for ref in shown}
    written = yield from ask_json(
        role, messages, WrittenQuestions, picture, media=sources, settings=_SETTINGS
    )
    return written.questions[:count]


def ask_single_frame(
    role: str, written: WrittenQuestion, extraction: VisualFacts, item: str
) -> Steps[str]:
    """Why one frame of the video answers the question, by a model that reads what each moment
    shows (Sec. 3.3.1); "" if it takes several."""
    options = (written.answer, *written.distractors)
    messages = prompt_messages(
        "single_frame",
        question=written.question,
        options="; ".join(sorted(options)),
        answer=written.answer,
        description=describe(extraction),
    )
    verdict = yield from ask_json(role, messages, _FrameVerdict, item, settings=_VERDICT)
    return (verdict.reason or "one frame is enough") if verdict.answerable else ""


def ask_close_distractors(role: str, written: WrittenQuestion, item: str) -> Steps[str]:
    """Which distractors a model finds as right as the answer; "" if none."""
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(written.distractors, 1))
    messages = prompt_messages(
        "distractors", question=written.question, answer=written.answer, distractors=listed
    )
    verdict = yield from ask_json(
        role,
        messages,
        _DistractorVerdict,
        item,
        settings=_VERDICT,
        check=lambda value: (
            "" if all(1 <= one <= len(written.distractors) for one in value.too_close)
            else f"too_close holds numbers from 1 to {len(written.distractors)}"
        ),
    )  # fmt: skip
    named = [repr(written.distractors[number - 1]) for number in verdict.too_close]
    return f"{', '.join(named)}: {verdict.reason or 'as right as the answer'}" if named else ""


def ask_text_only(role: str, written: WrittenQuestion, item: str) -> Steps[TextVerdict]:
    """A text-only model's answer without the picture (Sec. 3.4.1.3)."""
    place = sampling_key("text-only", item)[0] % (len(written.distractors) + 1)
    options = place_options(written.answer, written.distractors, place, item)
    gold = LABELS[place]
    sample = Sample(item, "choice", written.question, (gold,), options)
    reply = yield from ask_text(role, prompt(sample), item, settings=_REPLY)
    answer = parse_choice(reply, options)
    chosen = answer.value if isinstance(answer, ParsedAnswer) else None
    return TextVerdict(role, chosen, chosen == gold)
