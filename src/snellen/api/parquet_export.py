"""Runs as Parquet files, which DuckDB, polars, Spark and pandas query without Snellen.

    FOLDER/runs.parquet             a row for each run
    FOLDER/groups.parquet           a row for each run and group, such as a category
    FOLDER/samples/RUN.parquet      a row for each sample of a run

All files of `samples` have one schema, so that `samples/*.parquet` is one table. Writing again
rewrites only the samples of runs that have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.api.results import GroupScores, Run, SampleResult
from snellen.core.atomic_write import atomic_file, modification_stamp
from snellen.core.errors import DataError, UsageError, storage_errors
from snellen.core.run import RunInfo
from snellen.store.runs import FAILURES_FILE, SAMPLES_FILE

if TYPE_CHECKING:
    import pyarrow

_ROWS = 10_000
"""Rows of a row group: what is held in memory at once."""
_STAMP = b"snellen.samples"
"""Key of the metadata of a file of samples: which content of the run it was made of."""
_VERSION = "1"
"""Changes with the columns, so that older files are written anew."""


class WrittenTables(NamedTuple):
    """How many runs there are, of how many the samples were written, and in how many rows."""

    runs: int
    written: int
    samples: int


def write_parquet(runs: Sequence[Run], folder: Path | str) -> WrittenTables:
    """Write the tables of runs to a folder, in place of what it has of the same runs; other runs
    stay. Raises UsageError if two runs have one name, StorageError."""
    folder = Path(folder)
    by_name: dict[str, Run] = {}
    for run in runs:
        other = by_name.setdefault(run.name, run)
        if other is not run:
            raise UsageError(f"two runs are called {run.name}: {other.path} and {run.path}; export them to two folders")
    with storage_errors("write to", folder):
        (folder / "samples").mkdir(parents=True, exist_ok=True)
    written = [count for run in runs if (count := _write_samples(run, folder / "samples")) is not None]
    _write_rows(folder / "groups.parquet", _group_schema(), list(GroupScores(runs)))
    _write_rows(folder / "runs.parquet", _run_schema(), [_run_row(run) for run in runs])
    return WrittenTables(len(runs), len(written), sum(written))


def _run_schema() -> pyarrow.Schema:
    import pyarrow as pa

    texts = (
        "run",
        "model",
        "benchmark",
        "version",
        "metric",
        "unit",
        "status",
        "setting",
        "created",
        "finished",
        "path",
    )
    numbers = ("score", "low", "high", "level", "top", "cost", "seconds")
    counts = ("n", "samples", "done", "failed", "prompt_tokens", "completion_tokens", "requests")
    return pa.schema(
        [
            *((name, pa.string()) for name in texts),
            *((name, pa.float64()) for name in numbers),
            *((name, pa.int64()) for name in counts),
            ("currency", pa.string()),
            *((name, pa.map_(pa.string(), pa.string())) for name in ("parameters", "facts")),
            ("outcomes", pa.map_(pa.string(), pa.int64())),
        ]
    )


def _run_row(run: Run) -> dict[str, Any]:
    """What it scored, and over all starts and roles what it cost."""
    row, info, headline = run.to_dict(), run.info, run.summary.headline
    spent = list(info.spent.values())
    costs = [usage.cost for usage in spent if usage.cost is not None]
    return {
        **{name: row[name] for name in ("model", "benchmark", "metric", "score", "low", "high", "level", "n")},
        **{name: row[name] for name in ("setting", "status", "created", "path")},
        "run": run.name,
        "version": info.config.version,
        "unit": headline.unit,
        "top": headline.top,
        "finished": info.finished,
        "cost": sum(costs) if costs else None,
        "currency": next((usage.price.currency for usage in spent if usage.price is not None), None),
        "seconds": sum(usage.seconds for usage in spent),
        "samples": info.counts.samples,
        "done": info.counts.done,
        "failed": info.counts.failed,
        "prompt_tokens": sum(usage.usage.prompt_tokens for usage in spent),
        "completion_tokens": sum(usage.usage.completion_tokens for usage in spent),
        "requests": sum(usage.sent for usage in spent),
        "parameters": _pairs(info.config.parameters),
        "facts": _pairs({name: str(value) for name, value in info.config.identity.facts.items()}),
        "outcomes": list(run.summary.outcomes.items()),
    }


def _group_schema() -> pyarrow.Schema:
    import pyarrow as pa

    texts = ((name, pa.string()) for name in ("run", "model", "benchmark", "metric", "column", "group"))
    return pa.schema([*texts, *((name, pa.float64()) for name in ("value", "low", "high")), ("n", pa.int64())])


def _sample_schema() -> pyarrow.Schema:
    import pyarrow as pa

    texts = ("run", "model", "benchmark", "id", "kind", "question", "reply", "answer", "outcome", "failure", "unit")
    texts_map, texts_list = pa.map_(pa.string(), pa.string()), pa.list_(pa.string())
    return pa.schema(
        [
            *((name, pa.string()) for name in texts),
            ("position", pa.int64()),
            ("score", pa.float64()),
            ("tokens", pa.int64()),
            ("prompt_tokens", pa.int64()),
            ("latency", pa.float64()),
            ("repeats", pa.int64()),
            *((name, texts_list) for name in ("gold", "media")),
            *((name, texts_map) for name in ("options", "groups", "metadata")),
            ("values", pa.map_(pa.string(), pa.float64())),
        ]
    )


def _sample_row(sample: SampleResult, info: RunInfo) -> dict[str, Any]:
    record = sample.record
    return {
        **sample.to_dict(),
        "run": info.name,
        "model": info.model,
        "benchmark": info.benchmark,
        "position": record.position,
        "unit": record.unit or None,
        "repeats": len(record.repeats) or 1,
        "media": list(record.media),
        "options": _pairs(record.options),
        "groups": _pairs(record.groups),
        "metadata": _pairs(record.metadata),
        "values": list(record.values.items()),
    }


def _pairs(values: Mapping[str, str]) -> list[tuple[str, str]]:
    return list(values.items())


def _write_samples(run: Run, folder: Path) -> int | None:
    """Write the samples of a run; returns their number, None if the file is of this content."""
    import pyarrow as pa
    from pyarrow import parquet

    target, stamp = folder / f"{run.name}.parquet", _content_stamp(run)
    if _stamp_of(target) == stamp:
        return None
    schema = _sample_schema().with_metadata({_STAMP: stamp})
    count = 0
    with storage_errors("write", target), atomic_file(target) as part, parquet.ParquetWriter(part, schema) as writer:
        records = chain(run.records(), run.failures())
        while rows := [_sample_row(SampleResult(record), run.info) for record in islice(records, _ROWS)]:
            writer.write_table(pa.Table.from_pylist(rows, schema))
            count += len(rows)
    return count


def _content_stamp(run: Run) -> bytes:
    files = (run.path / name for name in (SAMPLES_FILE, FAILURES_FILE))
    return ";".join([_VERSION, *(modification_stamp(file.stat()) for file in files if file.exists())]).encode()


def _stamp_of(target: Path) -> bytes | None:
    """The stamp in a file of samples; None if there is no such file, or it is another's."""
    from pyarrow import ArrowInvalid, parquet

    if not target.is_file():
        return None
    try:
        found: bytes | None = (parquet.read_schema(target).metadata or {}).get(_STAMP)
    except ArrowInvalid:
        return None
    return found


def _write_rows(target: Path, schema: pyarrow.Schema, rows: list[dict[str, Any]]) -> None:
    """Write rows of runs in place of those of the same runs; rows of others stay."""
    import pyarrow as pa
    from pyarrow import compute, parquet

    table = pa.Table.from_pylist(rows, schema)
    if target.is_file():
        try:
            with storage_errors("read", target):
                earlier = parquet.read_table(target)
        except pa.ArrowInvalid as error:
            raise DataError(
                f"{target} is no Parquet file ({error}); remove it, and export all of its runs again"
            ) from error
        if earlier.schema.equals(schema):
            is_written = compute.is_in(earlier["run"], value_set=compute.unique(table["run"]))
            others = earlier.filter(compute.invert(is_written))
            table = pa.concat_tables([others, table])
    with storage_errors("write", target), atomic_file(target) as part:
        parquet.write_table(table, part)
