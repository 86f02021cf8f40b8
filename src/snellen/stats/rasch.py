"""The Rasch model of right and wrong answers: samples differ in difficulty, systems in ability.

G. Rasch, "Probabilistic Models for Some Intelligence and Attainment Tests" (1960). Abilities by
conditional maximum likelihood, given how many systems answer each sample right, which leaves the
difficulties out: E. B. Andersen, JRSS B 32 (1970). Difficulties as a normal distribution, fitted
to the same numbers: E. B. Andersen and M. Madsen, Psychometrika 42 (1977).
"""

from __future__ import annotations

from typing import NamedTuple

from snellen.core.arrays import Floats, Ints, np

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MEANS = np.linspace(-6, 6, 61)
_SPREADS = np.concatenate((np.linspace(0, 3, 31), np.linspace(3.25, 6, 12)))
"""Grid of means and standard deviations of difficulty distributions, in logits."""
_CELLS, _LEAST_PAIRS = 1 << 14, 64
"""Numbers of a block of pairs of systems, which stays in the processor's cache; its least number of pairs."""
_LARGEST_ABILITY = 8.0
"""Bound in logits from the mean: systems with all or no answers right have no finite ability."""


class Difficulties(NamedTuple):
    """A normal distribution of difficulties, in logits."""

    mean: float
    spread: float


def abilities(right: Floats, weights: Floats) -> Floats:
    """Ability of each system in logits, with mean 0: (systems,).

    `right` is (samples, systems) of 0 and 1, `weights` (samples,) is how often each sample counts.
    Samples that all or no systems answer right carry no information. Raises ValueError for fewer
    than two systems.
    """
    systems = right.shape[1]
    if systems < 2:
        raise ValueError(f"abilities are compared: expected two or more systems, got {systems}")
    totals = right.sum(axis=1).round().astype(np.intp)
    informative = (totals > 0) & (totals < systems)
    counts = np.bincount(totals[informative], weights[informative], minlength=systems + 1)
    scores = weights[informative] @ right[informative]
    ability = np.zeros(systems)
    if not counts.any():
        return ability
    for _ in range(100):
        chances, joint = _chances_by_total(ability)
        expected = counts @ chances
        # Newton's step with the covariance of the scores. They sum to a constant, so that it is
        # singular along the vector of ones: hence the pseudo-inverse.
        pairs = np.tensordot(counts, joint, 1)
        covariance = pairs - np.einsum("c,ci,cj->ij", counts, chances, chances)
        step = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True) @ (scores - expected)
        largest = float(np.abs(step).max())
        ability = ability + step * min(1.0, 1.0 / max(largest, 1e-300))
        ability = np.clip(ability - ability.mean(), -_LARGEST_ABILITY, _LARGEST_ABILITY)
        if largest < 1e-9:
            break
    return ability


def elementary_symmetric(weights: Floats) -> Floats:
    """Elementary symmetric functions of orders 0, 1, ..., len(weights) of these numbers."""
    functions = np.zeros(len(weights) + 1)
    functions[0] = 1.0
    for count, weight in enumerate(weights, start=1):
        functions[1 : count + 1] = functions[1 : count + 1] + weight * functions[:count]
    return functions


def _chances_by_total(ability: Floats) -> tuple[Floats, Floats]:
    """Probability that each system, and each pair of systems, is right on a sample that `c` systems
    answer right: (systems + 1, systems) and (systems + 1, systems, systems), by c.

    Ratios of elementary symmetric functions: the sum over all sets of c systems that contain the
    system, divided by the sum over all sets of c systems.
    """
    odds = np.exp(ability)
    systems = len(odds)
    total = elementary_symmetric(odds)
    chances = np.zeros((systems + 1, systems))
    chances[1:] = odds * _without(odds, np.arange(systems)[:, None])[:systems] / total[1:, None]
    joint = np.zeros((systems + 1, systems, systems))
    joint[:, range(systems), range(systems)] = chances
    pairs = np.stack(np.tril_indices(systems, -1), axis=1)
    step = max(_LEAST_PAIRS, _CELLS // systems)
    for start in range(0, len(pairs), step):
        some = pairs[start : start + step]
        first, second = some.T
        both = (odds[first] * odds[second]) * _without(odds, some)[: systems - 1] / total[2:, None]
        joint[2:, first, second] = joint[2:, second, first] = both
    return chances, joint


def _without(weights: Floats, left_out: Ints) -> Floats:
    """`elementary_symmetric` of the weights without some, by row of `left_out` (rows, number): (weights + 1, rows)."""
    rows = np.arange(len(left_out))
    kept = np.repeat(weights[:, None], len(rows), axis=1)
    kept[left_out, rows[:, None]] = 0.0
    functions = np.zeros((len(weights) + 1, len(rows)))
    functions[0] = 1.0
    for count, weight in enumerate(kept, start=1):
        functions[1 : count + 1] = functions[1 : count + 1] + weight * functions[:count]
    return functions


class DifficultyGrid:
    """Fits a normal distribution of difficulties to systems of known abilities, by a grid search.

    The probabilities that 0, 1, ... systems answer a sample right are computed once for the grid
    and used for many counts.
    """

    def __init__(self, ability: Floats) -> None:
        self._means, self._spreads = (values.ravel() for values in np.meshgrid(_MEANS, _SPREADS, indexing="ij"))
        hard = self._means[:, None] + self._spreads[:, None] * _NODES  # (grid, nodes)
        # P(c right | difficulty) = e_c exp(-c hard) / prod(1 + exp(ability - hard))
        bases = np.zeros_like(hard)
        for system_ability in ability.tolist():
            bases -= np.logaddexp(0.0, system_ability - hard)
        sums = elementary_symmetric(np.exp(ability))
        chances = [sums[order] * (np.exp(bases - order * hard) @ _WEIGHTS) for order in range(len(sums))]
        self._logs = np.log(np.maximum(np.stack(chances), 1e-300))

    def fit(self, counts: Floats) -> Difficulties:
        """The distribution under which `counts` is most likely: counts[c] samples that c systems
        answer right."""
        best = int((counts @ self._logs).argmax())
        return Difficulties(float(self._means[best]), float(self._spreads[best]))


def weighted_nodes(difficulties: Difficulties) -> tuple[Floats, Floats]:
    """The nodes of the quadrature over a distribution, and their weights, which sum to 1."""
    return difficulties.mean + difficulties.spread * _NODES, _WEIGHTS


def right_chance(ability: float | Floats, hard: Floats) -> Floats:
    """Probability of a right answer in the Rasch model."""
    chances: Floats = 1.0 / (1.0 + np.exp(hard - ability))
    return chances


def draw_patterns(ability: Floats, total: int, draws: int, random: np.random.Generator) -> Floats:
    """Draw which systems answer a sample right, given that `total` of them do: (draws, systems).

    Conditional Bernoulli sampling, one system after the other: a system is right with the
    probability of the sets of systems that contain it, among all sets of those still to come with
    as many right answers as remain.
    """
    odds = np.exp(ability)
    systems = len(odds)
    patterns = np.zeros((draws, systems))
    remaining = np.full(draws, total)
    for system in range(systems):
        others = elementary_symmetric(odds[system + 1 :])
        # Indexed by the number of right answers that remain for this system and the later ones.
        right = np.concatenate(([0.0], odds[system] * others))
        wrong = np.concatenate((others, [0.0]))
        chance = right / (right + wrong)
        is_right = random.random(draws) < chance[remaining]
        patterns[:, system] = is_right
        remaining = remaining - is_right
    return patterns
