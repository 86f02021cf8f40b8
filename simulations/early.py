"""Runs that stop early: intervals that hold whenever one looks, and winners of `A>B`."""

from __future__ import annotations

import numpy as np

from simulations.study import Case, Share, Study
from snellen.core.sample import Sample
from snellen.engine.drawing_order import FEWEST, Strata, units_in_order
from snellen.stats.confidence_sequences import (
    ConfidenceSequence,
    bets_for_samples,
    bets_for_width,
)
from snellen.stats.finite_sequences import FiniteSequence, Stratum

_NEAR = 1e-9
_WAUDBY = (
    "I. Waudby-Smith and A. Ramdas, JRSS B 86 (2024), Sec. 4; Ville's inequality bounds the chance"
)


def anytime_misses(mean: float, half_width: float, looks: int) -> Share:
    """Right or wrong answers one after another: the interval misses the mean at some look."""

    def share(random: np.random.Generator, repeats: int) -> float:
        missed = 0
        for _ in range(repeats):
            sequence = ConfidenceSequence(bets_for_width(half_width))
            for right in random.random(looks) < mean:
                sequence.add(float(right))
                found = sequence.interval()
                if not found.low <= mean <= found.high:
                    missed += 1
                    break
        return missed / repeats

    return share


def finite_misses(right: int, samples: int, half_width: float) -> Share:
    """All samples of a set in a random order: the interval misses the set's mean at some look."""

    def share(random: np.random.Generator, repeats: int) -> float:
        missed, truth = 0, right / samples
        for _ in range(repeats):
            sequence = FiniteSequence({"": Stratum(samples, samples)}, bets_for_width(half_width))
            seen = 0
            for at, value in enumerate(random.permutation(np.arange(samples) < right)):
                sequence.add("", float(value), 1.0, (seen + 0.25) / (at + 0.5))
                seen += int(value)
                found = sequence.interval()
                if not found.low - _NEAR <= truth <= found.high + _NEAR:
                    missed += 1
                    break
        return missed / repeats

    return share


def strata_misses(half_width: float) -> Share:
    """Three strata of questions, one to six about a picture, through the real order of drawing."""
    samples = [
        Sample(
            f"{stratum}{picture}/{question}", "yes_no", "q", ("Yes",),
            unit=f"{stratum}{picture}", groups={"task": stratum},
        )
        for stratum, pictures in (("a", 60), ("b", 30), ("c", 7))
        for picture in range(pictures)
        for question in range(1 + picture % 6)
    ]  # fmt: skip
    chance = {"a": 0.9, "b": 0.5, "c": 0.2}

    def share(random: np.random.Generator, repeats: int) -> float:
        missed = 0
        for _ in range(repeats):
            units = units_in_order(samples, int(random.integers(2**31)))
            # Right together or wrong together in half of the pictures.
            right = {
                unit.samples[0].unit: _answers(random, len(unit.samples), chance[unit.stratum])
                for unit in units
            }
            truth = sum(map(sum, right.values())) / len(samples)
            strata = Strata(units, bets_for_width(half_width), finite=True)
            for unit in units:
                strata.add(unit, right[unit.samples[0].unit])
                found = strata.interval()
                if not found.low - _NEAR <= truth <= found.high + _NEAR:
                    missed += 1
                    break
        return missed / repeats

    return share


def _answers(random: np.random.Generator, questions: int, chance: float) -> list[float]:
    if random.random() < 0.5:
        return [float(random.random() < chance)] * questions
    return [float(right) for right in random.random(questions) < chance]


def winners(samples: int) -> Share:
    """Two equally good models, every sample alone: one of them is declared the winner."""
    asked = [Sample(str(at), "yes_no", "q", ("Yes",)) for at in range(samples)]

    def share(random: np.random.Generator, repeats: int) -> float:
        units, decided = units_in_order(asked, 0), 0
        for _ in range(repeats):
            strata = Strata(units, bets_for_samples(len(units)))
            first, second = random.random((2, len(units))) < 0.5
            halves = (first.astype(int) - second + 1) / 2
            for unit, half in zip(units, halves.tolist(), strict=True):
                strata.add(unit, [half])
                found = strata.interval()
                if strata.units >= FEWEST and not found.low <= 0.5 <= found.high:
                    decided += 1
                    break
        return decided / repeats

    return share


STUDIES = (
    Study(
        key="anytime-interval",
        title="The anytime interval, data without end",
        event="at any of 2,000 looks the interval does not hold the mean (nominal 0.05)",
        procedure="A mixture of capital processes around predictions from what was seen before. "
        "Assumes that samples are drawn at random.",
        source=_WAUDBY,
        cases=(
            Case("±1, mean 0.5", anytime_misses(0.5, 0.01, 2000), 0.0, 0.05),
            Case("±3, mean 0.9", anytime_misses(0.9, 0.03, 2000), 0.0, 0.05),
            Case("±10, mean 0.5", anytime_misses(0.5, 0.1, 2000), 0.0, 0.05),
        ),
        repeats=1000,
        quick=8,
    ),
    Study(
        key="anytime-finite",
        title="The anytime interval of `--until ±N`: all samples of a benchmark",
        event="at any look the interval does not hold the score of the whole set (nominal 0.05)",
        procedure="The same over what is left of the set, drawn without replacement. Assumes that "
        "every sample gets a score; else the interval for data without end is told.",
        source="I. Waudby-Smith and A. Ramdas, NeurIPS 33 (2020), Sec. 3",
        cases=(
            Case("100 samples, half right, ±10", finite_misses(50, 100, 0.1), 0.0, 0.05),
            Case("812 samples, nine in ten right, ±5", finite_misses(731, 812, 0.05), 0.0, 0.05),
            Case("2,000 samples, half right, ±3", finite_misses(1000, 2000, 0.03), 0.0, 0.05),
        ),
        repeats=1000,
        quick=12,
    ),
    Study(
        key="anytime-strata",
        title="The anytime interval over strata and pictures of many questions",
        event="at any look the interval does not hold the score of the whole set (nominal 0.05)",
        procedure="Units are drawn whole, the strata in proportion; what is missing to the "
        "proportion widens the interval.",
        source="the same, with the strata of `snellen.stats.finite_sequences`",
        cases=(
            Case("±10, 97 pictures of 1 to 6 questions", strata_misses(0.1), 0.0, 0.05),
            Case("±5, 97 pictures of 1 to 6 questions", strata_misses(0.05), 0.0, 0.05),
        ),
        repeats=1000,
        quick=100,
    ),
    Study(
        key="contest-alone",
        title="`--until 'A>B'`, every sample alone",
        event="one of two equally good models is declared the winner (nominal 0.05)",
        procedure="The anytime interval of the difference leaves out 0. The difference is that "
        "over such questions without end.",
        source=_WAUDBY,
        cases=(
            Case("600 samples", winners(600), 0.0, 0.05),
            Case("3,000 samples", winners(3000), 0.0, 0.05),
        ),
        repeats=600,
        quick=20,
    ),
)
