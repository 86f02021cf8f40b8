"""How well replies are read or graded, on replies that somebody labelled: precision, recall and
agreement of the rules, of an extractor and of judges, and where their outcomes differ from the
labels (MMBench Fig. 5 gives the agreement of extractors with people).

A label is either what a reply answers ("B", "yes", "Z" for no option), or whether it is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from snellen.core.answer import OUTCOMES, Answer, Outcome, ParsedAnswer, outcome_of
from snellen.core.errors import UsageError
from snellen.core.output import Failure
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
"""What a label says of a reply: its answer, or whether it is right."""
RULES, BY_MODEL, COMBINED = "rules", "reader", "together"
_HALF = 0.5
"""A grade from here on counts as right."""
_NO_ANSWER = ("", "z", "none", "n/a")


class LabelledReply(NamedTuple):
    """What a reply means by its label and by a reader, None where it means no answer. `agrees` is
    whether the two are the same; `outcome` is how the reader's reading ended."""

    kind: Kind
    label: str | None
    parsed_answer: str | None
    agrees: bool
    outcome: Outcome


class ParserAgreement(NamedTuple):
    """One reader over labelled replies. `with_answer` counts those that mean an answer (or are right),
    `parsed` those that were read as one (or counted right), `correct` those read as they are labelled,
    `agrees` those on which reading and label agree, no answer included."""

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
    """Labelled replies by how their reading ended."""

    parser: str
    outcome: Outcome
    replies: int
    with_answer: int
    agreeing: int


class LabelComparison(NamedTuple):
    meaning: LabelMeaning
    by_parser: Sequence[ParserAgreement]
    by_outcome: Sequence[OutcomeAgreement]
    labelled_count: int
    """Labels that belong to a reply."""


def parse_label_column(columns: Mapping[str, str]) -> tuple[LabelMeaning, str]:
    """What the labels of a column say, and the column, from `{"answer": NAME}` or `{"right":
    NAME}`. Raises UsageError."""
    for meaning in get_args(LabelMeaning):
        if list(columns) == [meaning]:
            return meaning, columns[meaning]
    raise UsageError(
        f"labels {','.join(f'{key}={value}' for key, value in columns.items())!r}: expected "
        "answer=COLUMN (what each reply answers) or right=COLUMN (whether it is right)"
    )


def compare_with_labels(
    records: Iterable[Record],
    labels: Mapping[str, str],
    meaning: LabelMeaning,
    names: Mapping[str, str],
) -> LabelComparison:
    """Records held against labels by the id of the row. `names` says what `FRAME_RULES` and `BY_MODEL` are
    called: whose rules read, and the extractor or judge that read what they left, if any. A reply
    that nobody could be asked about (failed, missing) is left out."""
    replies_by_parser: dict[str, list[LabelledReply]] = {RULES: [], BY_MODEL: [], COMBINED: []}
    labelled_count = 0
    for record in records:
        for row, one in _passes_by_row(record):
            label = labels.get(row)
            if label is None or isinstance(one.output, Failure):
                continue
            labelled_count += 1
            by_reader = one.extraction is not None or bool(one.verdicts)
            compare = _label_comparer(record, one, label, meaning)
            if one.answer is not None and not record.is_retryable:
                replies_by_parser[COMBINED].append(compare(one.answer))
                if by_reader:
                    replies_by_parser[BY_MODEL].append(compare(one.answer))
            if meaning == "answer" and (one.by_rules is not None or not one.verdicts):
                replies_by_parser[RULES].append(compare(one.by_rules if by_reader else one.answer))
    if not replies_by_parser[BY_MODEL] and len(replies_by_parser[RULES]) in (
        0,
        len(replies_by_parser[COMBINED]),
    ):
        replies_by_parser = {COMBINED: replies_by_parser[COMBINED]}
        names = {**names, COMBINED: names[RULES]}
    titles = {**names, **({} if COMBINED in names else {COMBINED: _combined_name(names)})}
    return LabelComparison(
        meaning,
        [
            one
            for role, replies in replies_by_parser.items()
            for one in _parser_agreements(titles[role], replies)
        ],
        [
            one
            for role, replies in replies_by_parser.items()
            for one in _outcome_agreements(titles[role], replies)
        ],
        labelled_count,
    )


def _combined_name(names: Mapping[str, str]) -> str:
    return f"{names[RULES]}, then {names[BY_MODEL]}" if BY_MODEL in names else names[RULES]


def _passes_by_row(record: Record) -> Iterator[tuple[str, Pass]]:
    """The passes that a row of the predictions file stands behind."""
    for number, one in enumerate(record.passes):
        if one.row is not None or number == 0:
            yield one.row or record.id, one


def _label_comparer(
    record: Record, one_pass: Pass, label: str, meaning: LabelMeaning
) -> Callable[[Answer | None], LabelledReply]:
    def compare(answer: Answer | None) -> LabelledReply:
        outcome = outcome_of(answer) if answer is not None else "unparsed"
        if meaning == "right":
            right = _parse_right_label(label, record.id)
            counted = record.score is not None and record.score >= _HALF
            alike = record.score is not None and right == counted
            return LabelledReply(
                record.kind, _right_or_none(right), _right_or_none(counted), alike, record.outcome
            )
        label_answer = _parse_answer_label(label, record, one_pass)
        read = answer.value if isinstance(answer, ParsedAnswer) else None
        alike = label_answer == read
        if record.kind == "open" and label_answer is not None and read is not None:
            alike = matches_gold(read, (label_answer,))
        return LabelledReply(record.kind, label_answer, read, alike, outcome)

    return compare


def _parse_answer_label(label: str, record: Record, one_pass: Pass) -> str | None:
    """The answer that a label names, None for no answer. A list is its items, joined by commas."""
    items = parse_list(label)
    if items is not None:
        label = ", ".join(map(str, items))
    if label.strip().casefold().strip("() ") in _NO_ANSWER:
        return None
    if record.kind == "open":
        return label.strip()
    options = one_pass.options or record.options
    found = parse_choice(label, options) if record.kind == "choice" else parse_yes_no(label)
    if isinstance(found, ParsedAnswer):
        return found.value
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
    for kind in dict.fromkeys(one.kind for one in replies):
        of_kind = [one for one in replies if one.kind == kind]
        read = [one for one in of_kind if one.parsed_answer is not None]
        yield ParserAgreement(
            parser,
            kind,
            len(of_kind),
            sum(one.label is not None for one in of_kind),
            len(read),
            sum(one.agrees for one in read),
            sum(one.agrees for one in of_kind),
        )


def _outcome_agreements(
    parser: str, replies: Sequence[LabelledReply]
) -> Iterator[OutcomeAgreement]:
    counts = Counter(one.outcome for one in replies)
    for outcome in OUTCOMES:
        if counts[outcome]:
            of_outcome = [one for one in replies if one.outcome == outcome]
            meaning = sum(one.label is not None for one in of_outcome)
            yield OutcomeAgreement(
                parser, outcome, len(of_outcome), meaning, sum(one.agrees for one in of_outcome)
            )
