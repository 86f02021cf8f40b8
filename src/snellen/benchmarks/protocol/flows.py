"""The flow of one sample: asked once, or circularly."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from snellen.core.media import Source
from snellen.core.output import DRAWN, Answer, Failure, Generated, Outcome, Output, ParsedAnswer, Unparsed, outcome_of
from snellen.core.record import Flow, Pass, Record, Steps, Unscored
from snellen.core.request import Generate, Generation, LazyMessages, Message, Ref
from snellen.core.sample import Kind, Sample
from snellen.extract.choice import parse_choice
from snellen.extract.forms import answer_form, parse_form
from snellen.extract.llm import RULE, Extraction, extract_choice, is_unmatched, resolve_answer
from snellen.extract.open_text import parse_open
from snellen.extract.unanswered import FILTER_REFUSAL, model_text
from snellen.extract.yes_no import parse_yes_no
from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate, prompt
from snellen.prompts.rotation import is_rotatable, rotate_options
from snellen.scoring.open_answer import has_same_labels, matches_gold

Circular = Literal["off", "early", "full"]
EXACT_RECORD, INVENTED_FIELDS = "exact_record", "invented_fields"
"""Values of records: 1 if every field is right and none invented; the share of invented fields."""
FOLLOWS_SCHEMA = "follows_schema"
"""Value, where a schema of the reply was asked for: 1 if the whole reply is JSON by it, else 0."""
MATCH_RATE = "match_rate"
"""Value, where there is an extractor: 1 where the rules match the first reply, else 0."""

YesNoParser = Callable[[str, str], Answer]
"""A reply and why it stopped, to what it answers."""

ChoiceParser = Callable[[str, Mapping[str, str], str], Answer]
"""A reply, the options by label and why it stopped, to the label it chooses."""

GoldChoiceParser = Callable[[Sequence[str]], ChoiceParser]
"""The gold labels of a pass, to the reader of its reply: for other tools' rules that look at the
gold while they read."""

OpenParser = Callable[[str, str], Answer]
"""A reply to an open question and why it stopped, to the text of its answer."""

ExtractAnswer = Callable[[Sample, str, Ref], Steps[Extraction]]
"""A sample, its reply and which pass it is, to the answer that the extractor copies out of it."""

GradeFunction = Callable[[str, Sample], float]
"""What an answer that was read earns, 0..1, by the sample's gold. Never called without gold."""


class DrawnCredit(float):
    """What an answer earns that was drawn at random, because the reply names none."""


_YES_NO = ("Yes", "No")
_NOTHING: dict[str, Any] = {}
_GRADED = frozenset({"open", "place", "fields", "page"})
"""Kinds whose answers earn a grade; those of others are right or wrong."""
_DOCUMENTS = frozenset({"fields", "page"})


def equals_gold(answer: str, sample: Sample) -> float:
    """1 for an answer equal to a gold answer after normalising (`scoring.open_answer`), else 0."""
    return float(matches_gold(answer, sample.gold) or has_same_labels(answer, sample.gold))


def against_gold(metric: Callable[[str, Sequence[str]], float]) -> GradeFunction:
    """Turn a metric of an answer and the gold answers into a grade."""

    def grade(answer: str, sample: Sample) -> float:
        return float(metric(answer, sample.gold))

    return grade


@dataclass(frozen=True, slots=True)
class OpenScoring:
    """How open questions are parsed and graded: the one place where their metrics come in.

    `grade` gives `Record.score`, which may be a fraction; each of `secondary` gives a number of
    that name in `Record.values`. A reply without an answer (empty, refused, truncated, unparsed)
    scores 0 in each; a sample without gold and a failure have no score. With `extract` an
    extractor, if the run has one, answers for every reply that is not empty or refused.
    """

    parse: OpenParser = parse_open
    grade: GradeFunction = equals_gold
    secondary: Mapping[str, GradeFunction] = field(default_factory=dict)
    extract: ExtractAnswer | None = None
    parts: Callable[[str, Sample], Mapping[str, float]] | None = None
    """In place of `secondary`, numbers of which each is given only where the gold has what it is of; a
    reply without an answer is graded as an empty one."""


