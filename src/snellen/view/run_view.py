"""The data of the pages as plain JSON: runs, one run, its samples, and two runs compared."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from snellen.analysis.causes.gains import gains
from snellen.analysis.comparison.paired import PairDifference, compare
from snellen.api.report import report_of
from snellen.api.run_images import Notify, RunImages, ignore_notice
from snellen.core.errors import SnellenError, UsageError
from snellen.core.run import Report
from snellen.report import format as fmt
from snellen.report.page.html import gain_context, protocol_context, result_context
from snellen.report.page.layout import template_environment
from snellen.report.page.samples import describe
from snellen.report.page.views import answer_groups, budget_table
from snellen.store.runs import RUN_FILE, RunFolder, open_run
from snellen.view.run_annotations import AnnotationCache, ChangeRequest, annotations_json, has_annotations, write_change
from snellen.view.run_catalog import RunCatalog
from snellen.view.run_row import DAMAGED
from snellen.view.sample_index import SampleIndex
from snellen.view.saved_views import SavedViews

HOME = "snellen.view"
FIRST_READ_SECONDS, LATER_READ_SECONDS = 0.1, 0.5
"""Seconds that the first answer, and each later one, may spend on reading samples; the others come
with the next answer."""
_SUMMARY_INTERVAL_FACTOR = 10
"""A growing run is summarised again after this many times the seconds that it took."""


class RunView:
    """One run, as the pages show it. Thread-safe."""

    def __init__(self, key: str, path: Path, moved: Sequence[str] = (), notify: Notify = ignore_notice) -> None:
        self.key = key
        self.path = path
        self.index = SampleIndex(path)
        self._lock = Lock()
        self._run = open_run(path)
        self._file_state = _run_file_state(path)
        self.images = RunImages(self._run, moved, notify)
        self._report: Report | None = None
        self._next_summary = 0.0
        self._state: tuple[object, ...] = ()

    @property
    def run(self) -> RunFolder:
        """The run as `run.json` is now."""
        state = _run_file_state(self.path)
        if state != self._file_state:
            self._run, self._file_state = open_run(self.path), state
        return self._run

    @property
    def is_live(self) -> bool:
        """Whether the run's status is running; it may have been killed."""
        return self.run.info.status == "running"

    def report(self) -> Report:
        """The numbers so far. Raises UsageError if the benchmark is unknown here."""
        with self._lock:
            run = self.run
            state = (self._file_state, run.has_report, _file_sizes(self.path))
            if self._report is None or (state != self._state and time.monotonic() > self._next_summary):
                started = time.monotonic()
                self._report = report_of(run)
                now = time.monotonic()
                self._next_summary, self._state = (now + _SUMMARY_INTERVAL_FACTOR * (now - started), state)
            return self._report

    def head(self) -> dict[str, Any]:
        """Names, status and headline of the run."""
        run = self.run
        info = run.info
        head: dict[str, Any] = {
            "key": self.key,
            "model": info.model,
            "benchmark": info.benchmark,
            "title": info.title,
            "status": info.status,
            "live": self.is_live,
            "samples": info.counts.samples,
            "done": info.counts.done,
            "data": info.data.digest,
        }
        try:
            report = self.report()
        except SnellenError as error:
            return {**head, "notices": [str(error)]}
        headline = report.summary.headline
        return {
            **head,
            "metric": fmt.metric_label(headline.name),
            "value": fmt.score_text(headline.value),
            "interval": fmt.interval_text(headline.interval) if headline.interval else None,
            "level": fmt.level_text(headline.interval),
            "n": headline.n,
            "total": report.summary.total,
            "done": report.run.counts.done,
            "samples": report.run.counts.samples,
            "notices": list(fmt.notices(report)),
        }

    def numbers(self, other_runs: Sequence[RunFolder]) -> dict[str, str]:
        """Result and protocol as HTML, as in `report.html`, with gains over `other_runs`. Raises
        SnellenError."""
        report = self.report()
        self.index.refresh()
        first = next(iter(chain(self.run.records(), self.run.failures())), None)
        turn = first.passes[0] if first and first.passes else None
        pages = template_environment()
        result = pages.get_template("result.html").render(
            **result_context(report, self.index.tallies, self.index.answers),
            budgets=budget_table(self.run, report),
            answer_groups=answer_groups(self.run, self.index.kinds),
        )
        tables = gain_context(gains([self.run, *other_runs], folders={self.run.name}))
        result += pages.get_template("gains.html").render(gains=tables)
        protocol = pages.get_template("protocol.html").render(
            run=report.run, prompt_pictures={}, **protocol_context(report, self.path, turn)
        )
        return {"result": result, "protocol": protocol}

    def columns(self, first: int, generation: int) -> dict[str, Any]:
        """The columns that samples are filtered by, from index `first`, or from 0 if the run was
        restarted since `generation`. `more` is true until all samples are read."""
        complete = self.index.refresh(LATER_READ_SECONDS if first else FIRST_READ_SECONDS)
        if generation != self.index.generation:
            first = 0
        return {**self.index.columns(first), "more": not complete, "live": self.is_live}

    def samples(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        if max(indices, default=0) >= len(self.index):
            # A page that was open before this server started.
            self.index.refresh()
        return [describe(record) for record in self.index.records(indices)]

    def search(self, text: str, first: int) -> dict[str, Any]:
        self.index.refresh(FIRST_READ_SECONDS)
        count, bits = self.index.search(text, first)
        return {"generation": self.index.generation, "rows": count, "bits": base64.b64encode(bits).decode()}


class RunLibrary:
    """The runs of some folders, and those that appear in them later."""

    def __init__(self, paths: Sequence[Path | str], moved: Sequence[str] = (), notify: Notify = ignore_notice) -> None:
        """`moved` and `notify` as of `RunImages`. Raises UsageError for a path that does not
        exist."""
        self._moved, self._notify = moved, notify
        self.catalog = RunCatalog(paths)
        self.saved_views = SavedViews(self.catalog.roots)
        self._lock = Lock()
        self._views: dict[str, RunView] = {}
        self._pairs: dict[tuple[str, str], tuple[object, dict[str, Any]]] = {}
        self._annotations = AnnotationCache()

    def views(self) -> list[RunView]:
        """All runs that can be read, with those that appeared since the last call."""
        self.catalog.refresh()
        return [self.view(key) for key, row in self.catalog.rows() if row.status != DAMAGED]

    def view(self, key: str) -> RunView:
        """The run with this key, which is opened with the first call. Raises UsageError if there is
        none."""
        path = self.catalog.path(key)
        if path is None:
            # The page may know of it from an earlier server.
            self.catalog.refresh()
            path = self.catalog.path(key)
        if path is None:
            raise UsageError(f"no run {key!r} is shown here")
        with self._lock:
            if key not in self._views:
                self._views[key] = RunView(key, path, self._moved, self._notify)
            return self._views[key]

    def numbers(self, key: str) -> dict[str, str]:
        """The numbers of a run, with gains over finished runs of its model and benchmark. Raises
        SnellenError."""
        view = self.view(key)
        self.catalog.refresh()
        model, benchmark = view.run.info.model, view.run.info.benchmark
        alike = [
            self.view(other).run
            for other, row in self.catalog.rows()
            if (row.model, row.benchmark) == (model, benchmark)
            and other != key
            and row.status not in (DAMAGED, "running")
        ]
        return view.numbers(alike)

    def annotations(self, key: str) -> dict[str, Any]:
        """The annotations of a run's replies, and of its samples in all runs of the same data.
        Raises StorageError."""
        view = self.view(key)
        info = view.run.info
        annotated = [
            (other, row.benchmark)
            for other, row in self.catalog.rows()
            if (path := self.catalog.path(other)) is not None and has_annotations(path)
        ]
        same_data = [
            self.view(other).path
            for other, benchmark in annotated
            if benchmark == info.benchmark and self.view(other).run.info.data.digest == info.data.digest
        ]
        library = [path for other, _ in annotated if (path := self.catalog.path(other)) is not None]
        return annotations_json(self._annotations, view.path, same_data, library)

    def annotate(self, request: ChangeRequest, annotator: str) -> dict[str, Any]:
        """Store a change of annotations, and return those of the run. Raises UsageError for a run
        or a sample that is not here, StorageError if the run's folder cannot be written."""
        view = self.view(request.run)
        view.index.refresh()
        if request.sample not in view.index.ids:
            raise UsageError(f"the run {request.run} has no sample {request.sample!r}")
        write_change(view.path, request, annotator)
        return self.annotations(request.run)

    def comparison(self, first: str, second: str) -> dict[str, Any]:
        """Score of the second run minus the first, over the samples that both scored; `why_not` if
        they cannot be compared. Cached until a run grows."""
        first_view, second_view = self.view(first), self.view(second)
        state = (_file_sizes(first_view.path), _file_sizes(second_view.path))
        cached = self._pairs.get((first, second))
        if cached is None or cached[0] != state:
            cached = self._pairs[first, second] = state, _compare_views(first_view, second_view)
        return cached[1]


def _compare_views(first_view: RunView, second_view: RunView) -> dict[str, Any]:
    names = fmt.run_labels([view.report() for view in (first_view, second_view)])
    try:
        compared = compare([first_view.run, second_view.run], names, common=True)
    except SnellenError as error:
        return {"why_not": str(error)}
    notices = [*compared.notices, *(notice for comparison in compared.benchmarks for notice in comparison.notices)]
    return {**_pair_json(compared.pairs[0]), "notices": notices}


def _pair_json(pair: PairDifference) -> dict[str, Any]:
    return {
        "metric": fmt.metric_label(pair.metric),
        "first": fmt.score_text(pair.first_score),
        "second": fmt.score_text(pair.second_score),
        "difference": fmt.difference_text(pair.difference),
        "interval": fmt.difference_interval_text(pair.interval) if pair.interval else None,
        "level": fmt.level_text(pair.interval),
        "anytime": fmt.difference_interval_text(pair.anytime) if pair.anytime else None,
        "n": pair.n,
        "p": pair.p,
        "test": pair.test,
        "reason": pair.reason,
        "bounds": pair.bounds and " to ".join(map(fmt.difference_text, pair.bounds)),
    }


def _run_file_state(path: Path) -> tuple[int, int]:
    status = (path / RUN_FILE).stat()
    return status.st_mtime_ns, status.st_size


def _file_sizes(path: Path) -> tuple[int, ...]:
    """Sizes of a run's files in bytes; they change whenever a sample is added."""
    files = (path / "samples.jsonl", path / "failures.jsonl", path / "report.json")
    return tuple(file.stat().st_size if file.is_file() else 0 for file in files)
