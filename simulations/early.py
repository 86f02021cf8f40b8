"""Runs that stop early: intervals that hold whenever one looks, and winners of `A>B`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simulations.study import Case, Share, Study
from snellen.core.media import InlineSource
from snellen.core.record import Record
from snellen.core.sample import MediaRef, Sample
from snellen.engine.anytime.sample_order import MIN_UNITS, AnytimeMean, stratified_order
from snellen.engine.loop.comparison_run import ComparisonStop
from snellen.stats.confidence_sequences import ConfidenceSequence, bets_for_width, interval_of_differences
from snellen.stats.finite_sequences import FiniteSequence, StratumSize
from snellen.stats.intervals import wilson

_NEAR = 1e-9
_WAUDBY = "I. Waudby-Smith and A. Ramdas, JRSS B 86 (2024), Sec. 4; Ville's inequality bounds the chance"


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
            sequence = FiniteSequence({"": StratumSize(samples, samples)}, bets_for_width(half_width))
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
            f"{stratum}{picture}/{question}",
            "yes_no",
            "q",
            ("Yes",),
            unit=f"{stratum}{picture}",
            groups={"task": stratum},
        )
        for stratum, pictures in (("a", 60), ("b", 30), ("c", 7))
        for picture in range(pictures)
        for question in range(1 + picture % 6)
    ]
    chance = {"a": 0.9, "b": 0.5, "c": 0.2}

    def share(random: np.random.Generator, repeats: int) -> float:
        missed = 0
        for _ in range(repeats):
            units = stratified_order(samples, int(random.integers(2**31)))
            # Right together or wrong together in half of the pictures.
            right = {unit.samples[0].unit: _answers(random, len(unit.samples), chance[unit.stratum]) for unit in units}
            truth = sum(map(sum, right.values())) / len(samples)
            strata = AnytimeMean(units, bets_for_width(half_width), finite=True)
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


def weighted_misses(sizes: tuple[int, ...], points: float) -> Share:
    """A headline that is the mean of groups of these sizes, easy and hard ones: at some look the
    interval misses that of the whole set."""
    samples = [
        Sample(f"{group}/{at}", "open", "q", ("a",), groups={"task": str(group)})
        for group, size in enumerate(sizes)
        for at in range(size)
    ]
    weights = [max(sizes) / size for size in sizes for _ in range(size)]

    def share(random: np.random.Generator, repeats: int) -> float:
        missed = 0
        for _ in range(repeats):
            seed = int(random.integers(2**31))
            units = stratified_order(samples, seed, by_media=False, weights=weights)
            chances = random.uniform(0.1, 0.95, len(sizes))
            right = {sample.id: float(random.random() < chances[int(sample.groups["task"])]) for sample in samples}
            by_group = [0.0] * len(sizes)
            for sample in samples:
                by_group[int(sample.groups["task"])] += right[sample.id]
            truth = float(np.mean(np.array(by_group) / sizes))
            strata = AnytimeMean(units, bets_for_width(points / 100), finite=True)
            for unit in units:
                strata.add(unit, [right[one.id] for one in unit.samples])
                found = strata.interval()
                if not found.low - _NEAR <= truth <= found.high + _NEAR:
                    missed += 1
                    break
        return missed / repeats

    return share


class Duelists(NamedTuple):
    """Two models on pictures of several questions each: `pictures` (questions, how many of them)
    and how likely either model is right on each picture."""

    samples: tuple[Sample, ...]
    picture: np.ndarray
    """Of each sample, (n,)."""
    place: dict[str, int]
    """Of each sample's id."""

    def scores(self, random: np.random.Generator, chances: np.ndarray) -> np.ndarray:
        """Right or wrong, (2, n), for the chances of the two on each picture, (2, pictures)."""
        drawn = random.random((2, len(self.samples))) < chances[:, self.picture]
        return drawn.astype(float)


def duelists(*pictures: tuple[int, int]) -> Duelists:
    """(questions, pictures): so many pictures of so many questions each; samples name no unit."""
    sizes = [questions for questions, count in pictures for _ in range(count)]
    picture = np.repeat(np.arange(len(sizes)), sizes)
    refs = [MediaRef(str(at), InlineSource(b"")) for at in range(len(sizes))]
    samples = tuple(Sample(str(at), "yes_no", "q", ("Yes",), media=(refs[shown],)) for at, shown in enumerate(picture))
    return Duelists(samples, picture, {one.id: at for at, one in enumerate(samples)})


