"""Runs as web pages; each is a single file that loads nothing from a network."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from snellen.analysis.causes.neighbours import gains_with_neighbours
from snellen.analysis.comparison.comparability import different_data_notices
from snellen.analysis.comparison.deviations import deviations
from snellen.analysis.parsing.parsing_quality import RuleParseCounts
from snellen.core.atomic_write import atomic_file
from snellen.core.errors import storage_errors
from snellen.core.output import Outcome
from snellen.core.record import Pass, Record
from snellen.core.run import Report
from snellen.report import format as fmt
from snellen.report.documents.repeats import draw_lines
from snellen.report.documents.result_tables import boards
from snellen.report.findings.parsers import parsing_error_term
from snellen.report.page import views
from snellen.report.page.confusion import AnswerTally
from snellen.report.page.embedded import data_urls, embed_samples
from snellen.report.page.facts import fact_sections
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.page.samples import (
    Result,
    describe_prompt,
    in_data_order,
    prompt_media,
    record_result,
    select_samples,
)
from snellen.report.page.views import budget_table
from snellen.store.runs import FAILURES_FILE, SAMPLES_FILE, RunFolder

if TYPE_CHECKING:
    from snellen.analysis.causes.gains import Gain

PAGE_FILE = "report.html"
_SCRIPTS = ("theme.js", "sample.js", "passes.js", "places.js", "beside.js", "lightbox.js", "report.js")
MAX_PAGE_BYTES = 15_000_000
LAYOUT_BYTES = 500_000
"""Bytes kept free for everything except samples and images."""


class _ReportTally:
    """Counts results and unparsed replies while the records are being selected."""

    def __init__(self) -> None:
        self.first: Record | None = None
        self.tallies: Counter[tuple[Result, Outcome]] = Counter()
        self.replies = RuleParseCounts()
        self.answers = AnswerTally()
        self.kinds: set[str] = set()

    def count(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if self.first is None:
                self.first = record
            self.tallies[record_result(record), record.outcome] += 1
            self.replies.add(record)
            self.answers.add(record)
            self.kinds.add(record.kind)
            yield record


def write_html(run: RunFolder, out: Path | None = None, report: Report | None = None) -> Path:
    """Write a run's page and return its path: `out`, or `report.html` in the run's folder.

    Reads the run folder, and the runs next to it for the gains from images. The page holds at most
    500 samples and 15 MB. Raises UsageError if the run has no `report.json` yet, StorageError if
    the page cannot be written.
    """
    report = report or run.report()
    overlook = _ReportTally()
    records = select_samples(overlook.count(chain(run.records(), run.failures())))
    first = overlook.first
    template = template_environment().get_template("report.html")
    page = template.render(
        **page_layout(("page.css", "beside.css"), _SCRIPTS),
        **result_context(report, overlook.tallies, overlook.answers, overlook.replies),
        budgets=budget_table(run, report),
        answer_groups=views.answer_groups(run, overlook.kinds),
        **protocol_context(report, run.path, first.passes[0] if first and first.passes else None),
        gains=gain_context(gains_with_neighbours([run])),
        prompt_pictures=data_urls(run.path, prompt_media(first) if first else ()),
        shown=embed_samples(run.path, in_data_order(records), MAX_PAGE_BYTES - LAYOUT_BYTES),
        files=[name for name in (SAMPLES_FILE, FAILURES_FILE) if (run.path / name).is_file()],
    )
    return _write(out or run.path / PAGE_FILE, page)


def result_context(
    report: Report, tallies: views.Tallies, answers: AnswerTally, replies: RuleParseCounts | None = None
) -> dict[str, Any]:
    """The variables of the template `result.html`. `tallies` counts the existing samples,
    `answers` their answers; `replies`, if counted, how many of them were parsed by rules."""
    summary = report.summary
    return {
        "run": report.run,
        "summary": summary,
        "headline": summary.headline,
        "settings": [one.label for one in deviations(report.run)],
        "notices": fmt.notices(report),
        "reading": parsing_error_term(report, replies) if replies else None,
        "hero": views.headline_table(report),
        "ends": views.outcome_segments(tallies),
        "total": sum(tallies.values()),
        "groupings": views.grouping_tables(report),
        "circular": views.circular_table(report),
        "drop": summary.metrics.get("drop"),
        "others": views.other_metrics(report),
        "draws": draw_lines(report) if summary.draws is not None else [],
        "confusions": answers.tables(),
        "mistakes": answers.mistakes(),
    }


def protocol_context(report: Report, folder: Path, first: Pass | None) -> dict[str, Any]:
    """The variables of the template `protocol.html`, except `run` and the images of the prompt."""
    prompt = describe_prompt(first) if first else []
    return {"facts": fact_sections(report, folder), "prompt": prompt}


def write_overview(runs: Sequence[tuple[RunFolder, Report]], out: Path) -> Path:
    """Write a page that compares runs, with a link to the page of each run that has one."""
    from snellen.analysis.causes.gains import gains

    reports = [report for _, report in runs]
    links = {id(report): _relative_link(run, out) for run, report in runs}
    template = template_environment().get_template("overview.html")
    page = template.render(
        **page_layout(("page.css",), ("theme.js",)),
        boards=[views.run_table([(report, links[id(report)]) for report in board]) for board in boards(reports)],
        notices=[
            f"{report.run.model} on {report.run.benchmark}: {notice}"
            for report in reports
            for notice in fmt.notices(report)
        ]
        + list(different_data_notices([report.run for report in reports])),
        gains=gain_context(gains([run for run, _ in runs])),
    )
    return _write(out, page)


def gain_context(gains: Sequence[Gain]) -> list[dict[str, object]]:
    """The tables of the template `gains.html`, titled with their benchmarks if these are
    several."""
    if not gains:
        return []
    from snellen.report.documents.gains import gain_tables
    from snellen.report.writers.html import table_block

    tables = list(gain_tables(gains))
    several = len(tables) > 1
    return [table_block(table._replace(title=heading.text if several else "")) for heading, table in tables]


def _write(out: Path, page: str) -> Path:
    with storage_errors("write", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(out) as part:
            part.write_text(page, encoding="utf-8")
    return out


def _relative_link(run: RunFolder, out: Path) -> str:
    """The relative link from the overview to a run's page; empty if the run has no page."""
    page = run.path / PAGE_FILE
    if not page.exists():
        return ""
    return quote(Path(os.path.relpath(page.resolve(), out.resolve().parent)).as_posix())
