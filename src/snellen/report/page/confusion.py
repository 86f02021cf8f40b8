"""Confusion tables: gold against given answers of closed questions, and frequent wrong answers to
open ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple, Protocol

from snellen.core.output import Outcome
from snellen.core.sample import Kind

MAX_LABELS = 10
"""Labels of a table; rarer ones are counted together."""
MAX_MISTAKES = 8
"""Frequent wrong answers to open questions."""
OTHER = "other"
UNREAD = "none read"
_MAX_TEXT = 40
"""Characters of an open answer that is counted; longer ones hardly occur twice."""
_MAX_PAIRS = 50_000
"""Different pairs of open answers that are counted."""
_MIN_TABLE = 10
"""Minimum number of questions for a table of answers."""


class AnsweredSample(Protocol):
    """The counted part of a sample; of several passes, the first."""

    @property
    def kind(self) -> Kind: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def score(self) -> float | None: ...
    @property
    def answer(self) -> str | None: ...
    @property
    def gold(self) -> tuple[str, ...]: ...


class ConfusionCell(NamedTuple):
    """The questions with one gold answer that were given one answer."""

    samples: int
    share: float
    """Share of the questions with this gold answer, 0..1."""
    is_right: bool


class ConfusionRow(NamedTuple):
    """The answers to the questions with one gold answer."""

    gold: str
    cells: tuple[ConfusionCell, ...]
    samples: int


class AnswerShare(NamedTuple):
    """How often one answer is right, and how often it was given."""

    label: str
    gold: int
    given: int
    gold_share: float
    given_share: float


class ConfusionTable(NamedTuple):
    """Answers against gold, for the questions of one kind."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[ConfusionRow, ...]
    shares: tuple[AnswerShare, ...]
    samples: int


class OpenMistake(NamedTuple):
    """A wrong answer that was given several times to questions with one gold answer."""

    gold: str
    answer: str
    samples: int


class AnswerTally:
    """Counts pairs of gold and given answers while samples are read."""

    def __init__(self) -> None:
        self._closed: defaultdict[Kind, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._open: Counter[tuple[str, str]] = Counter()

    def add(self, sample: AnsweredSample) -> None:
        """Count a sample; one without score or gold is left out."""
        if sample.score is None or not sample.gold:
            return
        answer = UNREAD if sample.answer is None else sample.answer
        # Of several right answers, the one that was given.
        gold = answer if answer in sample.gold else sample.gold[0]
        if sample.kind in ("place", "fields", "page"):
            return  # no two places, records or pages are the same answer
        if sample.kind != "open":
            self._closed[sample.kind][gold, answer] += 1
            return
        is_short = max(len(gold), len(answer)) <= _MAX_TEXT
        is_counted = (gold, answer) in self._open or len(self._open) < _MAX_PAIRS
        if sample.score <= 0 and sample.answer and is_short and is_counted:
            self._open[gold, answer] += 1

    def tables(self) -> list[ConfusionTable]:
        """A table for each kind of closed question of which there are enough."""
        titles: dict[Kind, str] = {"choice": "multiple choice", "yes_no": "yes or no"}
        return [
            _confusion_table(titles[kind], pairs)
            for kind, pairs in sorted(self._closed.items())
            if pairs.total() >= _MIN_TABLE
        ]

    def mistakes(self) -> list[OpenMistake]:
        """Wrong answers to open questions that were given more than once, the commonest first."""
        common = sorted(self._open.items(), key=lambda item: (-item[1], item[0]))
        return [OpenMistake(gold, answer, samples) for (gold, answer), samples in common[:MAX_MISTAKES] if samples > 1]


def _confusion_table(title: str, pairs: Counter[tuple[str, str]]) -> ConfusionTable:
    """A table of gold (rows) against given answers (columns) with shares in 0..1; rare labels are
    merged into one row and column."""
    golds, given = Counter[str](), Counter[str]()
    for (gold, answer), samples in pairs.items():
        golds[gold] += samples
        given[answer] += samples
    labels = _table_labels(golds, given)
    counts = Counter[tuple[str, str]]()
    for (gold, answer), samples in pairs.items():
        row = gold if gold in labels else OTHER
        counts[row, answer if answer in (*labels, UNREAD) else OTHER] += samples
    rows_labels = [*labels, OTHER] if any(gold == OTHER for gold, _ in counts) else labels
    columns = [*labels, *(x for x in (OTHER, UNREAD) if any(answer == x for _, answer in counts))]
    total = pairs.total()
    rows = []
    for gold in rows_labels:
        size = sum(counts[gold, answer] for answer in columns)
        cells = tuple(
            ConfusionCell(counts[gold, answer], counts[gold, answer] / size if size else 0.0, gold == answer != OTHER)
            for answer in columns
        )
        rows.append(ConfusionRow(gold, cells, size))
    sizes = {row.gold: row.samples for row in rows}
    shares = tuple(
        AnswerShare(label, sizes.get(label, 0), count, sizes.get(label, 0) / total, count / total)
        for label in columns
        if (count := sum(counts[gold, label] for gold in rows_labels)) or sizes.get(label)
    )
    return ConfusionTable(title, tuple(columns), tuple(rows), shares, total)


def _table_labels(golds: Counter[str], given: Counter[str]) -> list[str]:
    """The most frequent labels, in their own order."""
    frequent = sorted(golds | given, key=lambda label: (-golds[label], -given[label], label))
    kept = [label for label in frequent if label != UNREAD][:MAX_LABELS]
    return sorted(kept, key=lambda label: (len(label), label))