def held_contest(two: Duelists, scores: np.ndarray, seed: int) -> ComparisonStop:
    """`--until 'A>B'` as the engine holds it, over all samples or until it is decided."""
    contest = ComparisonStop(("first", "second"))
    contest.start(two.samples, seed, "exclude")
    for unit in contest.units():
        for side in (0, 1):
            for sample in unit.samples:
                score = scores[side, two.place[sample.id]]
                contest.add_record(side, Record(sample.id, "yes_no", "q", "answered", score=score))
        if contest.reason:
            break
    return contest


def winners(tilt: float, *pictures: tuple[int, int], by_size: bool = False) -> Share:
    """How often one of two equally good models is declared the winner. A picture favours one of
    them by 2 * `tilt`, at random; with `by_size` each of the sizes favours another, so that over
    all questions neither is ahead."""
    two = duelists(*pictures)
    sizes = np.bincount(two.picture)

    def share(random: np.random.Generator, repeats: int) -> float:
        decided = 0
        for _ in range(repeats):
            if by_size:
                side = np.where(sizes == sizes.max(), tilt, -tilt)
            else:
                side = random.choice([-tilt, tilt], size=len(sizes))
            scores = two.scores(random, 0.5 + np.stack([side, -side]))
            decided += bool(held_contest(two, scores, int(random.integers(2**31))).reason)
        return decided / repeats

    return share


