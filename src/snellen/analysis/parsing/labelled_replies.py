"""Parsing and grading quality on replies with labels: precision, recall and agreement of the rules,
of an extractor and of judges, and the outcomes on which they differ from the labels (MMBench Fig. 5
gives the agreement of extractors with people).

A label is either the answer of a reply ("B", "yes", "Z" for no option), or whether it is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from snellen.core.errors import UsageError
from snellen.core.output import OUTCOMES, Answer, Failure, Outcome, ParsedAnswer, outcome_of
from snellen.core.record import Pass, Record
from snellen.core.sample import Kind
from snellen.core.summary import Interval
from snellen.data.columns import parse_list
from snellen.extract.choice import parse_choice
from snellen.extract.verdicts import GRADE, parse_correctness
from snellen.extract.yes_no import parse_yes_no
from snellen.scoring.open_answer import matches_gold
from snellen.stats.intervals import wilson

LabelMeaning = Literal["answer", "right"]
"""What a label says about a reply: its answer, or whether it is right."""
RULES, BY_MODEL, COMBINED = "rules", "reader", "together"
_HALF = 0.5
_ASKED = {"place": "a place", "fields": "a record", "page": "a page"}
"""Grades from this value on count as right."""
_NO_ANSWER = ("", "z", "none", "n/a")


class LabelledReply(NamedTuple):
    """The answer of a reply by its label and by a parser, None for no answer. `agrees` says whether
    the two are the same; `outcome` is that of parsing."""

    kind: Kind
    label: str | None
    parsed_answer: str | None
    agrees: bool
    outcome: Outcome


class ParserAgreement(NamedTuple):
    """One parser over labelled replies of one kind. `with_answer` counts labels with an answer (or
    right), `parsed` replies parsed to an answer (or counted right), `correct` those parsed as
    labelled, and `agreeing` those on which parser and label agree, no answer included."""

    parser: str
    kind: Kind
    replies: int
    with_answer: int
    parsed: int
    correct: int
    agreeing: int

    @property
    def precision(self) -> Interval | None:
        return wilson(self.correct, self.parsed) if self.parsed else None

    @property
    def recall(self) -> Interval | None:
        return wilson(self.correct, self.with_answer) if self.with_answer else None

    @property
    def agreement(self) -> Interval:
        return wilson(self.agreeing, self.replies)


class OutcomeAgreement(NamedTuple):
    """Labelled replies with one outcome of parsing."""

    parser: str
    outcome: Outcome
    replies: int
    with_answer: int
    agreeing: int


class LabelComparison(NamedTuple):
    """Parsers against labels, by parser and by outcome."""

    meaning: LabelMeaning
    by_parser: Sequence[ParserAgreement]
    by_outcome: Sequence[OutcomeAgreement]
    labelled_count: int
    """Labels that belong to a reply."""


def parse_label_column(columns: Mapping[str, str]) -> tuple[LabelMeaning, str]:
    """The meaning of a label column, and its name, from `{"answer": NAME}` or `{"right": NAME}`.
    Raises UsageError for anything else."""
    for meaning in get_args(LabelMeaning):
        if list(columns) == [meaning]:
            return meaning, columns[meaning]
    raise UsageError(
        f"labels {','.join(f'{key}={value}' for key, value in columns.items())!r}: expected "
        "one column, of answer (what each reply answers) or of right (whether it is right); with "
        "--columns: label_answer=COLUMN or label_right=COLUMN"
    )


def compare_with_labels(
    records: Iterable[Record], labels: Mapping[str, str], meaning: LabelMeaning, names: Mapping[str, str]
) -> LabelComparison:
    """Compare records with labels by the id of the row. `names` are the titles of `RULES` (the
    parsing rules) and, if there is one, `BY_MODEL` (the extractor or judge for replies that rules
    cannot parse). Replies that no parser could see (failed, missing) are left out."""
    replies_by_parser: dict[str, list[LabelledReply]] = {RULES: [], BY_MODEL: [], COMBINED: []}
    labelled_count = 0
    for record in records:
        for row, one_pass in _passes_by_row(record):
            label = labels.get(row)
            if label is None or isinstance(one_pass.output, Failure):
                continue
            labelled_count += 1
            by_model = one_pass.extraction is not None or bool(one_pass.verdicts)
            compare = _label_comparer(record, one_pass, label, meaning)
            if one_pass.answer is not None and not record.is_retryable:
                replies_by_parser[COMBINED].append(compare(one_pass.answer))
                if by_model:
                    replies_by_parser[BY_MODEL].append(compare(one_pass.answer))
            if meaning == "answer" and (one_pass.by_rules is not None or not one_pass.verdicts):
                replies_by_parser[RULES].append(compare(one_pass.by_rules if by_model else one_pass.answer))
    if not replies_by_parser[BY_MODEL] and len(replies_by_parser[RULES]) in (0, len(replies_by_parser[COMBINED])):
        replies_by_parser = {COMBINED: replies_by_parser[COMBINED]}
        names = {**names, COMBINED: names[RULES]}
    combined = f"{names[RULES]}, then {names[BY_MODEL]}" if BY_MODEL in names else names[RULES]
    titles = {COMBINED: combined, **names}
    return LabelComparison(
        meaning,
        [row for role, replies in replies_by_parser.items() for row in _parser_agreements(titles[role], replies)],
        [row for role, replies in replies_by_parser.items() for row in _outcome_agreements(titles[role], replies)],
        labelled_count,
    )


def _passes_by_row(record: Record) -> Iterator[tuple[str, Pass]]:
    """The passes that correspond to a row of the predictions file."""
    for index, one_pass in enumerate(record.passes):
        if one_pass.row is not None or index == 0:
            yield one_pass.row or record.id, one_pass


def _label_comparer(
    record: Record, one_pass: Pass, label: str, meaning: LabelMeaning
) -> Callable[[Answer | None], LabelledReply]:
    """A function that compares an answer with the label of a pass."""

    def compare(answer: Answer | None) -> LabelledReply:
        outcome = outcome_of(answer) if answer is not None else "unparsed"
        if meaning == "right":
            right = _parse_right_label(label, record.id)
            counted_right = record.score is not None and record.score >= _HALF
            agrees = record.score is not None and right == counted_right
            return LabelledReply(
                record.kind, _right_or_none(right), _right_or_none(counted_right), agrees, record.outcome
            )
        if asked := _ASKED.get(record.kind):
            raise UsageError(f"sample {record.id} asks for {asked}: label its replies as right or wrong")
        label_answer = _parse_answer_label(label, record, one_pass)
        parsed_answer = answer.value if isinstance(answer, ParsedAnswer) else None
        agrees = label_answer == parsed_answer
        if record.kind == "open" and label_answer is not None and parsed_answer is not None:
            agrees = matches_gold(parsed_answer, (label_answer,))
        return LabelledReply(record.kind, label_answer, parsed_answer, agrees, outcome)

    return compare


def _parse_answer_label(label: str, record: Record, one_pass: Pass) -> str | None:
    """The answer that a label names, None for no answer. A list label becomes its items joined by
    commas."""
    items = parse_list(label)
    if items is not None:
        label = ", ".join(map(str, items))
    if label.strip().casefold().strip("() ") in _NO_ANSWER:
        return None
    if record.kind == "open":
        return label.strip()
    options = one_pass.options or record.options
    parsed = parse_choice(label, options) if record.kind == "choice" else parse_yes_no(label)
    if isinstance(parsed, ParsedAnswer):
        return parsed.value
    raise UsageError(
        f"the label {label!r} of {record.id} is no answer to its question; expected "
        f"{'an option' if record.kind == 'choice' else 'yes or no'}, or Z for none"
    )


def _parse_right_label(label: str, name: str) -> bool:
    try:
        return float(label) >= _HALF
    except ValueError:
        parsed = parse_correctness(label)
    if parsed is None:
        raise UsageError(
            f"the label {label!r} of {name} says neither right nor wrong; expected a word such as "
            "right, wrong, true, false, yes or no, or a number from 0 to 1; what each reply "
            "answers is given with answer=COLUMN"
        )
    return parsed.values[GRADE] >= _HALF


def _right_or_none(right: bool) -> str | None:
    return "right" if right else None


def _parser_agreements(parser: str, replies: Sequence[LabelledReply]) -> Iterator[ParserAgreement]:
    for kind in dict.fromkeys(reply.kind for reply in replies):
        of_kind = [reply for reply in replies if reply.kind == kind]
        parsed = [reply for reply in of_kind if reply.parsed_answer is not None]
        yield ParserAgreement(
            parser,
            kind,
            len(of_kind),
            sum(reply.label is not None for reply in of_kind),
            len(parsed),
            sum(reply.agrees for reply in parsed),
            sum(reply.agrees for reply in of_kind),
        )


def _outcome_agreements(parser: str, replies: Sequence[LabelledReply]) -> Iterator[OutcomeAgreement]:
    counts = Counter(reply.outcome for reply in replies)
    for outcome in OUTCOMES:
        if counts[outcome]:
            of_outcome = [reply for reply in replies if reply.outcome == outcome]
            meaning = sum(reply.label is not None for reply in of_outcome)
            yield OutcomeAgreement(parser, outcome, len(of_outcome), meaning, sum(reply.agrees for reply in of_outcome))
