"""Carries out studies, in processes over their cases."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import fmean, stdev
from typing import NamedTuple

from simulations.study import Case, Study, bounds, find_study, standard_error
from snellen.stats.resampling import seeded_generator

_BATCHES = 10
"""Parts whose means tell the standard error of a mean."""


class Outcome(NamedTuple):
    """The value of a case, its Monte Carlo standard error, and whether it is as promised."""

    study: str
    case: str
    value: float
    error: float
    repeats: int
    seconds: float
    low: float
    high: float

    @property
    def kept(self) -> bool:
        """Whether the value lies in what was promised."""
        return self.low <= self.value <= self.high


def simulate(study: Study, case: Case, *, quick: bool) -> Outcome:
    """One case, from random numbers of its own: by the study's key and the case's label, and so
    independent of which others are carried out."""
    repeats = study.quick if quick else study.repeats
    random = seeded_generator(f"{study.key}/{case.label}")
    started = time.perf_counter()
    if case.is_share:
        value = float(case.share(random, repeats))
        error = standard_error(case, value, repeats)
    else:
        each = max(1, repeats // _BATCHES)
        parts = [float(case.share(random, each)) for _ in range(_BATCHES)]
        value, error, repeats = fmean(parts), stdev(parts) / _BATCHES**0.5, each * _BATCHES
    seconds = time.perf_counter() - started
    low, high = bounds(case, repeats, error, quick=quick)
    return Outcome(study.key, case.label, value, error, repeats, seconds, low, high)


def simulate_all(
    studies: Sequence[Study], *, quick: bool, jobs: int, done: Collection[tuple[str, str]] = ()
) -> Iterator[Outcome]:
    """Every case of the studies in turn, `jobs` at a time, but those `done`, (key, label)."""
    work = [
        (study.key, place, quick)
        for study in studies
        for place, case in enumerate(study.cases)
        if (study.key, case.label) not in done
    ]
    if jobs == 1:
        yield from map(_simulate_named, work)
        return
    # A fresh interpreter for each worker: a fork of a process with threads may hang.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_simulate_named, work)


def _simulate_named(work: tuple[str, int, bool]) -> Outcome:
    """By name: a case holds functions, which cannot be sent to another process."""
    key, place, quick = work
    study = find_study(key)
    return simulate(study, study.cases[place], quick=quick)