def equal_models(samples: int) -> tuple[Case, ...]:
    """Pictures of 1, 5 and 15 questions, on which the models differ little or much."""
    return tuple(
        Case(f"{samples} samples, {each} a picture, tilt {tilt:g}", winners(tilt, (each, samples // each)), 0.0, 0.05)
        for each, tilt in ((1, 0.0), (5, 0.15), (5, 0.3), (15, 0.15), (15, 0.3), (15, 0.45))
    )


def stops_that_miss(points: float, pictures: tuple[int, int], tilt: float = 0.0) -> Share:
    """A true difference: of the contests that stopped, how many are told with an anytime interval
    that leaves it out. A picture favours one of the models by 2 * `tilt`, at random."""
    two = duelists(pictures)
    clusters = int(two.picture.max()) + 1

    def share(random: np.random.Generator, repeats: int) -> float:
        stopped = missed = 0
        for _ in range(repeats):
            side = random.choice([-tilt, tilt], size=clusters) + points / 200
            scores = two.scores(random, 0.5 + np.stack([side, -side]))
            contest = held_contest(two, scores, int(random.integers(2**31)))
            told = contest.difference()
            if not contest.reason or told is None:
                continue
            stopped += 1
            asked = [two.place[one.id] for unit in contest.units() for one in unit.samples][: told.n]
            sums = np.bincount(two.picture[asked], scores[0, asked] - scores[1, asked], clusters)
            sizes = np.bincount(two.picture[asked], minlength=clusters)
            found = interval_of_differences(sums[sizes > 0], sizes[sizes > 0], clusters)
            missed += not found.low <= points / 100 <= found.high
        return missed / max(1, stopped)

    return share


def ordinary_holds(samples: int, points: float, chance: float) -> Share:
    """A run that stopped by `±points`: Wilson's interval holds the chance of a right answer."""
    units = stratified_order([Sample(str(at), "open", "q", ("a",)) for at in range(samples)], 0)
    bets = bets_for_width(points / 100)

    def share(random: np.random.Generator, repeats: int) -> float:
        held = 0
        for _ in range(repeats):
            strata, right = AnytimeMean(units, bets, finite=True), random.random(samples) < chance
            for at, unit in enumerate(units):
                strata.add(unit, [float(right[at])])
                found = strata.interval()
                if strata.units >= MIN_UNITS and found.high - found.low <= 2 * points / 100:
                    break
            told = wilson(int(right[: strata.units].sum()), strata.units)
            held += told.low <= chance <= told.high
        return held / repeats

    return share


def unscored_misses(samples: int, each: int, points: float) -> Share:
    """A tenth of the samples fails, `each` questions share a picture: the interval misses the mean
    of all that have a score at some look."""
    units = stratified_order([Sample(str(at), "open", "q", ("a",)) for at in range(samples)], 0)
    place = [int(unit.samples[0].id) for unit in units]

    def share(random: np.random.Generator, repeats: int) -> float:
        missed = 0
        for _ in range(repeats):
            hard = np.repeat(random.choice([0.2, 0.8], size=samples // each), each)
            right = random.random(samples) < hard
            scored = random.random(samples) < 0.9
            truth, order = float(right[scored].mean()), random.permutation(samples)
            strata = AnytimeMean(units, bets_for_width(points / 100), finite=True)
            for unit, at in zip(units, order[place], strict=True):
                strata.add(unit, [float(right[at]) if scored[at] else None])
                found = strata.interval()
                if strata.samples and not found.low - _NEAR <= truth <= found.high + _NEAR:
                    missed += 1
                    break
        return missed / repeats

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
        quick=4,
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
        quick=5,
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
        quick=40,
    ),
    Study(
        key="anytime-weighted",
        title="The anytime interval of a headline that is a mean of groups",
        event="at any look the interval does not hold the headline of the whole set (nominal 0.05)",
        procedure="The interval of `--until ±N` with each sample's score by its weight in the "
        "headline. Assumes that every sample gets a score.",
        source="I. Waudby-Smith and A. Ramdas, NeurIPS 33 (2020), Sec. 3",
        cases=(
            Case("8 groups of 30 to 170, ±5", weighted_misses((30, 50, 70, 90, 110, 130, 150, 170), 5), 0.0, 0.05),
            Case("4 groups of 20 to 500, ±5", weighted_misses((20, 80, 200, 500), 5), 0.0, 0.05),
            Case("30 groups of 5 to 34, ±8", weighted_misses(tuple(range(5, 35)), 8), 0.0, 0.05),
        ),
        repeats=300,
        quick=5,
    ),
    Study(
        key="contest",
        title="`--until 'A>B'`",
        event="one of two equally good models is declared the winner (nominal 0.05)",
        procedure="The anytime interval of the difference leaves out 0; the difference is that "
        "over such questions without end. Questions about one picture are asked together, and "
        "count as one draw.",
        source=_WAUDBY,
        cases=(
            *equal_models(600),
            Case(
                "450 alone, 30 pictures of 15, which favour different models",
                winners(0.15, (1, 450), (15, 30), by_size=True),
                0.0,
                0.05,
            ),
        ),
        repeats=1000,
        quick=12,
    ),
    Study(
        key="contest-large",
        title="`--until 'A>B'` on 3,000 samples",
        event="one of two equally good models is declared the winner (nominal 0.05)",
        procedure="The same.",
        source=_WAUDBY,
        cases=equal_models(3000),
        repeats=600,
        quick=2,
    ),
    Study(
        key="contest-stop",
        title="The difference told where `A>B` stopped",
        event="the anytime interval leaves out the true difference, of the contests that stopped",
        procedure="The anytime interval of the difference, which holds at every look and so at the "
        "stop, in whatever order the samples came. An ordinary interval holds the difference in "
        "0.7 to 0.8 only of such contests.",
        source=_WAUDBY,
        cases=(
            Case("5 points, 800 samples", stops_that_miss(5, (1, 800)), 0.0, 0.06),
            Case("10 points, 2,000 samples", stops_that_miss(10, (1, 2000)), 0.0, 0.06),
            Case("10 points, 200 pictures of 10", stops_that_miss(10, (10, 200), 0.2), 0.0, 0.06),
        ),
        repeats=300,
        quick=10,
    ),
    Study(
        key="precision-stop",
        title="The ordinary interval of a run that stopped by `±N`",
        event="Wilson's interval holds the chance of a right answer (nominal 0.95)",
        procedure="The rule looks at the width, which hardly depends on whether the score so far "
        "is high or low: the ordinary interval of the score needs no correction.",
        source="E. B. Wilson, JASA 22 (1927)",
        cases=(
            Case("±5 of 1,000, 0.5", ordinary_holds(1000, 5, 0.5), 0.94, 1.0),
            Case("±5 of 1,000, 0.9", ordinary_holds(1000, 5, 0.9), 0.94, 1.0),
            Case("±5 of 3,000, 0.9", ordinary_holds(3000, 5, 0.9), 0.94, 1.0),
            Case("±8 of 600, 0.95", ordinary_holds(600, 8, 0.95), 0.94, 1.0),
        ),
        repeats=2000,
        quick=10,
    ),
    Study(
        key="anytime-unscored",
        title="The anytime interval where some samples have no score",
        event="at any look the interval does not hold the mean of all that have one (nominal 0.05)",
        procedure="It is not known how many will be scored: the interval for data without end "
        "takes the place of that of the finite set.",
        source=_WAUDBY,
        cases=(
            Case("±8 of 600, alone", unscored_misses(600, 1, 8), 0.0, 0.05),
            Case("±8 of 600, 10 a picture", unscored_misses(600, 10, 8), 0.0, 0.05),
        ),
        repeats=1000,
        quick=20,
    ),
)
