"""The data of a finished run, opened again: those it was made on, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from snellen.analysis.comparison.data_differences import data_words
from snellen.benchmarks.declaration.published import absolute
from snellen.benchmarks.declaration.registry import GROUP, is_data, open_benchmark
from snellen.benchmarks.declaration.toml import DESCRIBED
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.benchmarks.protocol.judging import JUDGE, RUBRIC_PREFIX
from snellen.core.benchmark import Benchmark, Table, Variant
from snellen.core.entry_points import doors
from snellen.core.errors import DataError, UsageError
from snellen.core.request import CLIP
from snellen.core.run import RunInfo
from snellen.extract.llm import EXTRACTOR
from snellen.settings import unplugged
from snellen.store.runs import RunFolder

_RECORDED_ALONE = frozenset(
    {
        "circular",
        "rule",
        "rule_commit",
        CONTROL,
        DESCRIBED,
        "recipe",
        "prompt_digest",
        "cot_digest",
        "normalisation",
    }
)
"""Parameters of a run that are no options of its benchmark."""


def benchmark_of(run: RunFolder) -> Benchmark:
    """The benchmark as the run was made with it; whether its data are there is not looked at.
    Raises UsageError subclasses where it is not known any more."""
    return _opened(run.info, next(_places(run.info)))


def benchmark_with_data(run: RunFolder, moved: Sequence[str] = ()) -> Benchmark:
    """The same over the very data of the run, by their digest: looked for where they were, and
    first in the files `moved`. Nothing is fetched. Raises DataError where they are nowhere."""
    return benchmark_as_recorded(run.info, moved)


def benchmark_as_recorded(
    info: RunInfo, moved: Sequence[str] = (), *, max_new_tokens: int | None = None
) -> Benchmark:
    """The benchmark with the settings of `info`, which need not be those of one run, over the data
    that it names. Raises DataError where they are nowhere."""
    problems: list[str] = []
    for place in (*moved, *_places(info)):
        try:
            made = _opened(info, place, max_new_tokens)
            with unplugged():
                table = made.open()
        except UsageError as error:
            problems.append(str(error))
            continue
        if made.parameters.get(DESCRIBED) != info.config.parameters.get(DESCRIBED):
            problems.append("the description of the benchmark was changed since")
        elif table.digest != info.data.digest:
            problems.append(f"{table.path} has other content (SHA-256 {table.digest[:8]}...)")
        else:
            return _over(made, table)
    raise DataError(
        f"the data of the run {info.name}, {data_words(info)}, are not there as they were: "
        f"{'; '.join(dict.fromkeys(problems))}; say where they are with --data FILE"
    )


def _over(benchmark: Benchmark, table: Table) -> Benchmark:
    return replace(benchmark, open=lambda: table)


def _places(info: RunInfo) -> Iterator[str | None]:
    """Where the data may be, likeliest first; None is where the benchmark itself has them."""
    origin, seen = info.data.origin, info.data.path
    known = info.benchmark in doors(GROUP)
    places: list[str | None] = []
    if origin is None:
        # Recorded without its origin: a file that is there is the one that was read.
        places = [seen] if not known or _is_there(seen) else []
    elif origin.kind != "published":
        places = [origin.file or seen]
        if absolute(seen) != origin.file:
            places.append(seen)
    if known and (origin is None or origin.kind in ("published", "unverified")):
        places.append(None)
        places += [origin.file] if origin is not None and origin.file else []
    yield from dict.fromkeys(places or [seen])


def _is_there(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except OSError:
        return False


def _opened(info: RunInfo, place: str | None, max_new_tokens: int | None = None) -> Benchmark:
    """The run's benchmark over the data at a place."""
    origin = info.data.origin
    spec, data = info.benchmark, place
    if origin is not None and origin.spec:
        spec = origin.spec
    elif place is not None and spec not in doors(GROUP):
        spec, data = place, None
        if not is_data(spec):
            raise DataError(f"{spec}: there is no such file")
    parameters, roles = info.config.parameters, info.config.roles
    columns = origin.columns if origin is not None and (data is not None or spec == place) else {}
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
    options = {name: value for name, value in parameters.items() if not _recorded_alone(name)}
    return open_benchmark(spec, replace(variant, options=options))


def _recorded_alone(name: str) -> bool:
    return name in _RECORDED_ALONE or name.startswith(RUBRIC_PREFIX)
