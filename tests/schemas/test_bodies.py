"""Bodies of requests: those that are made are those that were judged, and what was found is explained."""

from __future__ import annotations

import pytest
from tests.schemas.mutations import FAULTS
from tests.schemas.shapes import all_shapes
from tests.schemas.verdicts import (
    Difference,
    Group,
    Verdict,
    load_bodies,
    load_differences,
    load_oracles,
    load_verdicts,
    unexplained,
)

from snellen.models.remote.profile import profiles

_AGAIN = "make schemas judges them anew, and with SCHEMAS=--write stores the verdicts"


@pytest.mark.parametrize("provider", profiles())
def test_bodies_are_those_that_were_judged(provider: str) -> None:
    stored = load_bodies().get(provider)
    assert stored, f"no oracle judged the bodies of {provider}: {_AGAIN}"
    made = {shape.key(): shape.digest() for shape in all_shapes(provider)}
    changed = sorted(key for key in made.keys() | stored.keys() if made.get(key) != stored.get(key))
    assert not changed, f"{len(changed)} bodies of {provider} were never judged, such as {changed[:3]}: {_AGAIN}"


def test_each_oracle_judged_all_its_providers() -> None:
    judged = {(verdict.oracle, verdict.provider): verdict for verdict in load_verdicts()}
    wanted = {(name, provider) for name, oracle in load_oracles().items() for provider in oracle.judged_providers()}
    assert judged.keys() == wanted
    stored = load_bodies()
    assert all(verdict.bodies == len(stored[verdict.provider]) for verdict in judged.values())


def test_each_difference_is_explained() -> None:
    differences = load_differences()
    left = {
        f"{verdict.oracle} {verdict.provider}: {problem} ({group.bodies} bodies, such as {group.example})"
        for verdict in load_verdicts()
        for group, problem in unexplained(verdict, differences)
    }
    assert not left


def test_each_explanation_covers_something() -> None:
    found = [
        (verdict, problem) for verdict in load_verdicts() for group in verdict.groups for problem in group.problems
    ]
    for difference in load_differences():
        for problem in difference.problems:
            assert any(difference.covers(verdict, each) and _matches(problem, each) for verdict, each in found), problem


def _matches(pattern: str, problem: str) -> bool:
    only = Difference(oracles=("*",), problems=(pattern,), cause="", right="convention")
    return only.covers(_verdict(problem), problem)


def _verdict(problem: str) -> Verdict:
    return Verdict("x", "x", "", "", "", 1, (Group(1, "x", (problem,)),), (), ())


def test_faulty_bodies_are_refused() -> None:
    oracles = load_oracles()
    for verdict in load_verdicts():
        assert set(verdict.passed) == set(oracles[verdict.oracle].blind), verdict.oracle
        assert len(verdict.refused) > len(verdict.passed), verdict.oracle
        assert {*verdict.refused, *verdict.passed} <= FAULTS.keys()


def test_an_unknown_problem_is_not_explained() -> None:
    [first, *_] = load_verdicts()
    invented = Verdict(
        first.oracle, first.provider, "", "", "", 1, (Group(1, "x", ("snellen_unknown: unknown field",)),), (), ()
    )
    assert list(unexplained(invented, load_differences()))
