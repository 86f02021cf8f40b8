"""We-Math's four dimensions: does a right answer rest on its steps? (Qiao et al. 2024,
arXiv:2407.01284, Sec. 3.3)

A composite problem and its sub-steps, each right or wrong, fall under one of

IK insufficient knowledge: a step wrong, the composite wrong;
IG inadequate generalisation: every step right, the composite wrong;
CM complete mastery: the composite right, every step right (strict) or at least one (loose);
RM rote memorisation: the composite right, a step wrong (strict) or all wrong (loose).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

Mode = Literal["strict", "loose"]
MODES: tuple[Mode, ...] = get_args(Mode)
Dimension = Literal["IK", "IG", "CM", "RM"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
WORTH: Mapping[Dimension, float] = {"IK": 0.0, "IG": 0.5, "CM": 1.0, "RM": 0.0}
"""Score of a problem by dimension."""


class CompositeProblem(NamedTuple):
    """A composite problem: whether each sub-step, and the composite itself, was answered right."""

    steps: tuple[bool, ...]
    is_solved: bool


class Mastery(NamedTuple):
    """Fractions in 0..1. `rote` is RM among the composites that are right (CM and RM), 0 if none
    is."""

    score: float
    insufficient: float
    inadequate: float
    complete: float
    rote: float
    n: int


def dimension(problem: CompositeProblem, mode: Mode) -> Dimension:
    """The dimension of a problem under the strict or loose rule."""
    if not problem.is_solved:
        return "IG" if all(problem.steps) else "IK"
    mastered = all(problem.steps) if mode == "strict" else any(problem.steps)
    return "CM" if mastered else "RM"


def mastery(problems: Iterable[CompositeProblem], mode: Mode) -> Mastery | None:
    """The rates and the mean score of the problems; None without problems."""
    problem_list: Sequence[CompositeProblem] = list(problems)
    if not problem_list:
        return None
    counts = Counter(dimension(problem, mode) for problem in problem_list)
    n = len(problem_list)
    right = counts["CM"] + counts["RM"]
    return Mastery(
        score=sum(WORTH[name] * counts[name] for name in DIMENSIONS) / n,
        insufficient=counts["IK"] / n,
        inadequate=counts["IG"] / n,
        complete=counts["CM"] / n,
        rote=counts["RM"] / right if right else 0.0,
        n=n,
    )
