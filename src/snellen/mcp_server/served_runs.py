"""The runs that a server may read, by name, and what its tools answer about them as plain JSON.

Runs are found in the folders of the command line and nowhere else; tools name them by the names of
their folders, never by paths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from snellen.api.run_images import RunImages
from snellen.core.errors import SnellenError, UnknownName, UsageError
from snellen.core.output import Failure, Generated
from snellen.core.record import Record
from snellen.core.run import Report, RunInfo
from snellen.report import format as fmt
from snellen.report.page.samples import Result, record_result
from snellen.store.runs import RunFolder, find_runs

MAX_RUNS = 200
"""Runs in one answer."""
MAX_SAMPLES = 20
MAX_IMAGES = 8
MAX_TEXT = 4_000
"""Characters of one text of a sample."""


class SampleFilter(NamedTuple):
    """A filter of samples; empty fields match every sample."""

    result: Result | None = None
    outcome: str = ""
    text: str = ""
    """Part of the id, the question or the reply, in any case."""
    group: str = ""
    """`COLUMN=LABEL`."""
    ids: tuple[str, ...] = ()

    def admits(self, record: Record) -> bool:
        if self.ids and record.id not in self.ids:
            return False
        if self.result is not None and record_result(record) != self.result:
            return False
        if self.outcome and record.outcome != self.outcome:
            return False
        column, _, label = self.group.partition("=")
        if column and record.groups.get(column) != label:
            return False
        texts = (record.id, record.question, *(reply for reply in _replies(record)))
        needle = self.text.lower()
        return not needle or any(needle in text.lower() for text in texts)


class SamplePage(NamedTuple):
    """A page of samples as JSON text, and the pictures in it: sample, digest, JPEG bytes."""

    text: str
    images: list[tuple[str, str, bytes]]


class ServedRuns:
    """The runs in some folders, also those that appear later."""

    def __init__(self, folders: Sequence[Path | str]) -> None:
        """Raises UsageError for a folder that does not exist."""
        self.folders = [Path(folder) for folder in folders]
        for folder in self.folders:
            if not folder.is_dir():
                raise UsageError(f"{folder} is not a folder; give run folders, or a folder of runs")

    def runs(self) -> dict[str, RunFolder]:
        """All runs by name: the name of the folder, with ~2 and so on if it occurs again."""
        named: dict[str, RunFolder] = {}
        seen: set[Path] = set()
        for folder in self.folders:
            for run in _runs_in(folder):
                path = run.path.resolve()
                if path in seen:
                    continue
                seen.add(path)
                name, number = path.name, 2
                while name in named:
                    name, number = f"{path.name}~{number}", number + 1
                named[name] = run
        return named

    def run(self, name: str) -> RunFolder:
        """The run of this name. Raises UnknownName."""
        runs = self.runs()
        if name not in runs:
            raise UnknownName("run", name, runs, "The tool `runs` lists them.")
        return runs[name]

    def listing(self, model: str, benchmark: str, offset: int, limit: int) -> str:
        """The runs whose model and benchmark contain these texts, the newest first."""
        matching = [
            (name, run)
            for name, run in self.runs().items()
            if model.lower() in run.info.model.lower() and benchmark.lower() in run.info.benchmark.lower()
        ]
        matching.sort(key=lambda pair: pair[1].info.created, reverse=True)
        page = matching[max(0, offset) : max(0, offset) + _within(limit, MAX_RUNS, "limit")]
        rows = [_run_row(name, run) for name, run in page]
        return _json({"total": len(matching), "offset": max(0, offset), "runs": rows})

    def status(self, name: str) -> str:
        """Progress of a run, what it has spent, and how many samples failed."""
        run = self.run(name)
        info = run.info
        return _json(
            {
                "run": name,
                "status": info.status,
                "stopped": info.stopped,
                "model": info.model,
                "benchmark": info.benchmark,
                "counts": info.counts,
                "spent": info.spent,
                "created": info.created,
                "finished": info.finished,
                "command": info.command,
                "continue": None if info.status == "complete" else info.command,
            }
        )

    def report(self, name: str) -> str:
        """`report.json` of a run."""
        return _json(_report(self.run(name)))

    def compare(self, names: Sequence[str], common: bool, baseline: bool) -> str:
        """What `snellen compare --json` prints."""
        from snellen.analysis.comparison.paired import compare
        from snellen.report.documents.comparison import comparison_document, comparison_names
        from snellen.report.writers.json_text import write

        runs = [self.run(name) for name in names]
        labels = comparison_names(runs, shared_limit=False)
        comparison = compare(runs, labels, common=common, baseline=baseline)
        return write(comparison_document(comparison))

    def why(self, first: str, second: str, examples: int) -> str:
        """What `snellen why --json` prints."""
        from snellen.api.why import explain
        from snellen.report.documents.why import why_document
        from snellen.report.writers.json_text import write

        paths = [self.run(name).path for name in (first, second)]
        explanation = explain(*paths, examples=_within(examples, MAX_SAMPLES, "examples"))
        return write(why_document(explanation.why))

    def samples(self, name: str, wanted: SampleFilter, offset: int, limit: int, images: bool) -> SamplePage:
        """A page of a run's samples, with their pictures if `images`."""
        run = self.run(name)
        count = _within(limit, MAX_SAMPLES, "limit")
        matching = filter(wanted.admits, chain(run.records(), run.failures()))
        page = list(islice(matching, max(0, offset), max(0, offset) + count + 1))
        records, more = page[:count], len(page) > count
        pictures = list(islice(_pictures(run, records), MAX_IMAGES)) if images else []
        value = {
            "run": name,
            "offset": max(0, offset),
            "next_offset": max(0, offset) + count if more else None,
            "samples": [_sample(record) for record in records],
            "pictures": [{"sample": sample, "sha256": digest} for sample, digest, _ in pictures],
        }
        return SamplePage(_json(value), pictures)


