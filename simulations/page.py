"""Writes `docs/statistics.md` from the studies, their results, and the agreement with others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from simulations.agreement import AGREEMENTS, Agreement
from simulations.results import Found, Results, read_results
from simulations.study import Case, Study, all_studies

HEAD = Path(__file__).with_name("page_head.md")
DOCUMENT = Path(__file__).parents[1] / "docs" / "statistics.md"
NOTE = "<!-- Written by python -m simulations --page. -->"
NOT_YET = "not simulated yet"


def page(results: Results | None = None, studies: Iterable[Study] | None = None) -> str:
    """The whole page; `simulations/results.json` and every study unless others are given."""
    results = read_results() if results is None else results
    studies = all_studies().values() if studies is None else studies
    head, _, rest = HEAD.read_text(encoding="utf-8").partition("\n")
    lines = [head, "", NOTE, rest.rstrip(), "", *_agreements(AGREEMENTS), *_header(results)]
    for study in studies:
        lines += _study(study, results.cases.get(study.key, {}))
    return "\n".join(lines).rstrip() + "\n"


def _agreements(agreements: Iterable[Agreement]) -> Iterator[str]:
    yield from ("## Agreement with others", "")
    yield "`tests/stats/test_simulations.py` holds every line to the difference in the last column."
    yield from ("", "| number | against | ours | theirs | relative difference at most |")
    yield "| --- | --- | ---: | ---: | ---: |"
    for one in agreements:
        ours = one.ours()
        assert ours is not None
        numbers = f"{ours:.6g} | {one.theirs():.6g} | {one.within:.0e}"
        yield f"| {one.what} | {one.against} | {numbers} |"
    yield ""


def _header(results: Results) -> Iterator[str]:
    yield from ("## Simulations", "")
    yield (
        f"Computed with numpy {results.numpy} on Python {results.python}. A value is a share of "
        "the repeats unless the study says otherwise, with its Monte Carlo standard error; "
        "`simulations/results.json` has them all."
    )
    yield ""


def _study(study: Study, found: dict[str, Found]) -> Iterator[str]:
    yield from (f"### {study.title}", "")
    yield f"{_sentence(study.procedure)} Source: {study.source.rstrip('.')}. (`{study.key}`)"
    yield from ("", f"Measured: how often {study.event}." if _is_share(study) else study.event, "")
    yield "| case | value | standard error | promised | repeats |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for case in study.cases:
        yield f"| {case.label} | {_cells(case, found.get(case.label))} |"
    yield ""


def _is_share(study: Study) -> bool:
    return all(case.is_share for case in study.cases)


def _cells(case: Case, found: Found | None) -> str:
    if found is None:
        return f"{NOT_YET} | – | {_range(case)} | –"
    return f"{found.value:.3f} | {found.error:.3f} | {_range(case)} | {found.repeats:,}"


def _range(case: Case) -> str:
    if case.is_share and case.low == 0:
        return f"at most {case.high:g}"
    if case.is_share and case.high == 1:
        return f"at least {case.low:g}"
    return f"{case.low:g} to {case.high:g}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
