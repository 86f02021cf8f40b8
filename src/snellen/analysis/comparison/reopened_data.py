"""Open the data of a finished run again, checked against the digest in the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from snellen.analysis.comparison.comparability import describe_data
from snellen.benchmarks.declaration.published import absolute_path
from snellen.benchmarks.declaration.registry import benchmark_sources, is_data_source, open_benchmark
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.benchmarks.protocol.judging import JUDGE, RUBRIC_PREFIX
from snellen.core.benchmark import AS_RECORDED, DESCRIBED, Benchmark, DataTable, Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.request import CLIP
from snellen.core.run import RunInfo
from snellen.data.in_memory import KEPT_FOLDER
from snellen.extract.llm import EXTRACTOR
from snellen.settings import force_offline
from snellen.store.runs import RunFolder

_NOT_OPTIONS = frozenset(
    {
        "circular",
        "rule",
        "rule_commit",
        AS_RECORDED,
        CONTROL,
        DESCRIBED,
        "recipe",
        "prompt_digest",
        "cot_digest",
        "normalisation",
    }
)
"""Parameters of a run that are not options of its benchmark."""


def benchmark_of(run: RunFolder) -> Benchmark:
    """The benchmark with the settings of the run; its data may be missing. Raises subclasses of
    UsageError if the benchmark is no longer available."""
    return _open_recorded(run.info, next(_kept_rows(run), None) or next(_data_locations(run.info)))


def benchmark_with_data(run: RunFolder, moved: Sequence[str] = (), info: RunInfo | None = None) -> Benchmark:
    """The benchmark over exactly the data of the run, by digest: searched in the files `moved`,
    then where it was. `info` stands for other settings than the run's. Nothing is downloaded.
    Raises DataError if it is not found."""
    return benchmark_as_recorded(info or run.info, (*moved, *_kept_rows(run)))


def _kept_rows(run: RunFolder) -> Iterator[str]:
    """The file of rows that were in memory, in the folder of the runs if that was moved."""
    origin = run.info.data.origin
    if origin is None or origin.kind != "own" or not origin.file:
        return
    *_, folder, digest, name = ("", "", *Path(origin.file).parts)
    beside = run.path.parent / KEPT_FOLDER / digest / name
    if folder == KEPT_FOLDER and beside.is_file() and str(beside.absolute()) != origin.file:
        yield str(beside)


def benchmark_as_recorded(info: RunInfo, moved: Sequence[str] = (), *, max_new_tokens: int | None = None) -> Benchmark:
    """The benchmark with the settings of `info`, which need not be those of one run, over the data
    that it names. Raises DataError if the data is not found."""
    problems: list[str] = []
    for location in (*moved, *_data_locations(info)):
        try:
            benchmark = _open_recorded(info, location, max_new_tokens)
            with force_offline():
                table = benchmark.open()
        except UsageError as error:
            problems.append(str(error))
            continue
        if benchmark.parameters.get(DESCRIBED) != info.config.parameters.get(DESCRIBED):
            problems.append("the description of the benchmark was changed since")
        elif table.digest != info.data.digest:
            problems.append(f"{table.path} has other content (SHA-256 {table.digest[:8]}...)")
        else:
            return _with_table(benchmark, table)
    raise DataError(
        f"the data of the run {info.name}, {describe_data(info)}, are not there as they were: "
        f"{'; '.join(dict.fromkeys(problems))}; say where they are with --data FILE"
    )


def _with_table(benchmark: Benchmark, table: DataTable) -> Benchmark:
    return replace(benchmark, open=lambda: table)


def _data_locations(info: RunInfo) -> Iterator[str | None]:
    """Where the data may be, likeliest first; None for the benchmark's own location."""
    origin, recorded_path = info.data.origin, info.data.path
    is_registered = not _is_own_file(info) and info.benchmark in benchmark_sources()
    locations: list[str | None] = []
    if origin is None:
        # A run without a recorded origin: an existing file at the path is the one it read.
        locations = [recorded_path] if not is_registered or _exists(recorded_path) else []
    elif origin.kind != "published":
        locations = [origin.file or recorded_path]
        if absolute_path(recorded_path) != origin.file:
            locations.append(recorded_path)
    if is_registered and (origin is None or origin.kind in ("published", "unverified")):
        locations.append(None)
        locations += [origin.file] if origin is not None and origin.file else []
    yield from dict.fromkeys(locations or [recorded_path])


def _is_own_file(info: RunInfo) -> bool:
    """Whether the benchmark is a file: the list of names, slow to make, need not be read then."""
    return info.data.origin is not None and info.data.origin.kind == "own"


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except OSError:
        return False


def _open_recorded(info: RunInfo, location: str | None, max_new_tokens: int | None = None) -> Benchmark:
    """The run's benchmark over the data at a location."""
    origin = info.data.origin
    spec, data = info.benchmark, location
    if origin is not None and origin.spec:
        spec = origin.spec
    elif location is not None and (_is_own_file(info) or spec not in benchmark_sources()):
        spec, data = location, None
        if not is_data_source(spec):
            raise DataError(f"{spec}: there is no such file")
    parameters, roles = info.config.parameters, info.config.roles
    columns = origin.columns if origin is not None and (data is not None or spec == location) else {}
    variant = Variant(
        data=data,
        columns=columns,
        circular=parameters.get("circular"),
        rule=parameters.get("rule"),
        control=parameters.get(CONTROL),
        extractor=EXTRACTOR in roles,
        judges=sum(role.partition("-")[0] == JUDGE for role in roles),
        clip=CLIP in roles,
        failures=info.failures,
        max_new_tokens=max_new_tokens,
    )
    options = {
        name: value
        for name, value in parameters.items()
        if name not in _NOT_OPTIONS and not name.startswith(RUBRIC_PREFIX)
    }
    return open_benchmark(spec, replace(variant, options=options))
