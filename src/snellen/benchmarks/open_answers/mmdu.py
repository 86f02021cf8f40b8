"""MMDU: long dialogues about several pictures (Liu et al. 2024, https://arxiv.org/abs/2406.11833).

One example row: index 0, question "['I would like to learn about ... <ImageHere><ImageHere>', 'What
else ...']", answer "['The first ...', '...']", image "['/9j/...', '/9j/...']" (lists as Python
writes them).

Oddities: 110 dialogues of up to 27 turns and 20 pictures; `<ImageHere>` marks where the next
picture stands, and pictures that no mark calls for stand before the first question. The model's own
replies stay in the dialogue, not the references.

A judge marks each reply beside the reference in six dimensions and overall, 0 to 10; the headline
is 10 times the mean overall mark over all turns. A dialogue that outgrows the model's context ends
there: the turns that do not fit earn 0, its outcome is `truncated`, and no earlier turn is ever
dropped to make room. `answered_only` is the mean over the turns that were answered. A dialogue with
a verdict that cannot be read is ungraded (VLMEvalKit counts such a turn as 0 in one row of its
table and leaves it out in another). There is no score without a judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import Judged, first_cell
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges
from snellen.core.benchmark import requires
from snellen.core.errors import DataError
from snellen.core.output import Failure, Generated, Output, ParsedAnswer
from snellen.core.record import Flow, Pass, Record, Steps
from snellen.core.request import Generate, Generation, Media, Message, Part, Ref, Text
from snellen.core.sample import MediaRef, Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.data.columns import parse_list
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import parse_grades
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios

RUBRIC = "mmdu"
OVERALL = "Overall Score"
MARKS = (
    OVERALL,
    "Creativity",
    "Richness",
    "Visual Perception",
    "Logical Coherence",
    "Answer Accuracy",
    "Image Relationship Understanding",
)
ANSWERED = "answered_only"
"""Value: the mean overall mark of the turns that were answered."""
FITTED = "turns_answered"
"""Value: the share of turns that were answered."""
_TOP = 10.0
_SLOT = re.compile(r"<ImageHere>", re.IGNORECASE)


def _sample(row: Row, options: Options) -> Sample:
    """A dialogue: its golds are the references in order, and its hint holds the questions as a JSON
    list. Raises DataError for lists that differ in length."""
    questions = _parse_texts(first_cell(row.cells, "question"))
    references = _parse_texts(first_cell(row.cells, "answer"))
    if not questions or (references and len(references) != len(questions)):
        raise DataError(
            f"{len(questions)} questions and {len(references)} answers; expected two lists of the same length"
        )
    hint = msgspec.json.encode(questions).decode()
    return build_sample(row, question=questions[0], gold=references, hint=hint)


def _parse_texts(text: str) -> tuple[str, ...]:
    items = parse_list(text)
    return (text,) if items is None and text else tuple(map(str, items or ()))


class _DialogueTurn(NamedTuple):
    result: Pass
    verdicts: PanelVerdicts


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask turn by turn, with the model's own replies in the dialogue; a judge grades each reply."""

    def flow(sample: Sample) -> Flow:
        """Ask the turns of a dialogue in order, each with the model's earlier replies, and have
        each reply judged."""
        questions = msgspec.json.decode(sample.hint, type=tuple[str, ...])
        user_turns = user_messages(questions, sample.media)
        dialogue: tuple[Message, ...] = ()
        turns: list[_DialogueTurn] = []
        for number, (question, message) in enumerate(zip(questions, user_turns, strict=True)):
            dialogue = (*dialogue, message)
            output = yield Generate(
                messages=dialogue, ref=Ref(sample.id, number), settings=settings, media=sample.sources()
            )
            turn = yield from _judge_turn(sample, number, question, dialogue, output, panel)
            turns.append(turn)
            if isinstance(output, Failure) or turn.verdicts.failure is not None:
                break
            if isinstance(output, Generated):
                dialogue = (*dialogue, Message("assistant", (Text(output.text),)))
        return _dialogue_record(sample, turns, len(questions), panel)

    return flow


def user_messages(questions: Sequence[str], media: Sequence[MediaRef]) -> tuple[Message, ...]:
    """The user's turns, each image at the next mark. Images without a mark come before the first
    question; marks without an image vanish."""
    marks = sum(len(_SLOT.findall(question)) for question in questions)
    spare = max(0, len(media) - marks)
    remaining = iter(media[spare:])
    messages = []
    for number, question in enumerate(questions):
        parts: list[Part] = []
        if number == 0:
            parts += [Media(ref.kind, ref.digest) for ref in media[:spare]]
        for position, text in enumerate(_SLOT.split(question)):
            ref = next(remaining, None) if position else None
            if ref is not None:
                parts.append(Media(ref.kind, ref.digest))
            if text.strip():
                parts.append(Text(text))
        messages.append(Message("user", tuple(parts)))
    return tuple(messages)