PlaceParser = Callable[[str, str, Sample, Sequence[Sequence[float]]], Answer]
"""A reply, why it stopped, its question, and the sizes at which the model saw the pictures (empty
if unknown), to the text of its `core.place.Places`, or how these are not such as were asked for."""


@dataclass(frozen=True, slots=True)
class PlaceScoring:
    """How places are parsed and graded; `grade` and `secondary` as in `OpenScoring`."""

    parse: PlaceParser
    grade: GradeFunction
    secondary: Mapping[str, GradeFunction] = field(default_factory=dict)
    replies: Callable[[Sample], Sequence[str]] = lambda sample: ()
    """Valid replies, among which guessing models choose."""


EQUALITY = OpenScoring()
"""The answer that a reply marks, equal to a gold answer."""


class PlannedPass(msgspec.Struct, frozen=True, gc=False):
    """One pass to be asked: its options, its gold and the data row that holds it."""

    options: Mapping[str, str]
    gold: tuple[str, ...]
    row: str | None = None


@dataclass(frozen=True, slots=True)
class AskConfig:
    """How questions are asked and their replies parsed."""

    settings: Generation
    extractor: bool = False
    """Whether replies that no rule can match go to the `extractor` role."""
    yes_no: YesNoParser = parse_yes_no
    choice: ChoiceParser = parse_choice
    choice_with_gold: GoldChoiceParser | None = None
    """Reads choices in place of `choice` where there is a gold."""
    open: OpenScoring = EQUALITY
    document: OpenScoring | None = None
    """How records and pages are parsed and graded; None: by `scoring.fields` and `scoring.pages`."""
    place: PlaceScoring | None = None
    """None where no question asks for a place."""
    template: PromptTemplate = DEFAULT_TEMPLATE
    few_shot: Callable[[Sample], FewShotTurns] | None = None
    """Examples that stand before a question, where there are any."""
    by_meaning: bool = False
    """Whether an option's text is right for every option that reads the same, and an open reply is
    read in the form of its gold (see `extract.forms`): by Snellen's rule alone."""


class FewShotTurns(NamedTuple):
    """Questions with their answers, as turns of a conversation, and the bytes of their media."""

    messages: tuple[Message, ...]
    media: Mapping[str, Source]


@dataclass(frozen=True, slots=True)
class SinglePassFlow:
    """Ask once, parse the reply by the rules of the sample's kind, score it."""

    config: AskConfig

    def __call__(self, sample: Sample) -> Flow:
        planned = PlannedPass(sample.options, sample.gold)
        done = yield from _ask_pass(sample, planned, 0, self.config)
        return finish(sample, (done,), self.config)

    def score_reply(self, sample: Sample, output: Output) -> Record:
        """The record of a sample whose reply is at hand, as the flow returns it without an extractor."""
        answer = parse_output(sample, sample, output, self.config)
        return finish(sample, (_graded_pass(sample, sample, output, answer, self.config),), self.config)


def circular_flow(config: AskConfig, mode: Circular) -> Callable[[Sample], Flow]:
    """CircularEval (MMBench Sec. 4.2): right only if every rotation is answered right.

    `early` stops at the first pass that is not right, `full` asks all. Without gold all passes
    are asked. A failed request leaves the whole question unscored. `values["vanilla"]` is the
    score of the first pass, which is VanillaEval.
    """

    def flow(sample: Sample) -> Flow:
        passes = planned_passes(sample)
        done: list[Pass] = []
        for number, planned in enumerate(passes):
            result = yield from _ask_pass(sample, planned, number, config)
            done.append(result)
            # A failed pass decides nothing, so the rest need not be asked: the question is retried.
            if failure_of(result) is not None or (mode == "early" and result.correct is False):
                break
        record = finish(sample, tuple(done), config, saved=len(passes) - len(done), circular=True)
        # Options such as "all of the above" cannot be rotated: the summary says how many there are.
        fixed = sample.kind == "choice" and len(passes) == 1
        missing_rotations = count_missing_rotations(sample)
        if fixed or missing_rotations:
            return msgspec.structs.replace(record, asked_once=fixed, lacking=missing_rotations)
        return record

    return flow


def count_missing_rotations(sample: Sample) -> int:
    """How many rotations the data lack of a question of which they have some."""
    return max(0, len(sample.options) - 1 - len(sample.rotations)) if sample.rotations else 0


