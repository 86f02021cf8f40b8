"""Numbers and page of a run folder."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import msgspec

from snellen.benchmarks.registry import GROUP, open_benchmark
from snellen.core.benchmark import Benchmark, Variant, summed
from snellen.core.doors import doors
from snellen.core.media import InlineSource, Source
from snellen.core.run import Report
from snellen.extract.llm import EXTRACTOR
from snellen.report.html import write_html
from snellen.report.samples import shown_media
from snellen.report.thumbnails import write_thumbnails
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder, slim

_RECORDED_ALONE = frozenset(
    {
        "circular",
        "rule",
        "rule_commit",
        "control",
        "described",
        "recipe",
        "prompt_digest",
        "cot_digest",
        "normalisation",
    }
)
"""Parameters of a run that are no options of its benchmark."""


def report_of(run: RunFolder) -> Report:
    """The numbers of a run. One that was killed, or is still going, is summed up from the samples
    it has; its status says so."""
    if run.info.status in ("complete", "incomplete") and run.has_report:
        return run.report()
    info, benchmark = run.info, benchmark_of(run)
    records = slim(chain(run.records(), run.failures()))
    failed = sum(record.unscored == "failed" for record in records)
    counts = msgspec.structs.replace(info.counts, done=len(records) - failed, failed=failed)
    info = msgspec.structs.replace(info, counts=counts)
    return Report(info, summed(benchmark, records, info.config.examples))


def benchmark_of(run: RunFolder) -> Benchmark:
    """The benchmark as the run was made with it. Raises UsageError subclasses where it is not
    there any more."""
    info = run.info
    spec = info.benchmark if info.benchmark in doors(GROUP) else info.data.path
    parameters = info.config.parameters
    variant = Variant(
        options={name: value for name, value in parameters.items() if name not in _RECORDED_ALONE},
        circular=parameters.get("circular"),
        rule=parameters.get("rule"),
        control=parameters.get("control"),
        extractor=EXTRACTOR in info.config.roles,
        failures=info.failures,
    )
    return open_benchmark(spec, variant)


def _made(run: RunFolder, benchmark: Benchmark, wanted: set[str]) -> dict[str, Source]:
    """Pictures that were made for the asking: stitched, boxed or black."""
    if benchmark.prepare is None or not wanted:
        return {}
    records = chain(run.records(), run.failures())
    ids = {record.id for record in records if wanted.intersection(record.media)}
    return {
        ref.digest: ref.source
        for sample in benchmark.samples(benchmark.open())
        if sample.id in ids
        for ref in benchmark.prepare(sample).media
        if ref.digest in wanted
    }


def write_page(
    run: RunFolder, benchmark: Benchmark, responses: ResponseStore | None = None
) -> Path:
    """Thumbnails and `report.html` of a finished run; `responses` has what models drew."""
    wanted = set(shown_media(chain(run.records(), run.failures())))
    if wanted:
        sources: dict[str, Source] = {
            ref.digest: ref.source
            for row in benchmark.open()
            for ref in row.media
            if ref.digest in wanted and ref.kind == "image"
        }
        sources |= _made(run, benchmark, wanted - sources.keys())
        for digest in wanted - sources.keys() if responses else ():
            drawn = responses.medium(digest) if responses else None
            if drawn is not None:
                sources[digest] = InlineSource(drawn)
        write_thumbnails(run.path, sources.items())
    return write_html(run)
