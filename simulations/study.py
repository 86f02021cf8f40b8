"""What a simulation of a statistical procedure is, and where the studies are.

A file of this package that has `STUDIES` adds them: nothing else names it. The full form of all
studies takes at most two hours on two cores, the quick form of all a minute: keep the quick form of
a study to about two seconds.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NamedTuple

import numpy as np

import simulations
from snellen.core.errors import UsageError

Share = Callable[[np.random.Generator, int], float]
"""(random, repeats) -> the share of repeats in which the event happened, or a mean over them."""

QUICK_ERRORS = 3.5
"""Standard errors by which the quick form widens the bounds: 1 case in 4,000 fails by chance."""


class Case(NamedTuple):
    """One setting of a study. The value of the full form must lie in low..high."""

    label: str
    share: Share
    low: float
    high: float

    @property
    def is_share(self) -> bool:
        """Whether the value is a share of repeats; else it is a mean of anything."""
        return 0 <= self.low <= self.high <= 1


class Study(NamedTuple):
    """A promise about a procedure, and the settings in which it is simulated."""

    key: str
    title: str
    event: str
    """What the value of a case is the share of: "two equal systems are told apart"."""
    procedure: str
    """What is used, and its assumption, in one or two sentences."""
    source: str
    """Paper and section."""
    cases: tuple[Case, ...]
    repeats: int = 2000
    quick: int = 200
    """Repeats of the full and of the quick form."""


@cache
def all_studies() -> dict[str, Study]:
    """Every study of every file of this package, by key and in the order of the keys.

    Raises:
        ValueError: two studies of one key, or two cases of one label in a study.
    """
    found: dict[str, Study] = {}
    for file in pkgutil.iter_modules(simulations.__path__):
        if file.name == "__main__":
            continue
        module = import_module(f"simulations.{file.name}")
        for study in getattr(module, "STUDIES", ()):
            labels = [case.label for case in study.cases]
            if study.key in found or len(set(labels)) < len(labels):
                raise ValueError(f"{file.name}: the study {study.key!r} or a label of it is twice")
            found[study.key] = study
    return dict(sorted(found.items()))


def find_study(key: str) -> Study:
    """Raises UsageError for a key that no study has."""
    studies = all_studies()
    if key not in studies:
        raise UsageError(f"no study {key!r}; there are {', '.join(studies)}")
    return studies[key]


def standard_error(case: Case, value: float, repeats: int) -> float:
    """Of a share over so many repeats."""
    return math.sqrt(max(0.0, value * (1 - value)) / repeats)


def bounds(case: Case, repeats: int, error: float, *, quick: bool) -> tuple[float, float]:
    """What the value must lie in. The quick form widens it by the chance of so many repeats: that
    at the bound itself for a share, the `error` seen for a mean."""
    if not quick:
        return case.low, case.high
    if not case.is_share:
        return case.low - QUICK_ERRORS * error, case.high + QUICK_ERRORS * error
    low = case.low - QUICK_ERRORS * standard_error(case, case.low, repeats)
    high = case.high + QUICK_ERRORS * standard_error(case, case.high, repeats)
    return max(0.0, low), min(1.0, high)