def planned_passes(sample: Sample) -> list[PlannedPass]:
    """The passes of a sample: rotations of a choice question, those of the file if it has any."""
    first = PlannedPass(sample.options, sample.gold)
    if sample.kind != "choice":
        return [first]
    if sample.rotations:
        return [first] + [
            PlannedPass(turn.options, (turn.gold,) if turn.gold else (), turn.row) for turn in sample.rotations
        ]
    if not is_rotatable(sample.options):
        return [first]
    gold = sample.gold[0] if sample.gold else None
    shifted = [rotate_options(sample.options, gold, by) for by in range(1, len(sample.options))]
    return [first] + [PlannedPass(turn.options, (turn.gold,) if turn.gold else ()) for turn in shifted]


def _ask_pass(sample: Sample, planned: PlannedPass, index: int, config: AskConfig) -> Steps[Pass]:
    """Ask one pass, parse the reply, and have the extractor parse it if no rule can.

    Messages are built late: images are decoded only when the request is sent.
    """
    messages = LazyMessages(partial(_messages, sample, planned, config))
    ref = Ref(sample.id, index, planned.row)
    output = yield Generate(
        messages=messages,
        ref=ref,
        settings=config.settings,
        media={**config.few_shot(sample).media, **sample.sources()} if config.few_shot else sample.sources(),
        choices=tuple(planned.options) if sample.kind == "choice" else _valid_replies(sample, config),
    )
    # `by_rules` stays what the rules alone make of the reply; `answer` may become the extractor's.
    by_rules = answer = parse_output(sample, planned, output, config)
    extraction = None
    if config.extractor and isinstance(output, Generated):
        steps = _extraction_steps(sample, planned, output, by_rules, ref, config)
        if steps is not None:
            extraction = yield from steps
            answer = resolve_answer(by_rules, extraction.answer)
    done = _graded_pass(sample, planned, output, answer, config, messages.cached_messages(), planned.row)
    if extraction is None:
        return done
    return msgspec.structs.replace(done, extraction=extraction.output, by_rules=by_rules)


def _graded_pass(
    sample: Sample,
    planned: PlannedPass | Sample,
    output: Output,
    answer: Answer | None,
    config: AskConfig,
    messages: tuple[Message, ...] = (),
    row: str | None = None,
) -> Pass:
    earned = credit(sample, planned, answer, config) if answer is not None else None
    if isinstance(earned, DrawnCredit) and isinstance(answer, ParsedAnswer):
        answer = msgspec.structs.replace(answer, rule=DRAWN)
    return Pass(
        messages,
        output,
        answer,
        planned.gold,
        None if earned is None else earned == 1.0,
        # Stored only if it says more than `correct`, and options only if they were rotated: records
        # of plain choices stay small.
        earned if earned not in (None, 0.0, 1.0) else None,
        dict(planned.options) if planned.options is not sample.options else _NOTHING,
        row,
    )


def _valid_replies(sample: Sample, config: AskConfig) -> Sequence[str]:
    if sample.kind == "place" and config.place is not None:
        return config.place.replies(sample)
    return _YES_NO if sample.kind == "yes_no" else ()


def _messages(sample: Sample, planned: PlannedPass, config: AskConfig) -> tuple[Message, ...]:
    messages = prompt(sample, planned.options, config.template)
    return (*config.few_shot(sample).messages, *messages) if config.few_shot else messages


def _extraction_steps(
    sample: Sample, planned: PlannedPass, output: Generated, by_rules: Answer | None, ref: Ref, config: AskConfig
) -> Steps[Extraction] | None:
    """Ask the extractor about a reply; None if it is not needed."""
    if sample.kind == "open":
        extract = config.open.extract
        says = not output.is_refusal and bool(output.text.strip())
        return extract(sample, output.text, ref) if extract and says else None
    if not is_unmatched(output, by_rules):
        return None
    if sample.kind == "yes_no":
        return _extract_yes_no(sample, output.text, ref)
    if not planned.options:
        return None
    return extract_choice(sample.question, planned.options, output.text, ref)


