"""Runs as web pages: one file each, that asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from snellen.core.answer import Outcome
from snellen.core.errors import StorageError
from snellen.core.record import Record
from snellen.core.run import Report
from snellen.report import format as fmt
from snellen.report import views
from snellen.report.embedded import data_urls, embed
from snellen.report.facts import run_facts
from snellen.report.samples import Result, describe_prompt, prompt_media, result_of, select_samples
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE_FILE = "report.html"
MOST_PAGE_BYTES = 15_000_000
FRAME_BYTES = 500_000
"""Kept free for everything but samples and their pictures."""


class _Overlook:
    """What is counted while the records pass by on their way to the selection."""

    def __init__(self) -> None:
        self.first: Record | None = None
        self.tallies: Counter[tuple[Result, Outcome]] = Counter()

    def watch(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if self.first is None:
                self.first = record
            self.tallies[result_of(record), record.outcome] += 1
            yield record


def write_html(run: RunFolder, out: Path | None = None, report: Report | None = None) -> Path:
    """Write a run's self-contained page and return where it is: `out`, or `report.html` in the
    run's folder. Reads the folder alone; at most 500 samples and 15 MB.

    Raises UsageError when the run has no `report.json` yet, StorageError when the page cannot
    be written.
    """
    report = report or run.report()
    overlook = _Overlook()
    chosen = select_samples(overlook.watch(chain(run.records(), run.failures())))
    first = overlook.first
    template = _environment().get_template("report.html")
    page = template.render(
        **_frame("theme.js", "report.js"),
        run=report.run,
        summary=report.summary,
        headline=report.summary.headline,
        notices=fmt.notices(report),
        hero=views.headline(report),
        ends=views.ends(overlook.tallies),
        groupings=views.groupings(report),
        circular=views.circular(report),
        drop=report.summary.metrics.get("drop"),
        others=views.others(report),
        facts=run_facts(report, run.path),
        prompt=describe_prompt(first.passes[0]) if first and first.passes else [],
        prompt_pictures=data_urls(run.path, prompt_media(first) if first else ()),
        shown=embed(run.path, chosen, MOST_PAGE_BYTES - FRAME_BYTES),
        total=overlook.tallies.total(),
    )
    return _write(out or run.path / PAGE_FILE, page)


def write_overview(runs: Sequence[tuple[RunFolder, Report]], out: Path) -> Path:
    """Write one page that compares runs and links to the page of each, where it has one."""
    reports = [(report, _link(run, out)) for run, report in runs]
    boards: dict[tuple[str, str], list[int]] = {}
    for at, (report, _) in enumerate(reports):
        boards.setdefault((report.run.benchmark, report.summary.headline.name), []).append(at)
    template = _environment().get_template("overview.html")
    page = template.render(
        **_frame("theme.js"),
        boards=[
            views.board(benchmark, metric, [reports[at] for at in members])
            for (benchmark, metric), members in boards.items()
        ],
        notices=[
            f"{report.run.model} on {report.run.benchmark}: {notice}"
            for report, _ in reports
            for notice in fmt.notices(report)
        ],
    )
    return _write(out, page)


def _frame(*scripts: str) -> dict[str, str]:
    """Style and script of a page, and the policy that lets no other script run."""
    script = "\n".join(_page_file(name) for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return {"style": _page_file("page.css"), "script": script, "policy": policy}


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_page_file),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "points": fmt.points,
        "span": fmt.span,
        "level": fmt.level,
        "number": fmt.number,
        "words": fmt.words,
        "metric": fmt.metric_words,
        "plural": fmt.plural,
    }
    return environment


def _page_file(name: str) -> str:
    return (resources.files("snellen.report") / "page" / name).read_text(encoding="utf-8")


def _write(out: Path, page: str) -> Path:
    partial = out.with_suffix(out.suffix + ".part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(page, encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror or error}") from error
    return out


def _link(run: RunFolder, out: Path) -> str:
    """The way from the overview to a run's page; empty when the run has none."""
    page = run.path / PAGE_FILE
    if not page.exists():
        return ""
    return quote(Path(os.path.relpath(page.resolve(), out.resolve().parent)).as_posix())
