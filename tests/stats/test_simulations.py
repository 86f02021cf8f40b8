"""The quick form of every simulation, and the agreement of formulas with scipy, statsmodels and
papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simulations.__main__ import main
from simulations.agreement import AGREEMENTS, Agreement
from simulations.page import DOCUMENT, NOT_YET, page
from simulations.results import Found, Results, read_results, with_outcomes
from simulations.running import simulate
from simulations.study import Case, Study, all_studies

SLOW = ("subset-agreement", "labels-in-doubt", "taskmap-map")
"""A third of the time of all studies in their quick form: before a release."""


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=[pytest.mark.release] * (key in SLOW)) for key in all_studies()]
)
def test_studies_in_their_quick_form(key: str) -> None:
    study = all_studies()[key]
    outcomes = [simulate(study, case, quick=True) for case in study.cases]
    print(f"{key}: {sum(one.seconds for one in outcomes):.1f} s")
    assert [one for one in outcomes if not one.kept] == []


@pytest.mark.parametrize("agreement", AGREEMENTS, ids=lambda one: f"{one.what}, {one.against}")
def test_formulas_agree_with_others(agreement: Agreement) -> None:
    assert agreement.difference() <= agreement.within


def rejects(chance: float) -> Study:
    """A test of which it is known how often it rejects."""
    case = Case("all", lambda random, n: float((random.random(n) < chance).mean()), 0.0, 0.06)
    return Study("known", "Known", "it rejects", "A coin.", "none", (case,))


@pytest.mark.parametrize(("chance", "quick", "kept"), [(0.05, True, True), (0.3, True, False), (0.08, False, False)])
def test_a_test_that_rejects_too_often_is_seen(chance: float, quick: bool, kept: bool) -> None:
    study = rejects(chance)
    assert simulate(study, study.cases[0], quick=quick).kept is kept


def test_means_have_an_error_of_their_own() -> None:
    case = Case("mean", lambda random, n: float(random.normal(25, 1, n).mean()), 24.9, 25.1)
    study = Study("mean", "Mean", "the mean", "A mean.", "none", (case,))
    outcome = simulate(study, case, quick=False)
    assert outcome.kept
    assert outcome.error == pytest.approx(1 / np.sqrt(2000), rel=0.6)
    assert not simulate(study, case._replace(high=24.95), quick=False).kept


def test_random_numbers_are_those_of_the_case() -> None:
    study = rejects(0.05)
    values = [simulate(study, study.cases[0], quick=True).value for _ in range(2)]
    assert values[0] == values[1]
    other = simulate(study._replace(key="other"), study.cases[0], quick=False)
    assert other.value != simulate(study, study.cases[0], quick=False).value


def test_results_are_kept_and_what_no_study_has_is_dropped() -> None:
    study = rejects(0.05)
    old = Results("", "", {"known": {"gone": Found(0, 0, 1, 0)}, "gone": {}})
    found = with_outcomes(old, [simulate(study, study.cases[0], quick=True)], [study])
    assert list(found.cases) == ["known"]
    assert list(found.cases["known"]) == ["all"]


def test_an_unknown_study_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing"]) == 2
    assert "no study 'nothing'; there are" in capsys.readouterr().err


def test_the_command_prints_each_case_and_the_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.json"
    words = ["--quick", "--only", "anytime-strata", "--jobs", "1", "--json", str(file)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "±10, 97 pictures of 1 to 6 questions" in printed
    assert "s  anytime-strata" in printed
    assert set(read_results(file).cases["anytime-strata"]) == {
        case.label for case in all_studies()["anytime-strata"].cases
    }
    assert main([*words, "--missing"]) == 0
    assert "0 cases, 0 outside" in capsys.readouterr().out


def test_results_that_are_kept_are_as_promised() -> None:
    known = read_results().cases
    outside = [
        (study.key, case.label, known[study.key][case.label].value)
        for study in all_studies().values()
        for case in study.cases
        if case.label in known.get(study.key, {}) and not case.low <= known[study.key][case.label].value <= case.high
    ]
    assert outside == []


@pytest.mark.release
def test_every_study_was_simulated_in_full() -> None:
    assert NOT_YET not in page(), "run: python -m simulations --missing"


def test_the_page_has_every_study_and_the_committed_results() -> None:
    text = page()
    assert DOCUMENT.read_text(encoding="utf-8") == text, "run: python -m simulations --page"
    for study in all_studies().values():
        assert f"(`{study.key}`)" in text
