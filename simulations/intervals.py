"""Intervals of single runs: how often 95 % of them hold the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from simulations.study import Case, Share, Study
from snellen.analysis.parsing.parsing_quality import ScoreError, extend_interval
from snellen.benchmarks.open_answers.coco_caption import bleu_of_sums
from snellen.core.summary import Interval
from snellen.scoring.headlines import mean_of_ratios
from snellen.stats.intervals import score_interval, wilson
from snellen.stats.linearised import interval_of_sums, unbounded_interval_of_sums
from snellen.stats.rank_intervals import largest_interval, mean_rank_intervals, ranks
from snellen.stats.stratified import GroupSums, group_sums, mean_of_groups

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Random = np.random.Generator
Drawn = Callable[[Random], Interval | None]
"""One data set, drawn anew, to its interval."""

_UNSEEN = (
    "The least and the greatest mean that are not rejected where clusters of samples, all wrong or "
    "all right, were not seen; with a cluster-robust variance. Assumes that clusters are drawn at "
    "random."
)
_WILSON = (
    "E. B. Wilson, JASA 22 (1927); K.-Y. Liang and S. Zeger, Biometrika 73 (1986); C. Franco et "
    "al., Journal of Survey Statistics and Methodology 7 (2019)"
)
_LINEARISED = f'K. M. Wolter, "Introduction to Variance Estimation" (2007), Ch. 6; {_WILSON}'


def covered(truth: float | Callable[[], float], drawn: Drawn) -> Share:
    """Share of the data sets whose interval holds the truth; one without an interval does not.

    A truth that takes long to compute is a function, which is called by the simulation alone.
    """

    def share(random: Random, repeats: int) -> float:
        held, value = 0, truth() if callable(truth) else truth
        for _ in range(repeats):
            found = drawn(random)
            held += found is not None and found.low <= value <= found.high
        return held / repeats

    return share


# Right and wrong answers about pictures.

_UNEVEN = (1, 1, 2, 3, 5, 8, 15)
"""Questions about each of seven pictures."""


def _sizes(samples: int, each: int) -> list[int]:
    """Questions about each picture; 0 for uneven ones."""
    if each:
        return [each] * (samples // each)
    sizes: list[int] = []
    while sum(sizes) < samples:
        sizes.append(min(_UNEVEN[len(sizes) % len(_UNEVEN)], samples - sum(sizes)))
    return sizes


def _hardness(random: Random, pictures: int, share: float, alike: float) -> NDArray[float64]:
    """The share of right answers about each picture, so that two answers about one correlate."""
    if not alike:
        return np.full(pictures, share)
    spread = (1 - alike) / alike
    return random.beta(share * spread, (1 - share) * spread, pictures)


def answers(samples: int, each: int, alike: float, share: float) -> Share:
    sizes = _sizes(samples, each)
    places = np.repeat(np.arange(len(sizes)), sizes)
    names = [] if each == 1 else [f"p{one}" for one in places]

    def drawn(random: Random) -> Interval | None:
        right = random.random(samples) < _hardness(random, len(sizes), share, alike)[places]
        return score_interval(right.astype(float).tolist(), names)

    return covered(share, drawn)


def _answer_cases() -> Iterator[Case]:
    layouts = (
        (20, 1, 0.0),
        (20, 5, 0.3),
        (20, 5, 0.5),
        (100, 1, 0.0),
        (100, 5, 0.3),
        (100, 0, 0.5),
        (100, 20, 0.5),
        (1000, 1, 0.0),
        (1000, 5, 0.0),
        (1000, 5, 0.3),
        (1000, 0, 0.5),
        (1000, 20, 0.1),
        (1000, 20, 0.5),
    )
    for samples, each, alike in layouts:
        about = {1: "alone", 0: "uneven pictures"}.get(each, f"{each} a picture")
        for share in (0.5, 0.9, 0.97, 0.99):
            label = f"{samples:,} questions, {about}, ICC {alike:g}, {100 * share:g} % right"
            # Wilson's interval itself: a share of a few hundred cannot have every coverage.
            low = 0.92 if each == 1 else 0.94
            yield Case(label, answers(samples, each, alike, share), low, 1.0)


# Parts of a point.


def near_misses(zeros: float, near: float, samples: int) -> Share:
    """Scores of 1, a share `near` of 0.85 to 0.95, a share `zeros` of 0."""

    def drawn(random: Random) -> Interval | None:
        lot = random.random(samples)
        scores = np.where(lot < zeros + near, 0.85 + 0.1 * random.random(samples), 1.0)
        return score_interval(np.where(lot < zeros, 0.0, scores).tolist())

    return covered(1 - zeros - 0.1 * near, drawn)


def parts(first: float, second: float, samples: int) -> Share:
    """Scores of a beta distribution."""

    def drawn(random: Random) -> Interval | None:
        return score_interval(random.beta(first, second, samples).tolist())

    return covered(first / (first + second), drawn)


def documents(count: int) -> Share:
    """ANLS of five questions about each document: right in 85 % of them, near in some others."""
    names = [f"d{at // 5}" for at in range(5 * count)]

    def drawn(random: Random) -> Interval | None:
        easy = np.repeat(random.beta(5.1, 0.9, count), 5)
        right, near = random.random((2, 5 * count))
        missed = np.where(near < 0.3, 0.5 + 0.5 * random.random(5 * count), 0.0)
        return score_interval(np.where(right < easy, 1.0, missed).tolist(), names)

    return covered(0.85 + 0.15 * 0.3 * 0.75, drawn)


def captions(samples: int) -> Share:
    """CIDEr of captions, whose scores of 0 to 10 are skewed: a mean near 0.96."""

    def drawn(random: Random) -> Interval | None:
        scores = np.minimum(random.gamma(1.2, 0.08, samples), 1.0)
        return score_interval(scores.tolist())

    return covered(0.096, drawn)


# Means of subtasks.


def subtasks(size: int, each: int, share: float, count: int = 162) -> Share:
    """Subtasks of so many questions, `each` about a picture, with an ICC of 0.3."""
    shares = np.clip(np.random.default_rng(8).beta(20 * share, 20 * (1 - share), count), 0.001, 0.999)
    places = np.arange(size) // each

    def drawn(random: Random) -> Interval:
        tallies = []
        for name, one in enumerate(shares):
            hard = _hardness(random, int(places[-1]) + 1, one, 0.3 if each > 1 else 0.0)
            right = (random.random(size) < hard[places]).astype(float)
            names = [f"{name}/{at}" if each > 1 else "" for at in places]
            tallies.append(group_sums(right.tolist(), names))
        return mean_of_groups(tallies)

    return covered(float(shares.mean()), drawn)


def alone(sizes: Sequence[int], share: float) -> Share:
    """Groups of these sizes, every question alone."""

    def drawn(random: Random) -> Interval:
        rights = random.binomial(sizes, share).tolist()
        return mean_of_groups(
            [
                group_sums([1.0] * right + [0.0] * (size - right), [""] * size)
                for right, size in zip(rights, sizes, strict=True)
            ]
        )

    return covered(share, drawn)


_MME_IMAGES = (30, 30, 30, 30, 147, 170, 200, 200, 200, 20, 70, 20, 20, 100)
"""Images of each subtask."""


def mme_total(accuracy: float, part: float = 1.0) -> Share:
    """Accuracy and accuracy+ of 14 subtasks; both questions about an image with an ICC of 0.3."""
    images = [max(2, round(part * count)) for count in _MME_IMAGES]
    both = accuracy**2 + 0.3 * accuracy * (1 - accuracy)

    def drawn(random: Random) -> Interval:
        tallies: list[GroupSums] = []
        for at, count in enumerate(images):
            right = random.random((count, 2)) < _hardness(random, count, accuracy, 0.3)[:, None]
            names = [f"{at}/{image}" for image in range(count)]
            pairs = [name for name in names for _ in range(2)]
            tallies.append(group_sums(right.ravel().astype(float).tolist(), pairs))
            tallies.append(group_sums(right.all(axis=1).astype(float).tolist(), names))
        return mean_of_groups(tallies)

    return covered((accuracy + both) / 2, drawn)


# Statistics of sums.


def pope_f1(pictures: int, yes: float, no: float) -> Share:
    """Three tracks with three questions of each gold answer about every picture."""
    names = [str(at) for at in range(pictures) for _ in range(18)]
    truth = 200 * yes / (1 + yes + 1 - no)

    def drawn(random: Random) -> Interval | None:
        rows = np.zeros((pictures, 3, 6, 6))
        found, invented = random.random((2, pictures, 3, 3)) < np.array([yes, 1 - no])[:, None, None, None]
        for track in range(3):
            rows[:, track, :3, 2 * track] = 2 * found[:, track]
            rows[:, track, :3, 2 * track + 1] = 1 + found[:, track]
            rows[:, track, 3:, 2 * track + 1] = invented[:, track]
        return interval_of_sums(rows.reshape(-1, 6), mean_of_ratios, names)

    return covered(truth, drawn)


def _grades(random: Random, pictures: int) -> NDArray[float64]:
    """Grades of a model and of a reference, 1 to 10, of two questions about each picture."""
    hard = random.standard_normal((pictures, 1))
    noise = random.standard_normal((2, pictures, 2))
    model = np.clip(6 + 1.5 * hard + 1.5 * noise[0], 1, 10)
    reference = np.clip(8.3 + 0.5 * hard + 0.8 * noise[1], 1, 10)
    return np.stack([model.ravel(), reference.ravel()], axis=1)


@cache
def _true_relative() -> float:
    sums = _grades(np.random.default_rng(1), 500_000).sum(axis=0)
    return float(100 * sums[0] / sums[1])


def relative(pictures: int) -> Share:
    names = [str(at) for at in range(pictures) for _ in range(2)]
    return covered(
        _true_relative, lambda random: unbounded_interval_of_sums(_grades(random, pictures), mean_of_ratios, names)
    )


def _counts(random: Random, captions: int) -> NDArray[float64]:
    """BLEU's counts of captions that are good or bad as a whole."""
    words = random.integers(6, 15, captions)
    good = random.beta(4, 3, captions)
    columns = [words, np.maximum(4, words + random.integers(-2, 3, captions))]
    guessed = [words - order for order in range(4)]
    correct = [random.binomial(guessed[order], good ** (0.6 + 0.5 * order)) for order in range(4)]
    return np.stack([*columns, *guessed, *correct], axis=1).astype(float)


