"""Parsing quality in numbers: precision and recall of each parser on replies that others labelled,
and its effect on a score.

The counts are stored next to this file; `docs/measure_readers.py` measures them again on recorded
replies of real models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.analysis.parsing.unread_replies import NONE_FITS, extractor_name, labelled_verdicts
from snellen.core.output import Answer, Empty, Generated, ParsedAnswer, Truncated
from snellen.core.record import Record, every_pass
from snellen.core.sample import Kind
from snellen.core.summary import Interval
from snellen.stats.intervals import share_over_systems, wilson
from snellen.store.runs import RunFolder

COUNTS = "parsing_quality.json"
OWN_RULE, WORD = "snellen", "word"
"""The rule of a run that names none; `WORD` is its parser for yes/no questions."""

BLINK = "GPT-3.5 (BLINK validation, 11 systems)"
MMMU = "MMMU's parser (validation, 2 systems)"
VECTORS = "lighteval's tests"
TEMPCOMPASS = "TempCompass' rule, then ChatGPT (3 systems)"
LABELS: Mapping[str, str] = {
    BLINK: (
        "BLINK's labels are the options that GPT-3.5 read in the same replies: its own errors are "
        "not in these numbers, and a reader that errs as it does counts as right"
    ),
    MMMU: (
        "MMMU's labels are those of its parser, which reads by rules as well; what it could not "
        "read counts as meaning no option"
    ),
    VECTORS: "lighteval's replies were written for its tests; they are no sample of any system's",
    TEMPCOMPASS: (
        "TempCompass' labels are its rating in words: the right word where it rated a reply as "
        "right, otherwise the other word, also where the reply means neither. They mostly say how "
        "often one rule agrees with another, and nothing of replies that mean neither: no person "
        "has labelled any"
    ),
}
"""Who labelled each set, and what the labels cannot show."""

ReplyParser = Callable[[str, Mapping[str, str]], Answer]
"""Parses a reply, given its options by label (empty if unknown)."""


class ReplyWithOption(NamedTuple):
    """A reply with the label of the option it means, or None if it means none."""

    text: str
    options: Mapping[str, str]
    label: str | None
    system: str = ""
    """The system that replied, if the set names it."""


class SystemCounts(Struct, frozen=True):
    """The counts of `ParsingQuality` over one system's replies."""

    name: str
    replies: int
    meaning: int
    read: int
    right: int


class ReplyShare(NamedTuple):
    """A fraction of replies; None without replies."""

    value: float | None
    interval: Interval | None
    """Over systems (`share_over_systems`; None for two to four of them), or over the replies of a
    single system."""
    by_system: tuple[float, float] | None
    """The lowest and the highest of any system; None without systems."""


class ParsingQuality(Struct, frozen=True):
    """One parser on one set. `meaning` counts replies that mean an option, `read` replies parsed to
    an option, `right` those parsed to the option they mean."""

    reader: str
    kind: Kind
    labelled_by: str
    replies: int
    meaning: int
    read: int
    right: int
    systems: tuple[SystemCounts, ...] = ()
    """Counts by system; empty if there is only one system, or none is named."""

    @property
    def precision(self) -> ReplyShare:
        """Of the parsed replies, those that were parsed right."""
        return self._share(self.read, [system.read for system in self.systems])

    @property
    def recall(self) -> ReplyShare:
        """Of the replies that mean an option, those that were parsed as it."""
        return self._share(self.meaning, [system.meaning for system in self.systems])

    @property
    def unread_answer_rate(self) -> float:
        """Largest fraction of the unparsed replies that can mean an option."""
        unread_ones = self.replies - self.read
        return min(1.0, (self.meaning - self.right) / unread_ones) if unread_ones else 0.0

    @property
    def min_precision(self) -> float | None:
        """A lower bound of the precision on replies of a new system: the lowest of the lower ends
        of the intervals over systems and over replies, and the precision on the worst system."""
        if not self.read:
            return None
        precision = self.precision
        ends = [wilson(self.right, self.read).low]
        if precision.interval is not None:
            ends.append(precision.interval.low)
        if precision.by_system is not None:
            ends.append(precision.by_system[0])
        return min(ends)

    def _share(self, total: int, of_systems: Sequence[int]) -> ReplyShare:
        """The replies that were parsed right, as a share of `total`, and of the numbers of each
        system."""
        if not total:
            return ReplyShare(None, None, None)
        rights = [system.right for system in self.systems]
        interval = share_over_systems(rights, of_systems) if self.systems else wilson(self.right, total)
        shares = [right / number for right, number in zip(rights, of_systems, strict=True) if number]
        return ReplyShare(self.right / total, interval, (min(shares), max(shares)) if shares else None)


class ScoreError(NamedTuple):
    """Largest effect of parsing errors on a score, in points of 100: `down` if misread replies were
    counted right, `up` if misread and unparsed replies were counted wrong."""

    down: float
    up: float