def _extract_yes_no(sample: Sample, reply: str, ref: Ref) -> Steps[Extraction]:
    """Ask the extractor to match a reply with Yes and No; it may give the word for the label."""
    labels = dict(zip("AB", _YES_NO, strict=True))
    extraction = yield from extract_choice(sample.question, labels, reply, ref)
    if isinstance(extraction.answer, ParsedAnswer):
        return Extraction(extraction.output, ParsedAnswer(labels[extraction.answer.value], extraction.answer.rule))
    if isinstance(extraction.answer, Unparsed) and isinstance(extraction.output, Generated):
        word = parse_yes_no(model_text(extraction.output))
        if isinstance(word, ParsedAnswer):
            return Extraction(extraction.output, ParsedAnswer(word.value, RULE))
    return extraction


def parse_output(sample: Sample, planned: PlannedPass | Sample, output: Output, config: AskConfig) -> Answer | None:
    """Parse a reply by the rules of the sample's kind; None if the model failed."""
    if not isinstance(output, Generated):
        return None
    if output.stop_reason == "refusal":
        return FILTER_REFUSAL
    if sample.kind == "choice":
        choice = config.choice_with_gold(planned.gold) if config.choice_with_gold and planned.gold else config.choice
        return choice(output.text, planned.options, output.stop_reason)
    if sample.kind == "yes_no":
        return config.yes_no(output.text, output.stop_reason)
    if sample.kind == "place":
        assert config.place is not None, "a benchmark that asks for places says how these are read"
        # Those of few-shot examples stand before the question's own.
        sizes = output.image_sizes[-len(sample.media) :]
        return config.place.parse(output.text, output.stop_reason, sample, sizes)
    if sample.kind in _DOCUMENTS:
        return _document_scoring(sample.kind, config).parse(output.text, output.stop_reason)
    form = answer_form(sample.gold) if config.by_meaning and config.open.grade is equals_gold else None
    if form is not None:
        return parse_form(output.text, form, sample.gold, stop_reason=output.stop_reason)
    return config.open.parse(output.text, output.stop_reason)


def credit(sample: Sample, planned: PlannedPass | Pass | Sample, answer: Answer, config: AskConfig) -> float | None:
    """The score of an answer, 0..1, which only open questions have in between; None without
    gold."""
    gold = planned.gold
    if not gold:
        return None
    if not isinstance(answer, ParsedAnswer):
        return 0.0
    if sample.kind in _GRADED:
        return _grades(sample, config).grade(answer.value, sample)
    if answer.value in gold:
        return 1.0
    if not config.by_meaning or not _is_text_answer(answer):
        return 0.0
    options = planned.options or sample.options
    words = options.get(answer.value, "").split()
    return float(bool(words) and words in [options.get(label, "").split() for label in gold])


def _grades(sample: Sample, config: AskConfig) -> OpenScoring | PlaceScoring:
    """How an answer of the sample's kind is graded, which is none whose answers are right or wrong."""
    if sample.kind in _DOCUMENTS:
        return _document_scoring(sample.kind, config)
    return config.place if sample.kind == "place" and config.place is not None else config.open


def _document_scoring(kind: Kind, config: AskConfig) -> OpenScoring:
    if config.document is not None:
        return config.document
    return _page() if kind == "page" else _record_fields()


@functools.cache
def _page() -> OpenScoring:
    """The page of a reply, part by part; imported by runs that ask for pages alone."""
    from snellen.benchmarks.protocol.page_grading import page_grades
    from snellen.extract.pages.blocks import parse_page

    grade, parts = page_grades()
    return OpenScoring(parse_page, grade, parts=parts)


@functools.cache
def _record_fields() -> OpenScoring:
    """The JSON of a reply, field by field; imported by runs that ask for records alone."""
    from snellen.extract.json_reply import parse_json_reply
    from snellen.scoring.fields import invented_share, is_exact_record, record_f1

    beside = {EXACT_RECORD: against_gold(is_exact_record), INVENTED_FIELDS: against_gold(invented_share)}
    return OpenScoring(parse_json_reply, against_gold(record_f1), beside)


def _is_text_answer(answer: ParsedAnswer) -> bool:
    """Whether the reply gave an option's text rather than its label.

    The label of an option that reads like the gold option is wrong, as in every published script.
    """
    start, end = answer.span or (0, 0)
    return end - start > 1 or "content" in answer.rule


