"""Answers that are pictures, or a text and a picture (SEED-Bench-H, Sec. 3.5.2 and 3.5.3).

The model draws; CLIP says which candidate picture the drawing is most like; that candidate is the
answer. Where text and picture are asked for, the text must be right first, and only then is
anything drawn: right only if both are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace

from snellen.benchmarks.protocol.ranking import bare_question, build_ranked_record
from snellen.core.media import InlineSource, Source
from snellen.core.output import Compared, Drawn, Generated, ParsedAnswer
from snellen.core.record import Flow, Pass, Record, Steps
from snellen.core.request import CLIP, Compare, Draw, Drawing, Message, Ref, Text
from snellen.core.sample import Sample
from snellen.extract.choice import parse_choice
from snellen.extract.unanswered import non_answer

RULE = "CLIP similarity"

TEXT_ACCURACY = "text"
"""Name of the accuracy of the text alone, where text and picture are asked for."""
LEAD_IN = "Which picture below better fits the description:"
"""What the question files put before the caption that is to be drawn."""


class DrawnImage(NamedTuple):
    """Drawing and comparing, as passes, and the hashes of what was drawn."""

    passes: tuple[Pass, ...]
    digests: tuple[str, ...] = ()


def drawing_flow(settings: Drawing) -> Callable[[Sample], Flow]:
    """Draw the caption, or what comes next, and choose by CLIP."""

    def flow(sample: Sample) -> Flow:
        drawing = yield from draw_and_compare(sample, caption_messages(sample), settings)
        return build_ranked_record(sample, drawing.passes, drawn_images=drawing.digests)

    return flow


def text_then_drawing_flow(text: Callable[[Sample], Flow], settings: Drawing) -> Callable[[Sample], Flow]:
    """Answer by `text` first; draw only after a right answer."""

    def flow(sample: Sample) -> Flow:
        text_record: Record = yield from text(sample)
        if text_record.is_retryable:
            return text_record
        values = {} if text_record.score is None else {TEXT_ACCURACY: text_record.score}
        if text_record.score == 0.0:
            # Two requests, drawing and comparing, became unnecessary.
            return structs.replace(text_record, values=values, saved=text_record.saved + 2)
        drawing = yield from draw_and_compare(sample, illustration_messages(sample, text_record), settings)
        passes = (*text_record.passes, *drawing.passes)
        return build_ranked_record(sample, passes, values=values, drawn_images=drawing.digests)

    return flow


def draw_and_compare(sample: Sample, messages: tuple[Message, ...], settings: Drawing) -> Steps[DrawnImage]:
    """Two passes: the drawing, and CLIP's choice among the candidate images.

    A reply in words (`Generated`) refuses the drawing, or is a recorded letter.
    """
    ref = Ref(sample.id)
    output = yield Draw(messages=messages, ref=ref, settings=settings, media=sample.sources())
    if isinstance(output, Generated):
        answer = non_answer(output) or parse_choice(output.text, sample.options, stop_reason=output.stop_reason)
        value = answer.value if isinstance(answer, ParsedAnswer) else None
        correct = value in sample.gold if sample.gold else None
        return DrawnImage((Pass(messages, output, answer, sample.gold, correct),))
    if not isinstance(output, Drawn):
        return DrawnImage((Pass(messages, output, gold=sample.gold),))
    drawing = Pass(messages, output.without_data(), gold=sample.gold)
    compare = Compare(
        picture=output.images[0],
        candidates=tuple(ref.digest for ref in sample.option_images.values()),
        ref=ref,
        media=_sources(sample, output.data),
        to=CLIP,
    )
    compared = yield compare
    if not isinstance(compared, Compared):
        failed = Pass(compare.messages, compared, gold=sample.gold)
        return DrawnImage((drawing, failed), output.images)
    similarity = dict(zip(sample.option_images, compared.similarities, strict=True))
    label = max(sorted(similarity), key=similarity.__getitem__)
    correct = label in sample.gold if sample.gold else None
    choice = Pass(
        compare.messages, compared, ParsedAnswer(label, RULE), sample.gold, correct, options=dict(sample.options)
    )
    return DrawnImage((drawing, choice), output.images)


def caption_messages(sample: Sample) -> tuple[Message, ...]:
    """The question without its fixed lead-in: a text-to-image model is given the caption alone."""
    bare = sample.question.strip().removeprefix(LEAD_IN).strip()
    return bare_question(replace(sample, question=bare))


def illustration_messages(sample: Sample, text_record: Record) -> tuple[Message, ...]:
    """The question and the answer the model chose, as what is to be illustrated. The paper does
    not say how the picture is asked for; this wording is ours."""
    (question,) = bare_question(sample)
    answer = sample.options.get(text_record.answer or "", "")
    return (Message(question.role, (*question.parts, Text(answer))),)


def _sources(sample: Sample, drawn_images: Mapping[str, bytes]) -> dict[str, Source]:
    sources: dict[str, Source] = {ref.digest: ref.source for ref in sample.option_images.values()}
    return sources | {digest: InlineSource(data) for digest, data in drawn_images.items()}
