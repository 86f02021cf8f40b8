"""Two systems on the same samples: tests, intervals, margins and samples needed, as `compare` has
them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simulations.study import Case, Share, Study
from snellen.analysis.comparison.groups import pair_means
from snellen.analysis.comparison.paired import margin_of
from snellen.core.summary import HeadlineSums
from snellen.scoring.headlines import RatioTerm as Part
from snellen.scoring.headlines import sum_of_ratios
from snellen.stats.paired import PairedMean, holm, paired_means, required_samples
from snellen.stats.paired_statistics import linearise, paired_statistics

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
_AT_ONCE = 100
"""Repeats that share the sizes of their pictures."""
_TRUTH = 400_000
"""Draws from which a true value is known to a thousandth of a point."""

T_TEST = (
    "CR2 variance over clusters and Student's t with Satterthwaite's degrees of freedom, no surer "
    "than flipping the signs of clusters. Pictures are drawn at random; below five there is no "
    "test."
)
T_SOURCE = (
    "R. M. Bell and D. F. McCaffrey, Survey Methodology 28 (2002), Sec. 3; G. W. Imbens and M. "
    "Kolesar, Review of Economics and Statistics 98 (2016), Sec. IV"
)
SCORE = "McNemar's score test and Tango's interval; samples are drawn at random and stand alone."
SCORE_SOURCE = "T. Tango, Statistics in Medicine 17 (1998), eqs. 3 and 7"

# Ways to say how many questions each picture has.
Sizes = Callable[[np.random.Generator], Numbers]


def even(pictures: int, each: int) -> Sizes:
    return lambda random: np.full(pictures, each)


def uneven(pictures: int, each: int) -> Sizes:
    return lambda random: np.maximum(1, random.geometric(1 / each, pictures))


def one_large(pictures: int, each: int) -> Sizes:
    """One picture has half of the questions."""
    return lambda random: np.array([each * (pictures - 1)] + [each] * (pictures - 1))


def differences(
    random: np.random.Generator, sizes: Numbers, repeats: int, discordance: float, icc: float
) -> tuple[Floats, Numbers]:
    """Of two equally good systems, (samples, repeats): each picture tilts to one of them."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    tilt = math.sqrt(icc) * random.choice([-1, 1], (len(sizes), repeats))[labels]
    sign = np.where(random.random(tilt.shape) < 0.5 + tilt / 2, 1.0, -1.0)
    return np.where(random.random(tilt.shape) < discordance, sign, 0.0), labels


def batches(repeats: int) -> list[int]:
    full, rest = divmod(repeats, _AT_ONCE)
    return [_AT_ONCE] * full + [rest] * bool(rest)


def told_apart(found: Sequence[PairedMean]) -> int:
    return sum(one.p is not None and one.p < 0.05 for one in found)


def holds(found: Sequence[PairedMean], truth: float) -> int:
    """How many intervals hold the truth; one that is not given claims nothing."""
    return sum(one.interval is None or one.interval.low <= truth <= one.interval.high for one in found)


def equal_on_pictures(sizes: Sizes, discordance: float = 0.3, icc: float = 0.3) -> Share:
    def share(random: np.random.Generator, repeats: int) -> float:
        return (
            sum(
                told_apart(paired_means(*differences(random, sizes(random), many, discordance, icc)))
                for many in batches(repeats)
            )
            / repeats
        )

    return share


def equal_with_credit(samples: int, *, skewed: bool = False) -> Share:
    """Every sample alone, scores in parts; `skewed`: nearly all are full marks."""

    def share(random: np.random.Generator, repeats: int) -> float:
        size = (samples, repeats)
        if skewed:
            scores = [np.where(random.random(size) < 0.8, 1.0, random.random(size)) for _ in range(2)]
            found = scores[1] - scores[0]
        else:
            found = random.normal(0, 0.2, size).clip(-1, 1)
        return told_apart(paired_means(found, np.arange(samples))) / repeats

    return share


