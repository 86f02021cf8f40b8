"""What of an earlier start a run goes on with: one line a sample, of those that are asked, about
the pictures that are there now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from snellen.core.benchmark import Table
from snellen.core.sample import Sample
from snellen.data.media.sources import BrokenSource
from snellen.engine.loop.plan import RunPlan
from snellen.store.runs import ResumeRecord, RunWriter


class ResumeState(NamedTuple):
    """Ids of the samples that are done, and what was left out of the folder, in sentences."""

    done: set[str]
    repairs: tuple[str, ...]


def resume(plan: RunPlan, table: Table, writer: RunWriter, selected: set[str]) -> ResumeState:
    """Take what does not belong into the run out of its folder, and tell what is done."""
    lines = writer.recover()
    first: dict[str, int] = {}
    duplicate: set[int] = set()
    foreign: set[int] = set()
    for position, line in enumerate(lines):
        if line.id not in selected:
            foreign.add(position)
        elif first.setdefault(line.id, position) != position:
            duplicate.add(position)
    changed = {first.pop(name) for name in _changed_ids(plan, table, lines, first)}
    excluded = duplicate | foreign | changed
    if excluded:
        writer.exclude_lines(excluded)
    return ResumeState(
        set(first), tuple(_repair_notices(len(duplicate), len(foreign), len(changed)))
    )


def _changed_ids(
    plan: RunPlan, table: Table, lines: list[ResumeRecord], first: dict[str, int]
) -> list[str]:
    """Ids of finished samples that were asked about other pictures than the data have now. Where
    pictures are made ready before they are shown, rows of older versions do not hold those of the
    data, and are kept."""
    compared = [lines[at] for at in first.values()]
    if plan.benchmark.prepare is not None:
        compared = [line for line in compared if line.data_media is not None]
    names = {line.id for line in compared if line.media or line.data_media}
    if not names:
        return []
    samples = plan.benchmark.samples(table)
    return [
        one.id
        for one in samples
        if one.id in names and _has_other_images(one, lines[first[one.id]])
    ]


def _has_other_images(sample: Sample, line: ResumeRecord) -> bool:
    """Whether a line is about other pictures than the sample's. Where pictures were drawn or were
    options, it names these as well."""
    if any(isinstance(ref.source, BrokenSource) for ref in sample.media):
        # The pictures are gone: there is nothing else that could be asked about.
        return False
    if line.data_media is not None:
        return set(line.data_media) != {ref.digest for ref in sample.media}
    there, asked = [ref.digest for ref in sample.media], set(line.media)
    if len(line.media) == len(there):
        return asked != set(there)
    there += [ref.digest for ref in sample.option_images.values()]
    # Fewer: shown in another form than that of the data, or not at all.
    return len(line.media) > len(sample.media) and not asked.issuperset(there)


def _repair_notices(doubled: int, foreign: int, changed: int) -> Iterator[str]:
    if doubled:
        yield f"{_count_rows(doubled)} of samples.jsonl left out: another row has the same id"
    if foreign:
        yield f"{_count_rows(foreign)} of samples.jsonl left out: no sample of this run has the id"
    if changed:
        yield f"{_count_rows(changed)} of samples.jsonl left out: the pictures are others now"


def _count_rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