def _bleu_4(sums: NDArray[float64]) -> NDArray[float64]:
    return bleu_of_sums(3, sums)


@cache
def _true_bleu_4() -> float:
    many = _counts(np.random.default_rng(2), 1_000_000)
    return float(_bleu_4(many.sum(axis=0, keepdims=True))[0])


def bleu(samples: int) -> Share:
    return covered(_true_bleu_4, lambda random: interval_of_sums(_counts(random, samples), _bleu_4))


# The reading of replies.


def reading(samples: int, bound: float, part: float) -> Share:
    """Reading makes the score lower (or higher, where `part` is negative) by a part of the bound,
    in points."""
    error = ScoreError(bound, bound)

    def drawn(random: Random) -> Interval:
        found = wilson(int(random.binomial(samples, 0.6 - part * bound / 100)), samples)
        return extend_interval(Interval(100 * found.low, 100 * found.high, "wilson"), error)

    return covered(60.0, drawn)


# Several models.


def largest(shares: Sequence[float], samples: int) -> Share:
    """The best score of models with these true ones, whichever it is."""

    def drawn(random: Random) -> Interval:
        right = random.binomial(samples, shares).tolist()
        intervals = [wilson(count, samples) for count in right]
        return largest_interval([count / samples for count in right], intervals)

    return covered(max(shares), drawn)