def two_systems(
    random: np.random.Generator, right: Sequence[Floats | float], labels: Numbers, icc: float
) -> list[NDArray[np.bool_]]:
    """Answers of systems that are right with these chances: hard questions are hard for both, and
    each system errs together on a picture."""
    hard = random.normal(size=len(labels))
    found = []
    for chance in right:
        own = random.normal(size=int(labels.max()) + 1)[labels]
        rest = random.normal(size=len(labels))
        ease = math.sqrt(0.4) * hard + math.sqrt(icc) * own + math.sqrt(0.6 - icc) * rest
        found.append(ease < _quantiles(chance))
    return found


def _quantiles(chance: Floats | float) -> Floats:
    normal = NormalDist()
    values, places = np.unique(chance, return_inverse=True)
    found: Floats = np.array([normal.inv_cdf(one) for one in values.tolist()])[places]
    return found


def covers_on_pictures(sizes: Sizes, first: float, second: float, icc: float) -> Share:
    def share(random: np.random.Generator, repeats: int) -> float:
        held = 0
        for _ in range(repeats):
            drawn = sizes(random)
            labels = np.repeat(np.arange(len(drawn)), drawn)
            one, other = two_systems(random, (first, second), labels, icc)
            found = paired_means((other.astype(float) - one)[:, None], labels)
            held += holds(found, second - first)
        return held / repeats

    return share


def right_or_wrong(samples: int, won: float, lost: float, *, covers: bool = False) -> Share:
    """Samples that only the second, and only the first has right, with these chances."""

    def share(random: np.random.Generator, repeats: int) -> float:
        chances = (won, lost, 1 - won - lost)
        found = random.choice([1.0, -1.0, 0.0], (samples, repeats), p=chances)
        means = paired_means(found, np.arange(samples))
        return (holds(means, won - lost) if covers else told_apart(means)) / repeats

    return share


def headline(sums: HeadlineSums, other: HeadlineSums, labels: Numbers, top: float) -> list[PairedMean]:
    strata = np.unique(sums.strata, return_inverse=True)[1] if sums.strata else None
    systems = [linearise(one.rows, labels, one.value, one.weights) for one in (sums, other)]
    return paired_statistics(systems, [(0, 1)], labels, strata, top=top)


def f1(right: NDArray[np.bool_], gold: NDArray[np.bool_]) -> HeadlineSums:
    """As POPE's, over one track."""
    said = np.where(right, gold, ~gold)
    found = sum_of_ratios(
        [
            [Part("all", 2.0 * (yes and true), 2.0 * (yes and true) + (yes != true))]
            for yes, true in zip(said.tolist(), gold.tolist(), strict=True)
        ]
    )
    assert found is not None
    return found


def f1_case(pictures: int, says: tuple[float, float], worse: float, *, covers: bool) -> Share:
    """Six questions a picture; `says`: right on yes and on no; the second is right on less yes."""

    def share(random: np.random.Generator, repeats: int) -> float:
        labels = np.repeat(np.arange(pictures), 6)
        gold = np.arange(len(labels)) % 2 == 0
        chances = [np.where(gold, says[0] - less, says[1]) for less in (0.0, worse)]
        truth = _f1(says[0] - worse, says[1]) - _f1(*says)
        count = 0
        for _ in range(repeats):
            one, other = two_systems(random, chances, labels, 0.3)
            found = headline(f1(one, gold), f1(other, gold), labels, 100.0)
            count += holds(found, truth) if covers else told_apart(found)
        return count / repeats

    return share


def _f1(on_yes: float, on_no: float) -> float:
    return 100 * 2 * on_yes / (2 * on_yes + (1 - on_yes) + (1 - on_no))


