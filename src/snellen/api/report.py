"""Numbers of a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import msgspec

from snellen.core.infrequent_gc import infrequent_gc
from snellen.core.run import Report
from snellen.store.runs import RUN_FILE, RunFolder, compact_records

_decode = msgspec.json.Decoder(Report).decode


def report_of(run: RunFolder) -> Report:
    """The numbers of a run. A run that was killed or goes on is summarised from the samples it
    has; its status says so."""
    return reports_of([run])[0]


def reports_of(runs: Sequence[RunFolder]) -> list[Report]:
    """The numbers of runs. Those that are summarised from samples are stored in the catalogue, so that
    a killed run costs no more than one that ended, from the second time on."""
    ended = [run.info.status in ("complete", "incomplete") and run.has_report for run in runs]
    unfinished = [run for run, has_ended in zip(runs, ended, strict=True) if not has_ended]
    summed = iter(_summarise_all(unfinished) if unfinished else ())
    return [run.report() if has_ended else next(summed) for run, has_ended in zip(runs, ended, strict=True)]


def _summarise_all(runs: Sequence[RunFolder]) -> list[Report]:
    from snellen.store.run_catalog_file import RunCatalogFile, is_worth_keeping

    if not is_worth_keeping(run.path for run in runs):
        return [_summarise(run) for run in runs]
    catalog = RunCatalogFile()
    # The states from before the reading: what is written meanwhile is read again.
    keys = [(str(run.path.resolve()), _report_state(run)) for run in runs]
    stored = {
        (path, state): report for path, state, report in catalog.rows_of("reports", "*", [key[0] for key in keys])
    }
    reports = []
    for run, key in zip(runs, keys, strict=True):
        report = _stored_report(stored.get(key))
        if report is None:
            report = _summarise(run)
            # At once: summing up thousands of runs may be interrupted.
            catalog.put("reports", [(*key, msgspec.json.encode(report))])
        reports.append(report)
    return reports


def _report_state(run: RunFolder) -> str:
    """The state of everything that the numbers of an unfinished run are made of."""
    from snellen.store.run_catalog_file import file_state, samples_state

    origin = run.info.data.origin
    own = file_state(origin.file) if origin is not None and origin.file else ""
    return f"{file_state(f'{run.path}/{RUN_FILE}')} {samples_state(run.path)} {own}"


def _stored_report(content: bytes | None) -> Report | None:
    try:
        return None if content is None else _decode(content)
    except msgspec.DecodeError:
        return None


@infrequent_gc()
def _summarise(run: RunFolder) -> Report:
    """The numbers of the samples that a run has."""
    from snellen.analysis.comparison.reopened_data import benchmark_of
    from snellen.benchmarks.protocol.repeats import summary_of, with_never_asked

    info, benchmark = run.info, benchmark_of(run)
    records = compact_records(chain(run.records(), run.failures()))
    failed = sum([record.unscored == "failed" for record in records])
    counts = msgspec.structs.replace(info.counts, done=len(records) - failed, failed=failed)
    info = msgspec.structs.replace(info, counts=counts)
    summary = summary_of(benchmark, records, info.config.examples)
    return Report(info, with_never_asked(benchmark, summary, counts.samples))
