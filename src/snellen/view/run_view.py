"""The data of the pages as plain JSON: runs, one run, its samples, and two runs compared."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from snellen.analysis.causes.gains import gains
from snellen.analysis.comparison.paired import PairDifference, compare
from snellen.api.report import report_of
from snellen.core.errors import SnellenError, UsageError
from snellen.core.run import Report
from snellen.report import format as fmt
from snellen.report.page import views
from snellen.report.page.html import protocol_context, result_context
from snellen.report.page.layout import template_environment
from snellen.report.page.samples import describe
from snellen.report.terminal.comparison import comparison_names
from snellen.report.terminal.gains import gain_boards
from snellen.store.runs import RUN_FILE, RunFolder, find_runs, open_run
from snellen.view.run_images import Notify, RunImages, ignore_notice
from snellen.view.sample_index import SampleIndex

HOME = "snellen.view"
FIRST_READ_SECONDS, LATER_READ_SECONDS = 0.1, 0.5
"""Seconds that the first answer, and each later one, may spend on reading samples; the others come
with the next answer."""
_SUMMARY_INTERVAL_FACTOR = 10
"""A growing run is summarised again after this many times the seconds that it took."""


class RunView:
    """One run, as the pages show it. Thread-safe."""

    def __init__(
        self, key: str, path: Path, moved: Sequence[str] = (), notify: Notify = ignore_notice
    ) -> None:
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
            if self._report is None or (
                state != self._state and time.monotonic() > self._next_summary
            ):
                started = time.monotonic()
                self._report = report_of(run)
                now = time.monotonic()
                self._next_summary, self._state = (
                    now + _SUMMARY_INTERVAL_FACTOR * (now - started),
                    state,
                )
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
            **result_context(report, self.index.tallies, self.index.answers)
        )
        gains_tables = gain_boards(gains([self.run, *other_runs], folders={self.run.name}))
        result += pages.get_template("gains.html").render(gains=list(gains_tables))
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
        return [describe(record) for record in self.index.records(indices)]

    def search(self, text: str, first: int) -> dict[str, Any]:
        self.index.refresh(FIRST_READ_SECONDS)
        count, bits = self.index.search(text, first)
        return {
            "generation": self.index.generation,
            "rows": count,
            "bits": base64.b64encode(bits).decode(),
        }


class RunLibrary:
    """The runs of some folders, and those that appear in them later."""

    def __init__(
        self, paths: Sequence[Path | str], moved: Sequence[str] = (), notify: Notify = ignore_notice
    ) -> None:
        """`moved` and `notify` as of `RunImages`. Raises UsageError where there is no run."""
        self._moved, self._notify = moved, notify
        self._paths = [Path(path) for path in paths]
        self._lock = Lock()
        self._views: dict[Path, RunView] = {}
        self._pairs: dict[tuple[str, str], tuple[object, dict[str, Any]]] = {}
        for path in self._paths:
            self._add_runs(find_runs(path))

    def _add_runs(self, runs: Sequence[RunFolder]) -> None:
        for run in runs:
            path = run.path.resolve()
            if path not in self._views:
                keys = {view.key for view in self._views.values()}
                suffix = next(n for n in range(1, len(keys) + 2) if _key(path, n) not in keys)
                self._views[path] = RunView(_key(path, suffix), path, self._moved, self._notify)

    def views(self) -> list[RunView]:
        """All runs, with those that appeared since the last call."""
        with self._lock:
            for path in self._paths:
                try:
                    self._add_runs(find_runs(path))
                except SnellenError:
                    # The folder was moved away meanwhile; the others stay.
                    continue
            return [view for view in self._views.values() if (view.path / RUN_FILE).is_file()]

    def view(self, key: str) -> RunView:
        """The run with this key. Raises UsageError if there is none."""
        for view in self._views.values():
            if view.key == key:
                return view
        raise UsageError(f"no run {key!r} is shown here")

    def overview(self) -> dict[str, Any]:
        """The heads of all runs, and tables that compare them as HTML."""
        views = self.views()
        names = comparison_names([view.run for view in views])
        heads = [{**view.head(), "name": name} for view, name in zip(views, names, strict=True)]
        html = (
            template_environment(HOME)
            .get_template("runs.html")
            .render(
                boards=list(_run_tables(views)),
                unread=[head for head in heads if "value" not in head],
            )
        )
        return {"runs": heads, "html": html}

    def numbers(self, key: str) -> dict[str, str]:
        """The numbers of a run, with gains over finished runs of its model and benchmark. Raises
        SnellenError."""
        view = self.view(key)
        model, benchmark = view.run.info.model, view.run.info.benchmark
        ended = [other.run for other in self.views() if other is not view and not other.is_live]
        alike = [run for run in ended if (run.info.model, run.info.benchmark) == (model, benchmark)]
        return view.numbers(alike)

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
    notices = [
        *compared.notices,
        *(notice for comparison in compared.benchmarks for notice in comparison.notices),
    ]
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
        "p": None if pair.p is None else fmt.p_clause(pair.p),
        "test": pair.test,
        "reason": pair.reason,
        "bounds": pair.bounds and " to ".join(map(fmt.difference_text, pair.bounds)),
    }


def _run_tables(run_views: Sequence[RunView]) -> Iterator[dict[str, Any]]:
    """A table for each benchmark and metric, as `runs.html` shows them."""
    boards: dict[tuple[str, str], list[tuple[RunView, Report]]] = {}
    for index in fmt.table_order([view.run.info for view in run_views]):
        view = run_views[index]
        try:
            report = view.report()
        except SnellenError:
            continue
        key = report.run.benchmark, report.summary.headline.name
        boards.setdefault(key, []).append((view, report))
    for (benchmark, metric), members in boards.items():
        board = views.run_table(benchmark, metric, [(report, view.key) for view, report in members])
        rows = zip(board.runs, members, strict=True)
        yield {
            "board": board,
            "title": members[0][1].run.title,
            "rows": [(compared, report, _cost_text(report)) for compared, (_, report) in rows],
        }


def _cost_text(report: Report) -> str:
    """Time, tokens and money that a run cost, in one line."""
    counts = report.run.counts
    parts = [fmt.duration(counts.seconds)] if counts.seconds else []
    tokens = counts.prompt_tokens + counts.completion_tokens
    if tokens:
        parts.append(f"{fmt.count_text(tokens)} tokens")
    for spent in report.run.spent.values():
        if spent.cost is not None and spent.price is not None:
            parts.append(fmt.money(spent.cost, spent.price.currency))
    return ", ".join(parts)


def _key(path: Path, number: int) -> str:
    """The name of the folder, with a number if another folder has the same name."""
    return path.name if number == 1 else f"{path.name}~{number}"


def _run_file_state(path: Path) -> tuple[int, int]:
    status = (path / RUN_FILE).stat()
    return status.st_mtime_ns, status.st_size


def _file_sizes(path: Path) -> tuple[int, ...]:
    """Sizes of a run's files in bytes; they change whenever a sample is added."""
    files = (path / "samples.jsonl", path / "failures.jsonl", path / "report.json")
    return tuple(file.stat().st_size if file.is_file() else 0 for file in files)
