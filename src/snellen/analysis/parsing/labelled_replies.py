"""How well replies are read or graded, on replies that somebody labelled: precision, recall and
agreement of the rules, of an extractor and of judges, and where their outcomes differ from the
labels (MMBench Fig. 5 gives the agreement of extractors with people).

A label is either what a reply answers ("B", "yes", "Z" for no option), or whether it is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from snellen.core.answer import OUTCOMES, Answer, Found, Outcome, outcome_of
from snellen.core.errors import UsageError
from snellen.core.output import Failure
from snellen.core.record import Pass, Record
from snellen.core.sample import Kind
from snellen.core.summary import Interval
from snellen.data.columns import parse_list
from snellen.extract.choice import read_choice
from snellen.extract.verdicts import GRADE, read_right
from snellen.extract.yes_no import read_yes_no
from snellen.scoring.open_answer import matches
from snellen.stats.intervals import wilson

Meaning = Literal["answer", "right"]
"""What a label says of a reply: its answer, or whether it is right."""
RULES, READER, TOGETHER = "rules", "reader", "together"
_HALF = 0.5
"""A grade from here on counts as right."""
_NO_ANSWER = ("", "z", "none", "n/a")


class LabelledReply(NamedTuple):
    """What a reply means by its label and by a reader, None where it means no answer. `alike` is
    whether the two are the same; `outcome` is how the reader's reading ended."""

    kind: Kind
    label: str | None
    reading: str | None
    alike: bool
    outcome: Outcome


class Measured(NamedTuple):
    """One reader over labelled replies. `meaning` counts those that mean an answer (or are right),
    `read` those that were read as one (or counted right), `right` those read as they are labelled,
    `alike` those on which reading and label agree, no answer included."""

    reader: str
    kind: Kind
    replies: int
    meaning: int
    read: int
    right: int
    alike: int

    @property
    def precision(self) -> Interval | None:
        return wilson(self.right, self.read) if self.read else None

    @property
    def recall(self) -> Interval | None:
        return wilson(self.right, self.meaning) if self.meaning else None

    @property
    def agreement(self) -> Interval:
        return wilson(self.alike, self.replies)


class Ending(NamedTuple):
    """Labelled replies by how their reading ended."""

    reader: str
    outcome: Outcome
    replies: int
    meaning: int
    alike: int


class Readings(NamedTuple):
    meaning: Meaning
    measured: Sequence[Measured]
    endings: Sequence[Ending]
    labelled: int
    """Labels that belong to a reply."""


def labels_meant(named: Mapping[str, str]) -> tuple[Meaning, str]:
    """What the labels of a column say, and the column, from `{"answer": NAME}` or `{"right":
    NAME}`. Raises UsageError."""
    for meaning in get_args(Meaning):
        if list(named) == [meaning]:
            return meaning, named[meaning]
    raise UsageError(
        f"labels {','.join(f'{key}={value}' for key, value in named.items())!r}: expected "
        "answer=COLUMN (what each reply answers) or right=COLUMN (whether it is right)"
    )


def readings_of(
    records: Iterable[Record],
    labels: Mapping[str, str],
    meaning: Meaning,
    names: Mapping[str, str],
) -> Readings:
    """Records held against labels by the id of the row. `names` says what `RULES` and `READER` are
    called: whose rules read, and the extractor or judge that read what they left, if any. A reply
    that nobody could be asked about (failed, missing) is left out."""
    told: dict[str, list[LabelledReply]] = {RULES: [], READER: [], TOGETHER: []}
    labelled = 0
    for record in records:
        for row, one in _rows(record):
            label = labels.get(row)
            if label is None or isinstance(one.output, Failure):
                continue
            labelled += 1
            by_reader = one.extraction is not None or bool(one.verdicts)
            compare = _compared_by(record, one, label, meaning)
            if one.answer is not None and not record.owed:
                told[TOGETHER].append(compare(one.answer))
                if by_reader:
                    told[READER].append(compare(one.answer))
            if meaning == "answer" and (one.by_rules is not None or not one.verdicts):
                told[RULES].append(compare(one.by_rules if by_reader else one.answer))
    if not told[READER] and len(told[RULES]) in (0, len(told[TOGETHER])):
        told = {TOGETHER: told[TOGETHER]}
        names = {**names, TOGETHER: names[RULES]}
    shown = {**names, **({} if TOGETHER in names else {TOGETHER: _both(names)})}
    return Readings(
        meaning,
        [one for role, replies in told.items() for one in _measured(shown[role], replies)],
        [one for role, replies in told.items() for one in _endings(shown[role], replies)],
        labelled,
    )