def _runs_in(folder: Path) -> list[RunFolder]:
    try:
        return find_runs(folder)
    except UsageError:
        # There is none yet, or one is damaged: the others can be read.
        return []


def _within(number: int, most: int, name: str) -> int:
    if not 0 < number <= most:
        raise UsageError(f"{name} is {number}; expected 1 to {most}")
    return number


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _report(run: RunFolder) -> Report:
    from snellen.api.report import report_of

    return run.report() if run.has_report else report_of(run)


def _run_row(name: str, run: RunFolder) -> dict[str, Any]:
    """A run as a row of the listing; score and interval are included once it has a report."""
    info: RunInfo = run.info
    row: dict[str, Any] = {
        "run": name,
        "model": info.model,
        "benchmark": info.benchmark,
        "status": info.status,
        "done": info.counts.done,
        "samples": info.counts.samples,
        "created": info.created,
        "parameters": info.config.parameters,
        "limit": info.config.limit,
    }
    if not run.has_report:
        return row
    try:
        summary = run.report().summary
    except SnellenError as error:
        return row | {"error": str(error)}
    headline = summary.headline
    return row | {
        "metric": headline.name,
        "unit": headline.unit,
        "value": headline.value,
        "interval": headline.interval,
        "n": headline.n,
        "chance": summary.metrics["chance"].value if "chance" in summary.metrics else None,
        "notices": list(fmt.notices(run.report())),
    }


def _sample(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "kind": record.kind,
        "result": record_result(record),
        "outcome": record.outcome,
        "score": record.score,
        "question": _cut(record.question),
        "options": {label: _cut(text) for label, text in record.options.items()},
        "gold": list(record.gold),
        "answer": record.answer,
        "replies": [_cut(reply) for reply in _replies(record)],
        "groups": record.groups,
        "media": list(record.media),
    }


def _replies(record: Record) -> Iterator[str]:
    for turn in record.passes:
        if isinstance(turn.output, Generated):
            yield turn.output.text
        elif isinstance(turn.output, Failure):
            yield f"[failed: {turn.output.kind}: {turn.output.message}]"
        else:
            yield json.dumps({"answer": record.answer})


def _pictures(run: RunFolder, records: Sequence[Record]) -> Iterator[tuple[str, str, bytes]]:
    images = RunImages(run)
    for record in records:
        for digest in record.media:
            data = images.thumbnail(digest, record.id)
            if data is not None:
                yield record.id, digest, data


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} [{len(text):,} characters]"
