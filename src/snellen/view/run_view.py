"""What the pages are given: runs, one run, its samples, and two runs compared. Plain JSON."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from snellen.analysis.causes.gains import gains
from snellen.analysis.comparison.paired import Pair, compare
from snellen.api.report import report_of
from snellen.core.errors import SnellenError, UsageError
from snellen.core.run import Report
from snellen.report import format as fmt
from snellen.report.page import views
from snellen.report.page.html import protocol_parts, result_parts
from snellen.report.page.layout import environment
from snellen.report.page.samples import describe
from snellen.report.terminal.comparison import names_of
from snellen.report.terminal.gains import gain_boards
from snellen.store.runs import RUN_FILE, RunFolder, find_runs, open_run
from snellen.view.run_images import Pictures, Say, nothing
from snellen.view.sample_index import Rows

HOME = "snellen.view"
PATIENCE, PATIENCE_LATER = 0.1, 0.5
"""Seconds that the first and each later answer may spend on reading samples; the rest comes with
the next answer."""
_REST = 10
"""A growing run is summed up again after so many times what it took."""


class Shown:
    """One run. Safe to be used from several threads."""

    def __init__(self, key: str, path: Path, moved: Sequence[str] = (), say: Say = nothing) -> None:
        self.key = key
        self.path = path
        self.rows = Rows(path)
        self._lock = Lock()
        self._run = open_run(path)
        self._noted = _noted(path)
        self.pictures = Pictures(self._run, moved, say)
        self._report: Report | None = None
        self._again = 0.0
        self._state: tuple[object, ...] = ()

    @property
    def run(self) -> RunFolder:
        """The run as `run.json` has it now."""
        noted = _noted(self.path)
        if noted != self._noted:
            self._run, self._noted = open_run(self.path), noted
        return self._run

    @property
    def live(self) -> bool:
        """Whether the run says that it is going on; it may have been killed."""
        return self.run.info.status == "running"

    def report(self) -> Report:
        """The numbers so far. Raises UsageError where the benchmark is not known here."""
        with self._lock:
            run = self.run
            state = (self._noted, run.has_report, _size(self.path))
            if self._report is None or (state != self._state and time.monotonic() > self._again):
                started = time.monotonic()
                self._report = report_of(run)
                now = time.monotonic()
                self._again, self._state = now + _REST * (now - started), state
            return self._report

    def head(self) -> dict[str, Any]:
        """Name, state and the number to quote."""
        run = self.run
        info = run.info
        head: dict[str, Any] = {
            "key": self.key,
            "model": info.model,
            "benchmark": info.benchmark,
            "title": info.title,
            "status": info.status,
            "live": self.live,
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
            "metric": fmt.metric_words(headline.name),
            "value": fmt.points(headline.value),
            "interval": fmt.span(headline.interval) if headline.interval else None,
            "level": fmt.level(headline.interval),
            "n": headline.n,
            "total": report.summary.total,
            "done": report.run.counts.done,
            "samples": report.run.counts.samples,
            "notices": list(fmt.notices(report)),
        }

    def numbers(self, beside: Sequence[RunFolder]) -> dict[str, str]:
        """The result, with gains over the runs `beside`, and the protocol as HTML, as in
        `report.html`. Raises SnellenError."""
        report = self.report()
        self.rows.refresh()
        first = next(iter(chain(self.run.records(), self.run.failures())), None)
        turn = first.passes[0] if first and first.passes else None
        pages = environment()
        result = pages.get_template("result.html").render(**result_parts(report, self.rows.tallies))
        gained = gain_boards(gains([self.run, *beside], of={self.run.name}))
        result += pages.get_template("gains.html").render(gains=list(gained))
        protocol = pages.get_template("protocol.html").render(
            run=report.run, prompt_pictures={}, **protocol_parts(report, self.path, turn)
        )
        return {"result": result, "protocol": protocol}

    def columns(self, first: int, generation: int) -> dict[str, Any]:
        """What samples are filtered by, from number `first` on; from 0 on where the run was
        started again since `generation`. `more`: not all were read yet."""
        whole = self.rows.refresh(PATIENCE_LATER if first else PATIENCE)
        if generation != self.rows.generation:
            first = 0
        return {**self.rows.columns(first), "more": not whole, "live": self.live}

    def samples(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        return [describe(record) for record in self.rows.records(numbers)]

    def search(self, text: str, first: int) -> dict[str, Any]:
        self.rows.refresh(PATIENCE)
        count, bits = self.rows.matching(text, first)
        return {
            "generation": self.rows.generation,
            "rows": count,
            "bits": base64.b64encode(bits).decode(),
        }


class Shelf:
    """The runs that were named, and those that appear in the folders that were named."""

    def __init__(
        self, paths: Sequence[Path | str], moved: Sequence[str] = (), say: Say = nothing
    ) -> None:
        """`moved` and `say` as of `Pictures`. Raises UsageError where there is no run."""
        self._moved, self._say = moved, say
        self._paths = [Path(path) for path in paths]
        self._lock = Lock()
        self._shown: dict[Path, Shown] = {}
        self._pairs: dict[tuple[str, str], tuple[object, dict[str, Any]]] = {}
        for path in self._paths:
            self._take(find_runs(path))

    def _take(self, runs: Sequence[RunFolder]) -> None:
        for run in runs:
            path = run.path.resolve()
            if path not in self._shown:
                keys = {one.key for one in self._shown.values()}
                number = next(n for n in range(1, len(keys) + 2) if _key(path, n) not in keys)
                self._shown[path] = Shown(_key(path, number), path, self._moved, self._say)

    def all(self) -> list[Shown]:
        """Every run, those that were found since included."""
        with self._lock:
            for path in self._paths:
                try:
                    self._take(find_runs(path))
                except SnellenError:
                    # A folder that was moved away while it is looked at: the rest stays.
                    continue
            return [one for one in self._shown.values() if (one.path / RUN_FILE).is_file()]

    def one(self, key: str) -> Shown:
        """Raises UsageError for a name that no run has."""
        for shown in self._shown.values():
            if shown.key == key:
                return shown
        raise UsageError(f"no run {key!r} is shown here")

    def overview(self) -> dict[str, Any]:
        """Every run in short, and the page that compares them as HTML."""
        shown = self.all()
        names = names_of([one.run for one in shown])
        heads = [{**one.head(), "name": name} for one, name in zip(shown, names, strict=True)]
        html = (
            environment(HOME)
            .get_template("runs.html")
            .render(
                boards=list(_boards(shown)),
                unread=[head for head in heads if "value" not in head],
            )
        )
        return {"runs": heads, "html": html}

    def numbers(self, key: str) -> dict[str, str]:
        """The numbers of a run, with gains over the other runs that have ended. Raises
        SnellenError."""
        shown = self.one(key)
        model, benchmark = shown.run.info.model, shown.run.info.benchmark
        ended = [one.run for one in self.all() if one is not shown and not one.live]
        alike = [run for run in ended if (run.info.model, run.info.benchmark) == (model, benchmark)]
        return shown.numbers(alike)

    def compared(self, first: str, second: str) -> dict[str, Any]:
        """The second run less the first over the samples both scored; `why_not` where there is
        nothing to compare."""
        one, other = self.one(first), self.one(second)
        state = (_size(one.path), _size(other.path))
        known = self._pairs.get((first, second))
        if known is None or known[0] != state:
            known = self._pairs[first, second] = state, _compared(one, other)
        return known[1]


def _compared(one: Shown, other: Shown) -> dict[str, Any]:
    names = fmt.row_names([shown.report() for shown in (one, other)])
    try:
        found = compare([one.run, other.run], names, common=True)
    except SnellenError as error:
        return {"why_not": str(error)}
    notices = [*found.notices, *(notice for each in found.benchmarks for notice in each.notices)]
    return {**_pair(found.pairs[0]), "notices": notices}


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "metric": fmt.metric_words(pair.metric),
        "first": fmt.points(pair.first_score),
        "second": fmt.points(pair.second_score),
        "difference": fmt.signed(pair.difference),
        "interval": fmt.signed_span(pair.interval) if pair.interval else None,
        "level": fmt.level(pair.interval),
        "anytime": fmt.signed_span(pair.anytime) if pair.anytime else None,
        "n": pair.n,
        "p": None if pair.p is None else fmt.p_told(pair.p),
        "test": pair.test,
        "reason": pair.reason,
        "bounds": pair.bounds and " to ".join(map(fmt.signed, pair.bounds)),
    }


def _boards(shown: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    """Runs of one benchmark and metric in one table."""
    boards: dict[tuple[str, str], list[tuple[Shown, Report]]] = {}
    for at in fmt.in_order([one.run.info for one in shown]):
        one = shown[at]
        try:
            report = one.report()
        except SnellenError:
            continue
        key = report.run.benchmark, report.summary.headline.name
        boards.setdefault(key, []).append((one, report))
    for (benchmark, metric), members in boards.items():
        board = views.board(benchmark, metric, [(report, one.key) for one, report in members])
        rows = zip(board.runs, members, strict=True)
        yield {
            "board": board,
            "title": members[0][1].run.title,
            "rows": [(compared, report, _spent(report)) for compared, (_, report) in rows],
        }


def _spent(report: Report) -> str:
    """What the answers of a run took: time, tokens, money."""
    counts = report.run.counts
    parts = [fmt.duration(counts.seconds)] if counts.seconds else []
    tokens = counts.prompt_tokens + counts.completion_tokens
    if tokens:
        parts.append(f"{fmt.number(tokens)} tokens")
    for spent in report.run.spent.values():
        if spent.cost is not None and spent.price is not None:
            parts.append(fmt.money(spent.cost, spent.price.currency))
    return ", ".join(parts)


def _key(path: Path, number: int) -> str:
    """The folder's name; with a number where another folder has the same."""
    return path.name if number == 1 else f"{path.name}~{number}"


def _noted(path: Path) -> tuple[int, int]:
    noted = (path / RUN_FILE).stat()
    return noted.st_mtime_ns, noted.st_size


def _size(path: Path) -> tuple[int, ...]:
    """How much there is of a run: changes whenever a sample is added."""
    files = (path / "samples.jsonl", path / "failures.jsonl", path / "report.json")
    return tuple(file.stat().st_size if file.is_file() else 0 for file in files)
