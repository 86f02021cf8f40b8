"""Annotations as a table: one line for each sample or reply that has any."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from snellen.core.answer_text import answer_text, answer_texts
from snellen.core.csv_cells import text_cells
from snellen.store.annotations import Annotation, Subject, merge_changes, merge_logs, read_changes
from snellen.store.runs import RunFolder


class AnnotatedSample(Struct, frozen=True):
    """An annotation with the sample that it is about. What a run answered is None, or empty, in an
    annotation of a sample as such."""

    run: str
    """Name of the run's folder; empty in an annotation of a sample, which holds for all runs."""
    model: str
    benchmark: str
    sample: str
    about: Subject
    flag: bool
    labels: tuple[str, ...]
    note: str
    by: str
    at: str
    question: str
    gold: tuple[str, ...]
    answer: str | None
    outcome: str
    score: float | None


class _SampleFacts(Struct, frozen=True, gc=False):
    """The fields of a record that are exported."""

    id: str
    kind: str = "open"
    question: str = ""
    outcome: str = ""
    score: float | None = None
    answer: str | None = None
    gold: tuple[str, ...] = ()


def annotated_samples(runs: Sequence[RunFolder]) -> list[AnnotatedSample]:
    """The annotations of runs: those of samples once for each benchmark and data, then those of
    replies, run by run. Raises StorageError."""
    logs = {run.path: read_changes(run.path).changes for run in runs}
    by_data: dict[tuple[str, str], list[RunFolder]] = {}
    for run in runs:
        if logs[run.path]:
            key = run.info.benchmark, run.info.data.digest
            by_data.setdefault(key, []).append(run)
    rows: list[AnnotatedSample] = []
    for members in by_data.values():
        facts = {run.path: _facts(run) for run in members}
        everything = {name: found for of_run in reversed(facts.values()) for name, found in of_run.items()}
        first = members[0]
        for annotation in merge_logs([logs[run.path] for run in members]):
            found = everything.get(annotation.sample, _SampleFacts(annotation.sample))
            rows.append(_sample_annotations(annotation, first, found))
        for run in members:
            for annotation in merge_changes(logs[run.path]):
                if annotation.about == "reply":
                    found = facts[run.path].get(annotation.sample, _SampleFacts(annotation.sample))
                    rows.append(_sample_annotations(annotation, run, found))
    return rows


def _facts(run: RunFolder) -> dict[str, _SampleFacts]:
    names = {change.sample for change in read_changes(run.path).changes}
    return {each.id: each for each in run.read_as(_SampleFacts) if each.id in names}


def _sample_annotations(annotation: Annotation, run: RunFolder, found: _SampleFacts) -> AnnotatedSample:
    """An annotation with the facts of its sample; those of the run only if it is about the
    reply."""
    is_reply = annotation.about == "reply"
    return AnnotatedSample(
        run=run.name if is_reply else "",
        model=run.info.model if is_reply else "",
        benchmark=run.info.benchmark,
        sample=annotation.sample,
        about=annotation.about,
        flag=annotation.flag,
        labels=annotation.labels,
        note=annotation.note,
        by=annotation.by,
        at=annotation.at,
        question=found.question,
        gold=answer_texts(found.gold, found.kind),
        answer=answer_text(found.answer, found.kind) if is_reply and found.answer is not None else None,
        outcome=found.outcome if is_reply else "",
        score=found.score if is_reply else None,
    )


def as_jsonl(rows: Iterable[AnnotatedSample]) -> str:
    """One JSON object per line."""
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in rows)


def as_csv(rows: Iterable[AnnotatedSample]) -> str:
    """A CSV file with a header; several labels or gold answers are separated by semicolons."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(AnnotatedSample.__struct_fields__)
    for row in rows:
        cells = [_cell(value) for value in msgspec.structs.astuple(row)]
        writer.writerow(text_cells(cells))
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return "; ".join(value)
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else value
