"""Agreement of judges beyond chance: Cohen's and Fleiss' kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def cohen_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Cohen's kappa of two judges' grades of the same samples (Cohen 1960), -1..1: observed
    against expected agreement, with grades as categories.

    None without samples, and if both judges always give the same single grade, where the expected
    agreement is 1.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} grades; expected as many")
    if not first:
        return None
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    ours, theirs = Counter(first), Counter(second)
    expected = sum(ours[grade] * theirs[grade] for grade in ours) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def fleiss_kappa(grades: Sequence[Sequence[float]]) -> float | None:
    """Fleiss' kappa of the grades of each sample, (samples, judges), with grades as categories
    (Fleiss 1971).

    None without samples, with fewer than two judges, and if all grades are the same.
    """
    if not grades or len(grades[0]) < 2:
        return None
    judges = len(grades[0])
    if any(len(row) != judges for row in grades):
        raise ValueError("every sample needs the same number of grades")
    agreement = 0.0
    overall: Counter[float] = Counter()
    for row in grades:
        counts = Counter(row)
        overall.update(counts)
        agreement += sum(c * (c - 1) for c in counts.values()) / (judges * (judges - 1))
    observed = agreement / len(grades)
    total = len(grades) * judges
    expected = sum((count / total) ** 2 for count in overall.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)
