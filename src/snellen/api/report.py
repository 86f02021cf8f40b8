"""Numbers of a run folder."""

from __future__ import annotations

from itertools import chain

import msgspec

from snellen.core.infrequent_gc import infrequent_gc
from snellen.core.run import Report
from snellen.store.runs import RunFolder, compact_records


def report_of(run: RunFolder) -> Report:
    """The numbers of a run. A run that was killed or goes on is summarised from the samples it
    has; its status says so."""
    if run.info.status in ("complete", "incomplete") and run.has_report:
        return run.report()
    from snellen.analysis.comparison.reopened_data import benchmark_of
    from snellen.benchmarks.protocol.repeats import summary_of, with_never_asked

    info, benchmark = run.info, benchmark_of(run)
    with infrequent_gc():
        records = compact_records(chain(run.records(), run.failures()))
    failed = sum([record.unscored == "failed" for record in records])
    counts = msgspec.structs.replace(info.counts, done=len(records) - failed, failed=failed)
    info = msgspec.structs.replace(info, counts=counts)
    summary = summary_of(benchmark, records, info.config.examples)
    return Report(info, with_never_asked(benchmark, summary, counts.samples))