def mean_ranks(systems: int, tasks: int, samples: int, spread: float) -> Share:
    """Mean ranks of systems that differ by chance from task to task, and a little throughout:
    share of the intervals that hold what benchmarks of so many samples give on average."""
    made = np.random.default_rng([systems, tasks, samples])
    shares = made.uniform(0.3, 0.8, (tasks, 1)) + spread * (
        made.standard_normal((tasks, systems)) + np.linspace(-1, 1, systems)
    )
    shares = np.clip(shares, 0.05, 0.95)
    truth = ranks(made.binomial(samples, shares, (3000, tasks, systems))).mean(axis=(0, 1))

    def share(random: Random, repeats: int) -> float:
        held = 0
        for _ in range(repeats):
            right = random.binomial(samples, shares)
            drawn = random.binomial(samples, right / samples, (300, tasks, systems))
            found = mean_rank_intervals(right.astype(float), drawn.astype(float))
            held += sum(one.low <= rank <= one.high for one, rank in zip(found, truth, strict=True))
        return held / repeats / systems

    return share


STUDIES = (
    Study(
        key="score-interval",
        title="The interval of a mean of right and wrong answers",
        event="the 95 % interval holds the true score",
        procedure=f"{_UNSEEN} Where every question stands alone it is Wilson's, whose coverage "
        "for single shares of right answers and sizes lies between 0.92 and 0.98.",
        source=_WILSON,
        cases=tuple(_answer_cases()),
        repeats=4000,
        quick=60,
    ),
    Study(
        key="score-interval-parts",
        title="The interval of a mean of scores between 0 and 1",
        event="the 95 % interval holds the true score",
        procedure=_UNSEEN,
        source=_WILSON,
        cases=(
            *(
                Case(
                    f"near misses, mean {100 * (1 - zeros - 0.1 * near):g}, n = {samples}",
                    near_misses(zeros, near, samples),
                    0.94,
                    1.0,
                )
                for zeros, near, samples in (
                    (0.02, 0.1, 20),
                    (0.01, 0.1, 50),
                    (0.01, 0.1, 100),
                    (0.01, 0.1, 200),
                    (0.005, 0.05, 100),
                    (0.005, 0.05, 200),
                    (0.05, 0.1, 100),
                    (0.1, 0.1, 100),
                )
            ),
            *(
                Case(
                    f"grades about {first / (first + second):g}, n = {samples}",
                    parts(first, second, samples),
                    0.94,
                    1.0,
                )
                for first, second in ((6.0, 4.0), (0.3, 0.1))
                for samples in (5, 20, 100, 1000)
            ),
            *(Case(f"ANLS, {count} documents", documents(count), 0.94, 1.0) for count in (4, 10, 30, 100, 500)),
            *(Case(f"CIDEr, {samples} captions", captions(samples), 0.94, 1.0) for samples in (20, 100, 1000)),
        ),
        repeats=4000,
        quick=60,
    ),
    Study(
        key="mean-of-subtasks",
        title="The interval of a mean of subtasks",
        event="the 95 % interval holds the true mean",
        procedure=f"{_UNSEEN} Each subtask has its own correction for its number of clusters; "
        "subtasks of one cluster are joined by twos. Ten groups of ten that are nearly all right "
        "are covered as 100 questions are by Wilson's interval.",
        source='K. M. Wolter, "Introduction to Variance Estimation" (2007), Ch. 2 and 6',
        cases=(
            *(
                Case(
                    f"162 subtasks of {size}, {each} a picture, ICC 0.3, {100 * share:g} % right",
                    subtasks(size, each, share),
                    0.94,
                    1.0,
                )
                for share, size, each in (
                    (0.5, 20, 5),
                    (0.9, 20, 5),
                    (0.5, 6, 3),
                    (0.9, 6, 3),
                    (0.5, 3, 3),
                    (0.9, 3, 3),
                )
            ),
            Case("162 subtasks of 20, alone", subtasks(20, 1, 0.6), 0.94, 1.0),
            Case("162 subtasks of 3, alone", subtasks(3, 1, 0.6), 0.94, 1.0),
            # As Wilson's interval of 100 questions.
            Case("10 groups of 10, 99 % right", alone([10] * 10, 0.99), 0.92, 1.0),
            Case("groups of 3 and 997, 90 % right", alone([3, 997], 0.9), 0.94, 1.0),
            Case("groups of 10, 10, 5, 50, 500, 70 % right", alone([10, 10, 5, 50, 500], 0.7), 0.94, 1.0),
        ),
        repeats=4_000,
        quick=15,
    ),
    Study(
        key="mme-total",
        title="The interval of MME's total",
        event="the 95 % interval holds the true total",
        procedure=f"{_UNSEEN} Accuracy and accuracy+ of a subtask are two groups about the same images.",
        source='K. M. Wolter, "Introduction to Variance Estimation" (2007), Ch. 6',
        cases=tuple(
            Case(f"{100 * accuracy:g} % right, {told}", mme_total(accuracy, part), 0.94, 1.0)
            for accuracy in (0.5, 0.8, 0.95, 0.98)
            for told, part in (("all images", 1.0), ("a tenth of the images", 0.1))
        ),
        repeats=1000,
        quick=15,
    ),
    Study(
        key="statistics-of-sums",
        title="Intervals of F1, ratios and BLEU",
        event="the 95 % interval holds the true value",
        procedure=f"What each sample moves the statistic to first order takes the place of a score. {_UNSEEN}",
        source=_LINEARISED,
        cases=(
            *(
                Case(
                    f"POPE's F1, {pictures} pictures, yes {yes:g}, no {no:g} right",
                    pope_f1(pictures, yes, no),
                    0.94,
                    1.0,
                )
                for pictures in (4, 10, 20, 100)
                for yes, no in ((0.85, 0.9), (0.98, 0.98))
            ),
            *(
                Case(f"LLaVA-Bench's ratio, {pictures} pictures", relative(pictures), 0.94, 1.0)
                for pictures in (8, 24, 100)
            ),
            *(Case(f"BLEU-4, {samples} captions", bleu(samples), 0.94, 1.0) for samples in (20, 100, 1000)),
        ),
        quick=30,
    ),
    Study(
        key="reading-error",
        title="The interval with the reading error",
        event="the widened 95 % interval holds the score that correct reading would have",
        procedure="A bound on what reading can have done is added to each end in full.",
        source="G. W. Imbens and C. F. Manski, Econometrica 72 (2004), Sec. 3",
        cases=tuple(
            Case(f"n = {samples:,}, bound {bound:g} points, {told}", reading(samples, bound, part), 0.94, 1.0)
            for samples, bound in ((1000, 1.0), (1000, 3.0), (3000, 3.0), (10_000, 3.0))
            for told, part in (
                ("no error", 0.0),
                ("half of it", 0.5),
                ("all of it", 1.0),
                ("all of it, the other way", -1.0),
            )
        ),
        repeats=4000,
        quick=200,
    ),
    Study(
        key="best-of-models",
        title="The interval of the best of several models",
        event="the 95 % interval of the largest score holds the largest true score",
        procedure="Below the highest of the upper ends, and above every lower end at a level that "
        "is stricter by the number of models. Holds for models on the same samples too.",
        source="C. E. Bonferroni; for the choice of the largest: E. Lehmann and J. Romano, "
        '"Testing Statistical Hypotheses" (2005), Ch. 9',
        cases=(
            Case("one model", largest([0.6], 100), 0.94, 1.0),
            Case("ten equal models, n = 100", largest([0.6] * 10, 100), 0.94, 1.0),
            Case("ten equal models, n = 1,000", largest([0.6] * 10, 1000), 0.94, 1.0),
            Case("ten equal models, 98 % right", largest([0.98] * 10, 100), 0.94, 1.0),
            Case("ten models of 40 to 70 %", largest(np.linspace(0.4, 0.7, 10).tolist(), 100), 0.94, 1.0),
        ),
    ),
    Study(
        key="mean-ranks",
        title="The interval of a mean rank",
        event="the 95 % interval holds the mean rank that such benchmarks give on average",
        procedure="How far the mean ranks of samples drawn anew are from the observed ones. "
        "Assumes that samples are drawn at random; says nothing of the ranks of the true scores.",
        source="H. Goldstein and D. J. Spiegelhalter, JRSS A 159 (1996)",
        cases=tuple(
            Case(
                f"{systems} systems, {tasks} tasks of {samples}, spread {spread:g}",
                mean_ranks(systems, tasks, samples, spread),
                0.94,
                1.0,
            )
            for systems, tasks, samples, spread in (
                (6, 32, 100, 0.05),
                (6, 32, 20, 0.05),
                (12, 32, 100, 0.03),
                (6, 32, 100, 0.15),
                (4, 5, 100, 0.05),
                (2, 32, 100, 0.03),
            )
        ),
        repeats=400,
        quick=8,
    ),
)
