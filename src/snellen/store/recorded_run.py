"""A run folder of recorded predictions, so that all that works on runs works on them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from snellen import __version__
from snellen.core.record import Pass, Record
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Summary
from snellen.store.runs import FAILURES_FILE, SAMPLES_FILE, RunFolder, RunWriter, open_run, run_folder_name


def write_recorded_run(out: Path, run: RunInfo, summary: Summary, records: Sequence[Record]) -> RunFolder:
    """Write a run folder in `out`; one that holds the same predictions is written anew.

    Prompts are left out: which ones the predictions were made with is not known. Samples without a
    prediction are failures. Raises RunLocked and StorageError.
    """
    folder = out / run_folder_name(run.model, run.benchmark, run.config)
    missing = sum(record.is_retryable for record in records)
    counts = structs.replace(run.counts, done=len(records) - missing, failed=missing)
    info = structs.replace(
        run,
        name=folder.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        status="incomplete" if missing else "complete",
        counts=counts,
        versions={"snellen": __version__},
    )
    with RunWriter(folder) as writer:
        for name in (SAMPLES_FILE, FAILURES_FILE):
            with suppress(FileNotFoundError):
                (folder / name).unlink()
        for position, record in enumerate(records):
            kept = structs.replace(
                record, position=position, passes=tuple(map(_without_prompt, record.passes)), requests=()
            )
            (writer.append_failure if record.is_retryable else writer.append)(kept)
        writer.write_info(info)
        writer.write_report(Report(info, summary))
    return open_run(folder)


def _without_prompt(one: Pass) -> Pass:
    return structs.replace(one, prompt=())
