"""How strict each of many comparisons must be, if their number is not known beforehand.

Checkpoints of a training run arrive one after another, and each is compared with the earlier ones
on the same samples. Nothing accumulates: every checkpoint brings new hypotheses, so that this is
multiple testing of a growing family, not a second look at one difference, and a confidence sequence
would answer another question. The probability of any error over the whole family is spent in
advance (K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials",
Biometrika 70, 1983; D. P. Foster and R. A. Stine, "alpha-investing", JRSS B 70, 2008, Sec. 2): the
n-th checkpoint after the first gets the share

    10 / ((n + 9) (n + 10)),

which sum to n / (n + 10) over the first n, and to 1 over all. Boole's inequality then bounds the
probability that any interval misses its difference, however the samples depend on each other.

Every pair of checkpoints has a part of it. So the intervals of all pairs hold at once, and with
them that of the pair which was chosen by looking at the scores: "the best so far" is chosen so, and
its score is too high on average (the winner's curse).
"""

from __future__ import annotations

_SLOWNESS = 10
"""The larger, the more evenly the first comparisons share; half of the error probability is spent
when so many are made."""


def step_share(number: int) -> float:
    """The share of the error probability for the `number`-th checkpoint after the first one. Raises
    ValueError for a number below 1.
    """
    if number < 1:
        raise ValueError(f"expected the number of a checkpoint from 1 on, got {number}")
    return _SLOWNESS / ((number + _SLOWNESS - 1) * (number + _SLOWNESS))


def pair_error(number: int, *, is_previous: bool, families: int = 1, total_error: float = 0.05) -> float:
    """The probability with which the interval of one pair may miss its difference.

    The `number`-th checkpoint after the first one has as many earlier ones. Half of its share is
    for the comparison with the previous one, the other half is divided among the others. `families`
    is the number of curves, such as benchmarks, that `total_error` is for. Raises ValueError for a
    number or `families` below 1, a `total_error` outside (0, 1).
    """
    if families < 1 or not 0 < total_error < 1:
        raise ValueError(f"expected families from 1 and an error in (0, 1), got {families}, {total_error}")
    share = total_error * step_share(number) / families
    if number == 1:
        return share
    return share / 2 if is_previous else share / (2 * (number - 1))
