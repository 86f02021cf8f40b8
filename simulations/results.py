"""What the full form found, kept in `simulations/results.json`."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from simulations.running import Outcome
from simulations.study import Study

RESULTS = Path(__file__).with_name("results.json")


class Found(msgspec.Struct, frozen=True):
    """Of one case."""

    value: float
    error: float
    """Monte Carlo standard error."""
    repeats: int
    seconds: float


class Results(msgspec.Struct, frozen=True):
    """`cases` by the study's key and the case's label."""

    python: str
    numpy: str
    cases: dict[str, dict[str, Found]]


def read_results(path: Path = RESULTS) -> Results:
    """Nothing where there is no such file yet."""
    if not path.exists():
        return Results("", "", {})
    return msgspec.json.decode(path.read_bytes(), type=Results)


def with_outcomes(results: Results, outcomes: Iterable[Outcome], studies: Iterable[Study]) -> Results:
    """The results with these outcomes in place of older ones, in the order of the studies; what no
    study has any more is dropped."""
    known = {key: dict(cases) for key, cases in results.cases.items()}
    for one in outcomes:
        known.setdefault(one.study, {})[one.case] = Found(
            round(one.value, 6), round(one.error, 6), one.repeats, round(one.seconds, 1)
        )
    cases = {
        study.key: {
            case.label: known[study.key][case.label] for case in study.cases if case.label in known.get(study.key, {})
        }
        for study in studies
    }
    there = {key: found for key, found in cases.items() if found}
    return Results(platform.python_version(), np.__version__, there)


def write_results(path: Path, results: Results) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