def finish(
    sample: Sample, passes: tuple[Pass, ...], config: AskConfig, *, saved: int = 0, circular: bool = False
) -> Record:
    """Build the sample's record. The deciding pass gives the outcome: the one that failed, else
    the first that was not right, else the last."""
    first = deciding = passes[-1]
    if len(passes) > 1:
        first = passes[0]
        if failure_of(deciding) is None:
            deciding = next((result for result in passes if not result.correct), deciding)
    failure = failure_of(deciding)
    outcome: Outcome
    unscored: Unscored | None = None
    score = None
    if failure is not None:
        outcome = unscored = "missing" if failure.kind == "missing" else "failed"
    else:
        outcome = outcome_of(deciding.answer) if deciding.answer is not None else "unparsed"
        if deciding.correct is None:
            unscored = "no_gold"
        else:
            score = _pass_score(first) if len(passes) == 1 else min(map(_pass_score, passes))
    answer = first.answer
    has_values = circular or config.extractor or sample.kind in _GRADED or config.settings.response_schema
    # Samples and records are never changed, so that they share their dicts. Fields by place, as names take time.
    return Record(
        sample.id,
        sample.kind,
        sample.question,
        outcome,
        score,
        unscored,
        answer.value if isinstance(answer, ParsedAnswer) else None,
        sample.gold,
        options if type(options := sample.options) is dict else dict(options),
        groups if type(groups := sample.groups) is dict else dict(groups),
        tuple([ref.digest for ref in sample.media]) if sample.media else (),
        None,
        passes,
        _values(sample, passes, config, circular, score) if has_values else _NOTHING,
        saved if unscored is None else 0,
        False,  # `asked_once` and `lacking`: a circular flow adds them
        0,
        failure.kind if failure is not None else None,
        sample.unit,
        (),
        False,
        (),
        None,
        metadata if type(metadata := sample.metadata) is dict else dict(metadata),
    )


def failure_of(result: Pass) -> Failure | None:
    """The failure, of the model or the extractor, that leaves a pass without an answer."""
    output, extraction = result.output, result.extraction
    # Python looks up how to compare classes of structs wherever the class is another one: that costs more.
    if type(output) is not Generated and isinstance(output, Failure):
        return output
    return extraction if extraction is not None and isinstance(extraction, Failure) else None


def _pass_score(result: Pass) -> float:
    return (1.0 if result.correct else 0.0) if result.credit is None else result.credit


def _secondary_grades(sample: Sample, result: Pass, config: AskConfig) -> dict[str, float]:
    """The secondary metrics of an answer."""
    graded = _grades(sample, config)
    answer = result.answer.value if isinstance(result.answer, ParsedAnswer) else None
    if isinstance(graded, OpenScoring) and graded.parts is not None:
        return dict(graded.parts(answer or "", sample))
    return {name: 0.0 if answer is None else grade(answer, sample) for name, grade in graded.secondary.items()}


def _values(
    sample: Sample, passes: tuple[Pass, ...], config: AskConfig, circular: bool, score: float | None
) -> dict[str, float]:
    """Numbers beside the score: VanillaEval, and the scores by the rules alone."""
    first = passes[0]
    if first.correct is None:
        return {}
    values = _secondary_grades(sample, first, config) if sample.kind in _GRADED else {}
    schema = config.settings.response_schema
    if schema and isinstance(first.output, Generated):
        from snellen.scoring.json_schema import follows_schema

        values[FOLLOWS_SCHEMA] = float(follows_schema(first.output.text, schema))
    if circular:
        values["vanilla"] = float(first.correct)
    if config.extractor:
        values[MATCH_RATE] = float(isinstance(_rules_answer(first), ParsedAnswer))
        values["vanilla_by_rules"] = _score_by_rules(sample, first, config)
        if score is not None:
            values["by_rules"] = min(_score_by_rules(sample, result, config) for result in passes)
    return values


def _rules_answer(result: Pass) -> Answer | None:
    return result.answer if result.extraction is None else result.by_rules


def _score_by_rules(sample: Sample, result: Pass, config: AskConfig) -> float:
    answer = _rules_answer(result)
    return (credit(sample, result, answer, config) or 0.0) if answer is not None else 0.0