def _both(names: Mapping[str, str]) -> str:
    return f"{names[RULES]}, then {names[READER]}" if READER in names else names[RULES]


def _rows(record: Record) -> Iterator[tuple[str, Pass]]:
    """The passes that a row of the predictions file stands behind."""
    for number, one in enumerate(record.passes):
        if one.row is not None or number == 0:
            yield one.row or record.id, one


def _compared_by(
    record: Record, one: Pass, label: str, meaning: Meaning
) -> Callable[[Answer | None], LabelledReply]:
    def compare(answer: Answer | None) -> LabelledReply:
        outcome = outcome_of(answer) if answer is not None else "unparsed"
        if meaning == "right":
            right = _is_right(label, record.id)
            counted = record.score is not None and record.score >= _HALF
            alike = record.score is not None and right == counted
            return LabelledReply(record.kind, _if(right), _if(counted), alike, record.outcome)
        wanted = _meant(label, record, one)
        read = answer.value if isinstance(answer, Found) else None
        alike = wanted == read
        if record.kind == "open" and wanted is not None and read is not None:
            alike = matches(read, (wanted,))
        return LabelledReply(record.kind, wanted, read, alike, outcome)

    return compare


def _meant(label: str, record: Record, one: Pass) -> str | None:
    """The answer that a label names, None for no answer. A list is its items, joined by commas."""
    items = parse_list(label)
    if items is not None:
        label = ", ".join(map(str, items))
    if label.strip().casefold().strip("() ") in _NO_ANSWER:
        return None
    if record.kind == "open":
        return label.strip()
    options = one.options or record.options
    found = read_choice(label, options) if record.kind == "choice" else read_yes_no(label)
    if isinstance(found, Found):
        return found.value
    raise UsageError(
        f"the label {label!r} of {record.id} is no answer to its question; expected "
        f"{'an option' if record.kind == 'choice' else 'yes or no'}, or Z for none"
    )


def _is_right(label: str, name: str) -> bool:
    try:
        return float(label) >= _HALF
    except ValueError:
        told = read_right(label)
    if told is None:
        raise UsageError(
            f"the label {label!r} of {name} says neither right nor wrong; expected a word such as "
            "right, wrong, true, false, yes or no, or a number from 0 to 1; what each reply "
            "answers is given with answer=COLUMN"
        )
    return told.values[GRADE] >= _HALF


def _if(right: bool) -> str | None:
    return "right" if right else None


def _measured(reader: str, replies: Sequence[LabelledReply]) -> Iterator[Measured]:
    for kind in dict.fromkeys(one.kind for one in replies):
        held = [one for one in replies if one.kind == kind]
        read = [one for one in held if one.reading is not None]
        yield Measured(
            reader,
            kind,
            len(held),
            sum(one.label is not None for one in held),
            len(read),
            sum(one.alike for one in read),
            sum(one.alike for one in held),
        )


def _endings(reader: str, replies: Sequence[LabelledReply]) -> Iterator[Ending]:
    counts = Counter(one.outcome for one in replies)
    for outcome in OUTCOMES:
        if counts[outcome]:
            held = [one for one in replies if one.outcome == outcome]
            meaning = sum(one.label is not None for one in held)
            yield Ending(reader, outcome, len(held), meaning, sum(one.alike for one in held))