def _judge_turn(
    sample: Sample, index: int, question: str, dialogue: tuple[Message, ...], output: Output, panel: JudgePanel
) -> Steps[_DialogueTurn]:
    """Have judges grade one reply; an empty or refused one gets no verdict."""
    reference = sample.gold[index] if sample.gold else ""
    gold = (reference,) if reference else ()
    if not isinstance(output, Generated):
        return _DialogueTurn(Pass(dialogue, output, gold=gold), PanelVerdicts(()))
    text = output.text.strip()
    no_answer = non_answer(output)
    if no_answer is not None:
        return _DialogueTurn(Pass(dialogue, output, no_answer, gold), PanelVerdicts(()))
    answer = ParsedAnswer(text, "whole reply")
    fields = {"question": question, "reference": reference, "reply": text}
    read = partial(parse_grades, names=MARKS, low=0.0, high=_TOP)
    verdicts = yield from ask_judges(panel, RUBRIC, fields, read, Ref(sample.id, index), about=text)
    return _DialogueTurn(Pass(dialogue, output, answer, gold, verdicts=verdicts.verdicts), verdicts)


def _dialogue_record(sample: Sample, turns: Sequence[_DialogueTurn], turn_count: int, panel: JudgePanel) -> Record:
    """The record of a dialogue, which may have ended early because it outgrew the model's context.

    Turns that did not fit score 0; a failed request fails the dialogue, an unparsed verdict leaves
    it ungraded.
    """
    passes = tuple(turn.result for turn in turns)
    last = turns[-1]
    overflow = isinstance(last.result.output, Failure) and last.result.output.kind == "too_long"
    if isinstance(last.result.output, Failure) and not overflow:
        return build_record(sample, passes)
    answered = turns[:-1] if overflow else turns
    silent = [turn for turn in answered if not isinstance(turn.result.answer, ParsedAnswer)]
    judged_turns = [turn for turn in answered if turn.verdicts.readable]
    if last.verdicts.failure is not None:
        return ungraded_record(sample, passes, last.verdicts)
    if not panel or len(judged_turns) + len(silent) < len(answered):
        return build_record(sample, passes, outcome="truncated" if overflow else None, unscored="ungraded")
    totals = {name: sum(turn.verdicts.grade(name) or 0.0 for turn in judged_turns) / _TOP for name in MARKS}
    values = {name: total / turn_count for name, total in totals.items()}
    values[FITTED] = len(answered) / turn_count
    if answered:
        values[ANSWERED] = totals[OVERALL] / len(answered)
    record = build_record(
        sample,
        passes,
        score=values[OVERALL],
        values=values,
        outcome="truncated" if overflow else "answered" if judged_turns else None,
    )
    return structs.replace(record, failure="too_long") if overflow else record


def summarise_turns(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """Means over turns rather than dialogues, which have up to 27 and as few as one."""
    summary = context.plain(records)
    if summary.headline.value is None:
        return summary
    overall = _turn_metric(OVERALL, context, records, summary.headline)
    metrics = {
        name: _turn_metric(name, context, records, metric) if name in (*MARKS, FITTED) else metric
        for name, metric in summary.metrics.items()
        if name not in (context.plain_headline, OVERALL)
    }
    return structs.replace(summary, headline=overall, metrics={context.plain_headline: overall, **metrics}, bounds=None)


def _turn_sums(name: str, context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of a value over turns: a dialogue weighs as many as it has."""
    added = [
        []
        if record.score is None or name not in record.values or not record.gold
        else [RatioTerm(name, record.values[name] * len(record.gold), len(record.gold))]
        for record in records
    ]
    return sum_of_ratios(added)


def _turn_metric(name: str, context: SummaryContext, records: Sequence[Record], plain: Metric) -> Metric:
    """The mean of a value with the number of a dialogue's turns as weight."""
    sums = _turn_sums(name, context, records)
    if sums is None:
        return plain
    value = sums.of_all()
    return structs.replace(plain, value=value, interval=headline_interval(sums, records))


BENCHMARK = Declaration(
    name="mmdu",
    version="5",
    title="MMDU, long dialogues about several pictures",
    paper="https://arxiv.org/abs/2406.11833",
    provenance="MMDU (CC BY-NC 4.0), as VLMEvalKit's TSV",
    data=single_tsv("https://opencompass.openxlab.space/utils/VLMEval/MMDU.tsv", "848b635a88a078f49aebcc6e39792061"),
    aliases={"MMDU": {}},
    sample=_sample,
    requires=requires("text", "image"),
    max_new_tokens=1024,
    scoring=Judged(flow=_flow, rubrics=(RUBRIC,), must_judge=True, max_judge_tokens=1024),
    headline=Headline(name="score", summarise=summarise_turns, sums=partial(_turn_sums, OVERALL)),
)
