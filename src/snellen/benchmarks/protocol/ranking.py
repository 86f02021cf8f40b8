"""Answer ranking: the option whose text the model finds likeliest (SEED-Bench-H, Sec. 3.5.1).

The options are never shown and no letter is generated, so neither their order nor the model's
instruction following matters. The paper leaves open how options of different length are compared:
the headline takes the mean log-likelihood per token of the option's text, and the sum is always
computed too (`values["accuracy_sum"]`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from snellen.core.output import (
    CandidateScore,
    Failure,
    FailureKind,
    Generated,
    Outcome,
    Output,
    ParsedAnswer,
    Ranked,
    outcome_of,
)
from snellen.core.record import Flow, Pass, Record, Steps, Unscored
from snellen.core.request import Message, Rank, Ref
from snellen.core.sample import Sample
from snellen.extract.choice import parse_choice
from snellen.prompts.choice import PromptTemplate, prompt

RULE = "likelihood per token"
SUM = "accuracy_sum"
"""Name of the accuracy by the sum of the log-likelihoods."""
NORMALISATION = "mean log-likelihood per token; the sum beside it"


def is_ranking(parameters: Mapping[str, str]) -> bool:
    """Whether a benchmark with these parameters ranks texts instead of asking for replies."""
    return parameters.get("normalisation") == NORMALISATION


_QUESTION_TEMPLATE = PromptTemplate(question="{question}")


class RankedPass(NamedTuple):
    """A pass that ranked the options, and whether the sum would have been right."""

    result: Pass
    sum_correct: bool | None


def ranked_flow(sample: Sample) -> Flow:
    """Rank the options of a choice question; 1 if the gold option is likeliest, else 0."""
    ranking = yield from rank_options(sample)
    values = {} if ranking.sum_correct is None else {SUM: float(ranking.sum_correct)}
    return build_ranked_record(sample, (ranking.result,), values=values)


def rank_options(sample: Sample) -> Steps[RankedPass]:
    """Ask for the log-likelihood of every option's text after the media and the question alone.

    Texts are sent sorted and once each, so that the request, its stored reply and its rounding do
    not depend on the order of the options. A recorded reply (`Generated`) is parsed as the letter
    or text that was ranked first.
    """
    messages = bare_question(sample)
    texts = tuple(sorted(set(sample.options.values())))
    output = yield Rank(messages=messages, ref=Ref(sample.id), candidates=texts, media=sample.sources())
    if isinstance(output, Generated):
        answer = parse_choice(output.text, sample.options, stop_reason=output.stop_reason)
        value = answer.value if isinstance(answer, ParsedAnswer) else None
        correct = value in sample.gold if sample.gold else None
        return RankedPass(Pass(messages, output, answer, sample.gold, correct), None)
    if not isinstance(output, Ranked):
        return RankedPass(Pass(messages, output, gold=sample.gold), None)
    scores = dict(zip(texts, output.candidates, strict=True))
    by_mean = likeliest({text: mean_logprob(score) for text, score in scores.items()})
    by_sum = likeliest({text: sum_logprob(score) for text, score in scores.items()})
    # In the order of the options, as a reader of the record expects them.
    in_order = Ranked(tuple(scores[text] for text in sample.options.values()), output.usage, output.seconds)
    label = next(label for label, text in sample.options.items() if text == by_mean)
    return RankedPass(
        Pass(messages, in_order, ParsedAnswer(label, RULE), sample.gold, _is_gold(sample, by_mean)),
        _is_gold(sample, by_sum),
    )


def bare_question(sample: Sample) -> tuple[Message, ...]:
    """The media and the question's bare text, without options or instructions."""
    return prompt(sample, {}, _QUESTION_TEMPLATE)


def mean_logprob(score: CandidateScore) -> float:
    """Mean log-likelihood per token, in nats; a text without tokens can never win."""
    return score.logprob / score.tokens if score.tokens else float("-inf")


def sum_logprob(score: CandidateScore) -> float:
    """Log-likelihood of the whole text, in nats."""
    return score.logprob if score.tokens else float("-inf")


def likeliest(scores: Mapping[str, float]) -> str:
    """The text of the highest score; of equal scores, the text that sorts first."""
    return max(sorted(scores), key=scores.__getitem__)


def build_ranked_record(
    sample: Sample,
    passes: tuple[Pass, ...],
    *,
    values: dict[str, float] | None = None,
    saved: int = 0,
    drawn_images: tuple[str, ...] = (),
) -> Record:
    """The sample's record: right only if every pass that gave an answer was right.

    The outcome is that of the last pass, which decided. `drawn_images` are the digests of images
    that the model drew.
    """
    last = passes[-1]
    outcome, unscored = outcome_of_last(last)
    answers = [result for result in passes if result.answer is not None]
    answer = last.answer.value if isinstance(last.answer, ParsedAnswer) else None
    image_digests = tuple(ref.digest for ref in (*sample.media, *sample.option_images.values()))
    return Record(
        id=sample.id,
        kind=sample.kind,
        question=sample.question,
        outcome=outcome,
        score=float(all(result.correct for result in answers)) if unscored is None else None,
        unscored=unscored,
        answer=answer,
        gold=sample.gold,
        options=dict(sample.options),
        groups=dict(sample.groups),
        metadata=dict(sample.metadata),
        media=tuple(dict.fromkeys((*image_digests, *drawn_images))),
        passes=passes,
        values=values or {},
        saved=saved if unscored is None else 0,
        failure=failure_kind(last.output),
    )


def outcome_of_last(last: Pass) -> tuple[Outcome, Unscored | None]:
    """Outcome of a sample by its last pass."""
    if isinstance(last.output, Failure):
        missing = last.output.kind == "missing"
        return ("missing", "missing") if missing else ("failed", "failed")
    outcome = outcome_of(last.answer) if last.answer is not None else "unparsed"
    return outcome, None if last.correct is not None else "no_gold"


def failure_kind(output: Output) -> FailureKind | None:
    """What went wrong, if the output is a failure."""
    return output.kind if isinstance(output, Failure) else None


def _is_gold(sample: Sample, text: str) -> bool | None:
    """Whether an option's text is a gold option's text."""
    if not sample.gold:
        return None
    return any(sample.options.get(label) == text for label in sample.gold)
