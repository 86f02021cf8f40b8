"""A confidence sequence of a finite set covers its mean at every moment, and ends sooner than that
of an endless supply."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

import pytest

from snellen.stats.confidence_sequences import ConfidenceSequence, bets_for_width
from snellen.stats.finite_sequences import FiniteSequence, StratumSize

Values = Mapping[str, Sequence[tuple[float, float]]]
"""Totals and sizes by stratum."""


def drawn(values: Values, seed: int) -> Iterator[tuple[str, float, float]]:
    """Each stratum in a random order, the strata in proportion, as in a run."""
    lot = random.Random(seed)
    turns = []
    for name, held in values.items():
        start, order = lot.random(), lot.sample(list(held), len(held))
        turns += [((at + start) / len(order), name, one) for at, one in enumerate(order)]
    for _, name, (total, size) in sorted(turns):
        yield name, total, size


def sequence_of(values: Values, half_width: float) -> FiniteSequence:
    strata = {name: StratumSize(len(held), sum(s for _, s in held)) for name, held in values.items()}
    return FiniteSequence(strata, bets_for_width(half_width))


def share_of(values: Values) -> float:
    held = [one for every in values.values() for one in every]
    return sum(total for total, _ in held) / sum(size for _, size in held)


def answers(counts: Mapping[str, tuple[int, int]]) -> Values:
    """Right answers of all, by stratum."""
    return {name: [(float(at < right), 1.0) for at in range(every)] for name, (right, every) in counts.items()}


UNEVEN = {
    # Questions about a picture: one or three, right together where there are three.
    "x": [(1.0, 1.0)] * 30 + [(0.0, 1.0)] * 10 + [(1 / 3, 1 / 3)] * 20 + [(0.0, 1 / 3)] * 40,
    "y": [(2 / 3, 1.0)] * 50,
}


@pytest.mark.parametrize(
    "values",
    [
        answers({"": (100, 200)}),
        answers({"": (190, 200)}),
        answers({"easy": (90, 100), "hard": (20, 60), "few": (3, 7)}),
        UNEVEN,
    ],
    ids=["even", "good", "strata", "sizes"],
)
@pytest.mark.release
def test_the_error_rate_holds_though_one_looks_after_every_sample(values: Values) -> None:
    truth, wrong = share_of(values), []
    for seed in range(300):
        sequence, missed, seen, sizes = sequence_of(values, 0.08), False, 0.25, 0.5
        for name, total, size in drawn(values, seed):
            sequence.add(name, total, size, seen / sizes)
            seen, sizes = seen + total, sizes + size
            found = sequence.interval()
            missed |= not found.low - 1e-9 <= truth <= found.high + 1e-9
        wrong.append(missed)
        assert found.low == pytest.approx(found.high) == pytest.approx(truth)
    # 5 % nominal.
    assert mean(wrong) <= 0.05


def ends(values: Values, half_width: float, seed: int) -> tuple[int, int]:
    """Samples until the interval is that narrow: of the finite set, and of an endless supply."""
    finite, endless = (sequence_of(values, half_width), ConfidenceSequence(bets_for_width(half_width)))
    found: dict[str, int] = {}
    for at, (name, total, size) in enumerate(drawn(values, seed), start=1):
        near = endless.prediction()
        finite.add(name, total, size, near)
        endless.add(total, size, near)
        for kind, interval in (("finite", finite.interval()), ("endless", endless.interval())):
            if at >= 10 and interval.high - interval.low <= 2 * half_width:
                found.setdefault(kind, at)
    every = sum(map(len, values.values()))
    return found.get("finite", every), found.get("endless", every)


@pytest.mark.parametrize(("right", "saved"), [(500, 0.35), (900, 0.2)], ids=["half right", "nine in ten"])
def test_samples_saved_against_an_endless_supply(right: int, saved: float) -> None:
    """A thousand questions, until the score is known to five points."""
    told = [ends(answers({"": (right, 1000)}), 0.05, seed) for seed in range(8)]
    finite, endless = (mean(one) for one in zip(*told, strict=True))
    assert finite < (1 - saved) * endless


def test_disproportionate_strata_widen_the_interval() -> None:
    values = answers({"a": (20, 40), "b": (20, 40)})
    even, odd = sequence_of(values, 0.1), sequence_of(values, 0.1)
    for at in range(20):
        even.add("ab"[at % 2], float(at % 4 < 2), 1.0, 0.5)
        odd.add("a", float(at % 4 < 2), 1.0, 0.5)
    narrow, wide = even.interval(), odd.interval()
    assert wide.high - wide.low > narrow.high - narrow.low + 0.05
    assert narrow.method == "confidence sequence, without replacement"


def test_impossible_values_are_refused() -> None:
    sequence = sequence_of(answers({"a": (1, 1)}), 0.1)
    with pytest.raises(ValueError, match="expected 0 <= total"):
        sequence.add("a", 1.1, 1.0, 0.5)
    sequence.add("a", 1.0, 1.0, 0.5)
    with pytest.raises(ValueError, match="all values of the stratum 'a' were drawn"):
        sequence.add("a", 1.0, 1.0, 0.5)