def measure_parser(
    parser: str, kind: Kind, labelled_by: str, parse: ReplyParser, replies: Iterable[ReplyWithOption]
) -> ParsingQuality:
    """Count the results of a parser on labelled replies, by system and in total."""
    counts: dict[str, list[int]] = {}
    for reply in replies:
        answer = parse(reply.text, reply.options)
        value = answer.value if isinstance(answer, ParsedAnswer) else None
        right = value is not None and value == reply.label
        system_counts = counts.setdefault(reply.system, [0, 0, 0, 0])
        for index, hit in enumerate((True, reply.label is not None, value is not None, right)):
            system_counts[index] += hit
    systems = tuple(SystemCounts(name, *tally) for name, tally in counts.items() if name)
    total, meaning, parsed, right_ones = (sum(tally[index] for tally in counts.values()) for index in range(4))
    return ParsingQuality(
        parser, kind, labelled_by, total, meaning, parsed, right_ones, systems if len(systems) > 1 else ()
    )


def largest_set(parser: str, kind: Kind) -> ParsingQuality | None:
    """The stored counts of a parser on the largest set of labelled replies."""
    return max(stored_quality(parser, kind), key=lambda quality: quality.replies, default=None)


@cache
def stored_qualities() -> tuple[ParsingQuality, ...]:
    """The stored counts of the built-in parsers."""
    data = (files("snellen.analysis.parsing") / COUNTS).read_bytes()
    return tuple(msgspec.json.decode(data, type=list[ParsingQuality]))


def stored_quality(parser: str, kind: Kind) -> list[ParsingQuality]:
    """The stored counts of one parser for one kind of question, e.g. `snellen` and `choice`."""
    return [quality for quality in stored_qualities() if (quality.reader, quality.kind) == (parser, kind)]


def quality_in_run(run: RunFolder, labels: Mapping[tuple[str, int], str]) -> ParsingQuality:
    """Quality of the language model that parses a run's replies, on a labelling sheet filled by
    people (`read_labels` of `unread_replies`). Raises UsageError if no label belongs to the run."""
    verdicts = labelled_verdicts(run, labels)
    read = [(verdict, label) for verdict, label in verdicts if len(verdict) == 1 and verdict not in "Z?"]
    return ParsingQuality(
        extractor_name(run),
        "choice",
        "people",
        len(verdicts),
        sum(label != NONE_FITS for _, label in verdicts),
        len(read),
        sum(verdict == label for verdict, label in read),
    )


_NOT_AMBIGUOUS = (Empty, Truncated, type(None))


class RuleParseCounts:
    """Counts of a run's replies that only rules parsed, updated record by record. Empty and
    truncated replies are not ambiguous and count in neither number."""

    def __init__(self) -> None:
        self.samples = 0
        self.parsed: Counter[Kind] = Counter()
        self.unparsed: Counter[Kind] = Counter()

    def add(self, record: Record) -> None:
        for draw in record.repeats or (record,):
            if draw.score is not None:
                self.samples += 1
        for one_pass in every_pass(record) if record.repeats else record.passes:
            if not isinstance(one_pass.output, Generated) or one_pass.extraction is not None:
                continue
            if isinstance(one_pass.answer, ParsedAnswer):
                self.parsed[record.kind] += 1
            elif not isinstance(one_pass.answer, _NOT_AMBIGUOUS):
                self.unparsed[record.kind] += 1


def run_score_error(parameters: Mapping[str, str], replies: RuleParseCounts) -> ScoreError | None:
    """Bound on the measurement error that the rules leave in a run's score. A parsed reply is
    misread as often as `ParsingQuality.min_precision` allows, an unparsed one means an answer as
    often as among the labelled replies, and either may decide its sample.

    `parameters` are those of the run, which name its rule. None if the rule has no labelled replies
    for a kind of question in the run, or no reply was parsed by rules.
    """
    rule = parameters.get("rule", OWN_RULE)
    yes_no_rule = parameters.get("reading", WORD if rule == OWN_RULE else rule)
    kinds = {*replies.parsed, *replies.unparsed}
    if not kinds or not replies.samples:
        return None
    misread = missed = 0.0
    for kind in kinds:
        best = largest_set(yes_no_rule if kind == "yes_no" else rule, kind)
        if best is None or best.min_precision is None:
            return None
        misread += replies.parsed[kind] * (1 - best.min_precision)
        missed += replies.unparsed[kind] * best.unread_answer_rate
    share = 100 / replies.samples
    return ScoreError(share * misread, share * (misread + missed))


def score_error(quality: ParsingQuality) -> ScoreError:
    """Bound on the measurement error that a parser of this quality leaves in a score over such
    replies: every misread reply may change its question's score, and every unparsed one that means
    an option may have been right."""
    if not quality.replies:
        raise ValueError("a score error needs at least one reply")
    misread = quality.read - quality.right
    unread_ones = max(0, quality.meaning - quality.right - misread)
    share = 100 / quality.replies
    return ScoreError(share * misread, share * (misread + unread_ones))


def extend_interval(interval: Interval, errors: ScoreError) -> Interval:
    """Add the measurement error to both ends of an interval in points of 100, in full: a bound on a
    bias is not a random error and does not shrink with it (G. W. Imbens and C. F. Manski,
    Econometrica 72 (2004), whose interval of a partially identified mean is slightly narrower)."""
    return Interval(
        max(0.0, interval.low - errors.down),
        min(100.0, interval.high + errors.up),
        f"{interval.method} and reading",
        interval.level,
    )