def macro_case(groups: Sequence[int], each: int, better: float, *, covers: bool, icc: float = 0.3) -> Share:
    """Subtasks of so many questions, `each` about a picture, of different difficulty."""
    strata = np.repeat(np.arange(len(groups)), groups)
    labels = np.unique(
        [(group, at // each) for group, many in enumerate(groups) for at in range(many)], axis=0, return_inverse=True
    )[1].ravel()
    ease = np.linspace(0.45, 0.85, len(groups))[strata]

    def sums(right: NDArray[np.bool_]) -> HeadlineSums:
        found = sum_of_ratios(
            [[Part(str(group), float(one))] for group, one in zip(strata.tolist(), right.tolist(), strict=True)],
            strata=[str(one) for one in strata],
        )
        assert found is not None
        return found

    def share(random: np.random.Generator, repeats: int) -> float:
        count = 0
        for _ in range(repeats):
            one, other = two_systems(random, (ease, ease + better), labels, icc)
            found = headline(sums(one), sums(other), labels, 100.0)
            count += holds(found, 100 * better) if covers else told_apart(found)
        return count / repeats

    return share


def mme_case(pictures: int, right: float, better: float, *, covers: bool) -> Share:
    """Fourteen subtasks: right answers over questions, and pictures with both right."""
    parts = 14
    names = [f"{part}/{at}" for part in range(parts) for at in range(pictures) for _ in range(2)]
    labels = np.unique(names, return_inverse=True)[1]
    subtasks = [name.partition("/")[0] for name in names]

    def sums(answers: NDArray[np.bool_]) -> HeadlineSums:
        added = []
        for at, (subtask, one) in enumerate(zip(subtasks, answers.tolist(), strict=True)):
            both = [Part(f"{subtask}+", float(one and answers[at + 1]))] if at % 2 == 0 else []
            added.append([Part(subtask, float(one)), *both])
        weights = {part.ratio: 100.0 for parts in added for part in parts}
        found = sum_of_ratios(added, weights, strata=subtasks)
        assert found is not None
        return found

    def share(random: np.random.Generator, repeats: int) -> float:
        pair = np.repeat(np.arange(_TRUTH // 2), 2)
        true = []
        for chance in (right, right + better):
            (drawn,) = two_systems(random, (chance,), pair, 0.3)
            both = drawn.reshape(-1, 2)
            true.append(100 * parts * (both.mean() + both.all(axis=1).mean()))
        count = 0
        for _ in range(repeats):
            one, other = two_systems(random, (right, right + better), labels, 0.3)
            found = headline(sums(one), sums(other), labels, 200.0 * parts)
            count += holds(found, true[1] - true[0]) if covers else told_apart(found)
        return count / repeats

    return share


def any_of_many(systems: int, each: int) -> Share:
    """Equally good systems on 240 samples: one pair at least is told apart after Holm."""
    pairs = list(combinations(range(systems), 2))

    def share(random: np.random.Generator, repeats: int) -> float:
        found = 0
        labels = np.arange(240) // each
        for _ in range(repeats):
            scores = np.stack(two_systems(random, [0.6] * systems, labels, 0.3 if each > 1 else 0.0), axis=1).astype(
                float
            )
            tested = pair_means(scores, labels, pairs, 0.95)
            found += min(holm([one.p for one in tested if one.p is not None])) < 0.05
        return found / repeats

    return share


def no_worse(samples: int, each: int, discordance: float, *, both: bool = False) -> Share:
    """The second is worse by the very margin, 0.1: it is told to be no worse (`both`: equivalent)
    all the same."""

    def share(random: np.random.Generator, repeats: int) -> float:
        labels = np.arange(samples) // each
        chances = ((discordance - 0.1) / 2, (discordance + 0.1) / 2, 1 - discordance)
        picked = random.random((samples, repeats))
        if each > 1:  # half of the questions of a picture are answered as its first one is
            follows = random.random((samples, repeats)) < 0.5
            picked = np.where(follows, picked[labels * each], picked)
        found = np.where(picked < chances[0], 1.0, np.where(picked < sum(chances[:2]), -1.0, 0.0))
        count = 0
        lower, upper = (paired_means(found, labels, null=null) for null in (-0.1, 0.1))
        for ends in zip(lower, upper, strict=True):
            one = margin_of(10, 0.1, *ends)
            if one is not None:
                p = max(one.second_no_worse, one.first_no_worse) if both else one.second_no_worse
                count += p < 0.05
        return count / repeats

    return share


def power(difference: float, discordance: float) -> Share:
    """On as many samples as `needed` says, the difference is told apart."""

    def share(random: np.random.Generator, repeats: int) -> float:
        samples = required_samples(difference, discordance)
        assert samples is not None
        won, lost = (discordance + difference) / 2, (discordance - difference) / 2
        found = 0
        for many in batches(repeats):
            drawn = random.choice([1.0, -1.0, 0.0], (samples, many), p=(won, lost, 1 - won - lost))
            found += told_apart(paired_means(drawn, np.arange(samples)))
        return found / repeats

    return share


def level(label: str, share: Share) -> Case:
    return Case(label, share, 0.0, 0.06)


def coverage(label: str, share: Share) -> Case:
    return Case(label, share, 0.94, 1.0)


STUDIES = (
    Study(
        "paired-clusters",
        "Differences on questions that share pictures",
        "two equal systems are told apart (nominal 0.05)",
        T_TEST,
        T_SOURCE,
        (
            *(
                level(f"{pictures} pictures of 5 questions", equal_on_pictures(even(pictures, 5)))
                for pictures in (4, 5, 6, 10, 20, 50, 400)
            ),
            *(
                level(f"{pictures} pictures of 1 to about 20 questions", equal_on_pictures(uneven(pictures, 5)))
                for pictures in (5, 6, 10, 20, 50, 400)
            ),
            level("20 pictures, one with half of the questions", equal_on_pictures(one_large(20, 5))),
            level("20 pictures that go wholly to one system", equal_on_pictures(even(20, 5), 0.9, 1.0)),
            level("20 uneven pictures that go wholly to one system", equal_on_pictures(uneven(20, 5), 0.9, 1.0)),
            level("50 pictures, one answer in 30 differs", equal_on_pictures(even(50, 5), 0.03)),
        ),
        repeats=20_000,
    ),
    Study(
        "paired-credit",
        "Differences of scores in parts, every sample alone",
        "two equal systems are told apart (nominal 0.05)",
        T_TEST,
        T_SOURCE,
        (
            *(
                level(f"{samples} samples", equal_with_credit(samples))
                for samples in (2, 4, 5, 8, 12, 20, 50, 200, 1000)
            ),
            *(
                level(f"{samples} samples, most with full marks", equal_with_credit(samples, skewed=True))
                for samples in (8, 20, 200)
            ),
        ),
        repeats=20_000,
    ),
    Study(
        "paired-coverage",
        "Intervals of differences on questions that share pictures",
        "the 95 % interval holds the true difference",
        T_TEST,
        T_SOURCE,
        (
            coverage("10 pictures of 5", covers_on_pictures(even(10, 5), 0.5, 0.7, 0.3)),
            coverage("20 pictures of 1 to about 20", covers_on_pictures(uneven(20, 5), 0.5, 0.7, 0.3)),
            coverage("50 pictures of 6, near the ceiling", covers_on_pictures(even(50, 6), 0.9, 0.98, 0.3)),
            coverage("200 pictures of 5", covers_on_pictures(even(200, 5), 0.6, 0.62, 0.5)),
        ),
        repeats=20_000,
        quick=50,
    ),
    Study(
        "paired-right-or-wrong",
        "Right or wrong, every sample alone",
        "two equal systems are told apart (nominal 0.05)",
        SCORE,
        SCORE_SOURCE,
        tuple(
            level(f"{samples} samples, {2 * share:.0%} differ", right_or_wrong(samples, share, share))
            for samples, share in (
                (5, 0.3),
                (8, 0.4),
                (12, 0.3),
                (20, 0.15),
                (50, 0.05),
                (100, 0.15),
                (1000, 0.01),
                (1000, 0.15),
            )
        ),
        repeats=20_000,
    ),
    Study(
        "paired-tango",
        "The interval of right or wrong, every sample alone",
        "the 95 % interval holds the true difference",
        SCORE,
        SCORE_SOURCE,
        tuple(
            coverage(
                f"{samples} samples, {won:.0%} won, {lost:.0%} lost", right_or_wrong(samples, won, lost, covers=True)
            )
            for samples, won, lost in (
                (20, 0.3, 0.1),
                (50, 0.1, 0.02),
                (100, 0.3, 0.1),
                (200, 0.05, 0.01),
                (1000, 0.15, 0.13),
                (1000, 0.02, 0.0),
            )
        ),
        repeats=20_000,
    ),
    Study(
        "paired-headlines",
        "Headlines that are no mean over samples",
        "two equal systems are told apart (nominal 0.05)",
        "The headline is linearised in its sums; then as for means. " + T_TEST,
        "D. A. Binder, International Statistical Review 51 (1983)",
        (
            *(
                level(f"F1, {pictures} pictures of 6 questions", f1_case(pictures, (0.85, 0.9), 0.0, covers=False))
                for pictures in (6, 10, 20, 50, 100)
            ),
            level("mean of 60 subtasks of 6, 3 a picture", macro_case([6] * 60, 3, 0.0, covers=False)),
            level("mean of subtasks of 5 to 500", macro_case([10, 10, 5, 50, 500], 1, 0.0, covers=False, icc=0.0)),
            level("mean of 40 subtasks of one or two", macro_case([1, 2, 2, 1] * 10, 1, 0.0, covers=False, icc=0.0)),
            level("MME, 10 pictures a subtask", mme_case(10, 0.8, 0.0, covers=False)),
            level("MME, 40 pictures a subtask", mme_case(40, 0.8, 0.0, covers=False)),
        ),
        quick=20,
    ),
    Study(
        "paired-headline-coverage",
        "Intervals of differences of headlines",
        "the 95 % interval holds the true difference",
        "The headline is linearised in its sums; then as for means. " + T_TEST,
        "D. A. Binder, International Statistical Review 51 (1983)",
        (
            *(
                coverage(f"F1, {pictures} pictures of 6 questions", f1_case(pictures, (0.85, 0.9), 0.15, covers=True))
                for pictures in (6, 10, 20, 50, 100)
            ),
            coverage("F1, 20 pictures, near the ceiling", f1_case(20, (0.98, 0.98), 0.03, covers=True)),
            coverage("mean of 60 subtasks of 6, 3 a picture", macro_case([6] * 60, 3, 0.1, covers=True)),
            coverage("mean of subtasks of 5 to 500", macro_case([10, 10, 5, 50, 500], 1, 0.1, covers=True, icc=0.0)),
            coverage("MME, 10 pictures a subtask", mme_case(10, 0.8, 0.1, covers=True)),
            coverage("MME, 40 pictures a subtask", mme_case(40, 0.9, 0.05, covers=True)),
        ),
        quick=20,
    ),
    Study(
        "paired-many",
        "All 528 pairs of 33 systems",
        "any two of 33 equal systems are told apart (nominal 0.05)",
        "p of all pairs adjusted by Holm; nothing is assumed of their dependence.",
        "S. Holm, Scandinavian Journal of Statistics 6 (1979)",
        (level("240 samples on 40 pictures", any_of_many(33, 6)), level("240 samples alone", any_of_many(33, 1))),
        repeats=1_000,
        quick=15,
    ),
    Study(
        "paired-margin",
        "No worse than by a margin, and equivalent",
        "a system that is worse by the very margin is told to be within it (nominal 0.05)",
        "Two one-sided tests, each as the test of a difference with the margin in place of 0.",
        "D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987)",
        (
            level("50 samples alone", no_worse(50, 1, 0.3)),
            level("200 samples alone", no_worse(200, 1, 0.2)),
            level("1,000 samples alone", no_worse(1000, 1, 0.3)),
            level("20 pictures of 5", no_worse(100, 5, 0.3)),
            level("100 pictures of 5", no_worse(500, 5, 0.3)),
            level("200 samples alone, equivalent", no_worse(200, 1, 0.2, both=True)),
        ),
        repeats=20_000,
    ),
    Study(
        "paired-power",
        "Samples needed for a difference",
        "the difference is told apart (0.80 promised)",
        "Normal approximation of the score test, for samples that stand alone.",
        "R. J. Connor, Biometrics 43 (1987), eq. 3",
        tuple(
            Case(f"{100 * difference:g} points, {discordance:.0%} differ", power(difference, discordance), 0.78, 0.82)
            for difference, discordance in ((0.02, 0.1), (0.05, 0.2), (0.1, 0.3), (0.15, 0.4))
        ),
        repeats=4_000,
        quick=50,
    ),
)
