"""The two things one does from Python: `evaluate` models, and `score` recorded predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from snellen.benchmarks.own import own_benchmark
from snellen.benchmarks.registry import is_data, open_benchmark
from snellen.core.benchmark import Benchmark, BenchmarkFactory, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.core.summary import Summary
from snellen.data.predictions import read_predictions
from snellen.engine.preflight import check_roles
from snellen.engine.progress import Progress, Silent
from snellen.engine.run import Plan, UnsupportedBenchmark, run
from snellen.engine.scoring import recorded
from snellen.extract.llm import EXTRACTOR
from snellen.models.custom import load_file
from snellen.models.registry import open_model
from snellen.report.html import write_html
from snellen.report.samples import shown_media
from snellen.report.thumbnails import write_thumbnails
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

STORE_FILE = "store.sqlite"
DEFAULT_OUT = "snellen-results"


class Skipped(NamedTuple):
    """A model that cannot take a benchmark, with the reason."""

    model: str
    benchmark: str
    reason: str


class Results(NamedTuple):
    runs: list[RunFolder]
    skipped: list[Skipped]


class Scored(NamedTuple):
    """Numbers of somebody else's predictions. `warnings` speak of the predictions file."""

    benchmark: Benchmark
    summary: Summary
    warnings: tuple[str, ...]


def evaluate(
    models: Sequence[str | Model] | str,
    benchmarks: Sequence[str | Benchmark] | str,
    *,
    out: Path | str = DEFAULT_OUT,
    store: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    limit: int | None = None,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    extractor: str | Model | None = None,
    load: Sequence[Path | str] = (),
    command: str = "",
    progress: Progress | None = None,
    fetching: FetchProgress | None = None,
    html: bool = True,
) -> Results:
    """Run every model on every benchmark; a complete run is only reported.

    `extractor` is a model that reads the replies no rule can read.

    Names are as on the command line; models and benchmarks may also be objects. Raises a
    UsageError subclass before anything is asked if a name, option or file cannot be used, and
    `Interrupted` on Ctrl-C.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    out = Path(out)
    loaded = [load_file(file) for file in load]
    own_models = {name: model for file in loaded for name, model in file.models.items()}
    own_benchmarks = {name: one for file in loaded for name, one in file.benchmarks.items()}
    roles = {}
    if extractor is not None:
        roles[EXTRACTOR] = named_model(extractor, own_models)[1]
        variant = replace(variant, extractor=True)
    opened = [
        named_model(model, own_models)
        for model in ([models] if isinstance(models, str) else models)
    ]
    chosen = [
        named_benchmark(
            own_benchmarks.get(one, one) if isinstance(one, str) else one, variant, columns
        )
        for one in ([benchmarks] if isinstance(benchmarks, str) else benchmarks)
    ]
    for benchmark in chosen:
        if benchmark.fetch is not None:
            benchmark.fetch(fetching)
        benchmark.open()
    runs: list[RunFolder] = []
    skipped: list[Skipped] = []
    check_roles(roles)
    with ResponseStore(Path(store) if store else out / STORE_FILE) as responses:
        for name, model in opened:
            for benchmark in chosen:
                plan = Plan(
                    model=model,
                    model_name=name,
                    benchmark=benchmark,
                    out=out,
                    roles=roles,
                    limit=limit,
                    seed=seed,
                    failures=variant.failures,
                    command=command,
                    progress=progress or Silent(),
                )
                try:
                    finished = run(plan, responses)
                except UnsupportedBenchmark as error:
                    skipped.append(Skipped(name, benchmark.name, str(error)))
                    continue
                runs.append(finished)
                if html:
                    write_page(finished, benchmark)
    return Results(runs, skipped)


def score(
    benchmark: str,
    predictions: Path | str,
    *,
    data: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Scored:
    """Score recorded predictions by the benchmark's own flow; no model, no pictures.

    A predictions file that also holds gold answers needs no data. Raises UsageError subclasses.
    """
    read = read_predictions(Path(predictions), columns=columns, where=where)
    variant = replace(variant, data=str(data) if data else variant.data)
    chosen = named_benchmark(benchmark, variant, columns)
    if variant.data is None and not is_data(benchmark) and read.gold_column is not None:
        chosen = replace(chosen, open=read.table)
    records, warnings = recorded(chosen, read.replies(), read.digest)
    return Scored(chosen, chosen.summarise(records), (*read.warnings, *warnings))


def named_model(model: str | Model, own: Mapping[str, Model]) -> tuple[str, Model]:
    """The model and the name it goes by; `own` holds those of loaded files."""
    if not isinstance(model, str):
        return model.identity.name, model
    return model, own[model] if model in own else open_model(model)


def named_benchmark(
    name: str | Benchmark | BenchmarkFactory,
    variant: Variant,
    columns: Mapping[str, str] | None = None,
) -> Benchmark:
    """The benchmark of that name or data file; objects and factories are taken as they are."""
    if isinstance(name, Benchmark):
        return name
    if not isinstance(name, str):
        return name(variant)
    if is_data(name) and columns:
        return own_benchmark(name, variant, columns)
    return open_benchmark(name, variant)


def write_page(run: RunFolder, benchmark: Benchmark) -> Path:
    """Thumbnails and `report.html` of a finished run."""
    wanted = set(shown_media(chain(run.records(), run.failures())))
    if wanted:
        sources = {
            ref.digest: ref.source
            for row in benchmark.open()
            for ref in row.media
            if ref.digest in wanted
        }
        write_thumbnails(run.path, sources.items())
    return write_html(run)
