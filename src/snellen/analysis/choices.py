"""Which letters a model prefers, what it refuses, and what it could reach if it refused nothing
(MMBench Fig. 4, Sec. 5.3 and Table 4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from snellen.core.answer import Found, Refused
from snellen.core.record import Pass, Record
from snellen.core.run import RunInfo
from snellen.core.summary import Interval
from snellen.stats.chi_square import ChiSquare, pearson, stuart_maxwell
from snellen.stats.intervals import wilson


class Refusals(NamedTuple):
    """Refused passes among all passes of a category."""

    refused: int
    passes: int


class Letter(NamedTuple):
    """How often a label was chosen, and how often it was gold. `excess` is the chosen share less
    the expected one (`Choices.expected`), 0..1."""

    label: str
    chosen: int
    share: float | None
    interval: Interval | None
    gold: int
    excess: float | None


class Choices(NamedTuple):
    """Findings over every pass of a run's multiple-choice questions.

    `predicted` and `gold` count labels; `upper_bound` is the accuracy in percent if every refused
    pass had been right, beside `accuracy` over the same questions. None where nothing is scored.

    `bias` tests whether letters are chosen for their place. Where every question was asked in all
    its rotations, every text stood in every place, so a model that looks at the texts alone
    chooses each place equally often: Pearson's test of that, by number of options (passes of a
    question that follows its text keep each other in balance, so that the test errs on the side
    of no bias; questions whose options cannot be rotated are left out). Elsewhere the chosen
    letters are compared with the gold ones, pass by pass: the Stuart-Maxwell test.
    """

    passes: int
    predicted: Mapping[str, int]
    gold: Mapping[str, int]
    refused: Refusals
    refusals: Mapping[str, Refusals]
    accuracy: float | None
    upper_bound: float | None
    letters: tuple[Letter, ...] = ()
    bias: ChiSquare | None = None
    test: str = ""


class _Told(NamedTuple):
    """A pass whose reply was read as an option."""

    labels: tuple[str, ...]
    chosen: str
    gold: str | None


def censored(run: RunInfo) -> str | None:
    """Why a run cannot show its choices, or None: early stop leaves out the later passes of just
    those questions that were answered wrong."""
    if run.config.parameters.get("circular") == "early":
        return "censored by early stop; ask every pass with --circular full"
    return None


def choices(records: Iterable[Record], group: str = "category") -> Choices:
    """Letters, refusals by `group`, and the upper bound; failed and missing are left out."""
    predicted: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    outcomes: dict[str, list[float]] = defaultdict(list)
    told: list[_Told] = []
    rotated = True
    for record in records:
        if record.kind != "choice" or record.owed:
            continue
        label = record.groups.get(group, "")
        if not record.asked_once:
            rotated = rotated and len(record.passes) == len(record.options)
        for one in record.passes:
            asked[label] += 1
            refused[label] += isinstance(one.answer, Refused)
            gold.update(one.gold[:1])
            if isinstance(one.answer, Found):
                predicted[one.answer.value] += 1
            if isinstance(one.answer, Found) and not record.asked_once:
                labels = tuple(one.options or record.options)
                told.append(_Told(labels, one.answer.value, next(iter(one.gold), None)))
        if record.score is not None:
            outcomes["score"].append(record.score)
            outcomes["bound"].append(float(all(_right_or_refused(one) for one in record.passes)))
    bias, expected = _bias(told, rotated)
    return Choices(
        passes=asked.total(),
        predicted=dict(sorted(predicted.items())),
        gold=dict(sorted(gold.items())),
        refused=Refusals(refused.total(), asked.total()),
        refusals={label: Refusals(refused[label], asked[label]) for label in sorted(asked)},
        accuracy=_percent(outcomes["score"]),
        upper_bound=_percent(outcomes["bound"]),
        letters=_letters(predicted, gold, expected),
        bias=bias,
        test=("Pearson, all rotations" if rotated else "Stuart-Maxwell, chosen against gold")
        if bias
        else "",
    )


def _bias(told: Sequence[_Told], rotated: bool) -> tuple[ChiSquare | None, dict[str, float]]:
    """The test, and how often each label is expected among `told`."""
    expected: dict[str, float] = defaultdict(float)
    if rotated:
        strata: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for one in told:
            if one.chosen in one.labels:
                strata[tuple(sorted(one.labels))][one.chosen] += 1
        for labels, counts in strata.items():
            for label in labels:
                expected[label] += counts.total() / len(labels)
        return pearson([
            ([counts[label] for label in labels], [1 / len(labels)] * len(labels))
            for labels, counts in strata.items()
        ]), expected  # fmt: skip
    table = Counter((one.gold, one.chosen) for one in told if one.gold is not None)
    for (gold, _), count in table.items():
        expected[gold] += count
    return stuart_maxwell(table), expected


def _letters(
    predicted: Counter[str], gold: Counter[str], expected: Mapping[str, float]
) -> tuple[Letter, ...]:
    chosen, whole = predicted.total(), sum(expected.values())
    return tuple(
        Letter(
            label,
            predicted[label],
            predicted[label] / chosen if chosen else None,
            wilson(predicted[label], chosen) if chosen else None,
            gold[label],
            predicted[label] / chosen - expected.get(label, 0.0) / whole
            if chosen and whole
            else None,
        )
        for label in sorted({*predicted, *gold})
    )


def _right_or_refused(one: Pass) -> bool:
    return bool(one.correct) or isinstance(one.answer, Refused)


def _percent(scores: Sequence[float]) -> float | None:
    return 100 * sum(scores) / len(scores) if scores else None
