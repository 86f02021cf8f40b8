"""The two things one does from Python: `evaluate` models, and `score` recorded predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from snellen.benchmarks.control import with_control
from snellen.benchmarks.own import own_benchmark
from snellen.benchmarks.prescribed import prescribed
from snellen.benchmarks.registry import GROUP, is_data, open_benchmark
from snellen.benchmarks.rules import check_rule
from snellen.core.benchmark import Benchmark, BenchmarkFactory, FetchProgress, Variant
from snellen.core.doors import doors
from snellen.core.errors import UnknownName, UsageError
from snellen.core.media import InlineSource, Source
from snellen.core.model import Model
from snellen.core.record import Record
from snellen.core.request import CLIP
from snellen.core.run import Report
from snellen.core.summary import Summary
from snellen.data.columns import check_roles_of
from snellen.data.predictions import Predictions, read_predictions
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

_RECORDED_ALONE = frozenset(
    {"circular", "rule", "control", "recipe", "prompt_digest", "cot_digest", "normalisation"}
)
"""Parameters of a run that are no options of its benchmark."""

T = TypeVar("T")


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
    records: Sequence[Record] = ()


def evaluate(
    models: Sequence[str | Model] | str,
    benchmarks: Sequence[str | Benchmark] | str,
    *,
    out: Path | str = DEFAULT_OUT,
    store: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    limit: int | None = None,
    seed: int = 0,
    extractors: Sequence[str | Model] = (),
    clip: str | Model | None = None,
    load: Sequence[Path | str] = (),
    command: str = "",
    progress: Progress | None = None,
    fetching: FetchProgress | None = None,
    html: bool = True,
    recipes: bool = True,
) -> Results:
    """Run every model on every benchmark; a complete run is only reported.

    Names are as on the command line; models and benchmarks may also be objects. `extractors` are
    models that read the replies no rule can read: one run for each, over the same outputs.
    `clip` compares the pictures that models draw. Models whose authors prescribe a prompt are
    asked with it unless `recipes` is False or a prompt is named.

    Raises a UsageError subclass before anything is asked if a name, option or file cannot be
    used, and `Interrupted` on Ctrl-C.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    check_roles_of(variant.columns)
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out expects a folder")
    own = [load_file(file) for file in load]
    own_models = {name: model for file in own for name, model in file.models.items()}
    own_benchmarks = {name: one for file in own for name, one in file.benchmarks.items()}
    opened = [named_model(model, own_models) for model in _several(models)]
    readers = [{EXTRACTOR: named_model(one, own_models)[1]} for one in extractors] or [{}]
    comparer = {CLIP: named_model(clip, own_models)[1]} if clip is not None else {}
    variant = replace(variant, extractor=bool(extractors), clip=bool(comparer))
    chosen = [named_benchmark(one, variant, own_benchmarks) for one in _several(benchmarks)]
    for benchmark in chosen:
        if benchmark.fetch is not None:
            benchmark.fetch(fetching)
        benchmark.open()
    for roles in (*readers, comparer):
        check_roles(roles)
    results = Results([], [])
    with ResponseStore(Path(store) if store else out / STORE_FILE) as responses:
        named = list(zip(_several(benchmarks), chosen, strict=True))
        for (name, model), (spec, plain), roles in product(opened, named, readers):
            known = recipes and isinstance(spec, str) and spec not in own_benchmarks
            benchmark = prescribed(name, str(spec), plain, variant) if known else plain
            asked = {role: one for role, one in comparer.items() if role in benchmark.asks}
            plan = Plan(
                model=model,
                model_name=name,
                benchmark=benchmark,
                out=out,
                roles={**roles, **asked},
                limit=limit,
                seed=seed,
                failures=variant.failures,
                command=command,
                progress=progress or Silent(),
            )
            try:
                finished = run(plan, responses)
            except UnsupportedBenchmark as error:
                results.skipped.append(Skipped(name, benchmark.name, str(error)))
                continue
            results.runs.append(finished)
            if html:
                write_page(finished, benchmark, responses)
    return results


def _several(given: Sequence[T] | str) -> Sequence[T | str]:
    return [given] if isinstance(given, str) else given


def score(
    benchmark: str,
    predictions: Path | str | None = None,
    *,
    data: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Scored:
    """Score recorded predictions by the benchmark's own flow; no model, no pictures.

    A predictions file that also holds gold answers needs no data; one that holds everything may
    stand in the place of the benchmark. `variant.rule` says whose rules read the replies. Raises
    UsageError subclasses.
    """
    check_roles_of(columns or {})
    variant = replace(variant, data=str(data) if data else variant.data)
    if predictions is None:
        return _scored_alone(benchmark, variant, columns, where)
    apart = variant.data is not None or is_data(benchmark)
    asked, replied = _columns_of_two(columns or {}) if apart else ({}, columns or {})
    read = read_predictions(Path(predictions), columns=replied, where=where)
    chosen = named_benchmark(benchmark, replace(variant, columns=asked))
    if not apart and read.gold_column is not None:
        chosen = replace(chosen, open=read.table)
    return _scored(chosen, read)


def score_by_rules(
    benchmark: str,
    predictions: Path | str | None = None,
    *,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> dict[str, Scored]:
    """`score` under every rule that the benchmark has, by the rule's name."""
    own = score(
        benchmark, predictions, variant=replace(variant, rule=None), columns=columns, where=where
    )
    return {
        rule: score(
            benchmark, predictions, variant=replace(variant, rule=rule), columns=columns,
            where=where,
        )
        for rule in own.benchmark.rules
    }  # fmt: skip


def _scored_alone(
    path: str,
    variant: Variant,
    columns: Mapping[str, str] | None,
    where: Mapping[str, str] | None,
) -> Scored:
    if not is_data(path):
        raise UsageError(
            f"no predictions for {path}: give a file with --predictions, or in place of the "
            "benchmark a file that holds questions, answers and predictions"
        )
    read = read_predictions(Path(path), columns=columns, where=where)
    return _scored(replace(own_benchmark(path, variant), open=read.table), read)


def _scored(benchmark: Benchmark, read: Predictions) -> Scored:
    records, warnings = recorded(benchmark, read.replies(), read.digest)
    summary = benchmark.summarise(records)
    return Scored(benchmark, summary, (*read.warnings, *warnings), records)


def named_model(model: str | Model, own: Mapping[str, Model]) -> tuple[str, Model]:
    """The model and the name it goes by; `own` holds those of loaded files."""
    if not isinstance(model, str):
        return model.identity.name, model
    if model in own:
        return model, own[model]
    try:
        return model, open_model(model)
    except UnknownName as error:
        raise (UnknownName("model", model, own) if own else error) from None


def named_benchmark(
    name: str | Benchmark,
    variant: Variant,
    own: Mapping[str, Benchmark | BenchmarkFactory] | None = None,
) -> Benchmark:
    """The benchmark of that name or data file; `own` holds those of loaded files."""
    if isinstance(name, Benchmark):
        return with_control(name, variant.control)
    loaded = (own or {}).get(name)
    if loaded is not None:
        made = loaded if isinstance(loaded, Benchmark) else loaded(variant)
        return with_control(made, variant.control)
    try:
        opened = open_benchmark(name, variant)
    except UnknownName as error:
        raise (UnknownName("benchmark", name, own) if own else error) from None
    check_rule(opened, variant)
    return opened


def _columns_of_two(columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Columns named for the data file, and those named for the predictions file beside it."""
    replied = {role: name for role, name in columns.items() if role in ("id", "prediction")}
    return {role: name for role, name in columns.items() if role not in replied}, replied


def report_of(run: RunFolder) -> Report:
    """The numbers of a run. One that was killed, or is still going, is summed up from the samples
    it has; its status says so."""
    if run.info.status in ("complete", "incomplete") and run.has_report:
        return run.report()
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
    benchmark = open_benchmark(spec, variant)
    records = [
        msgspec.structs.replace(record, passes=())
        for record in chain(run.records(), run.failures())
    ]
    failed = sum(record.unscored == "failed" for record in records)
    counts = msgspec.structs.replace(info.counts, done=len(records) - failed, failed=failed)
    info = msgspec.structs.replace(info, counts=counts)
    return Report(info, benchmark.summarise(records))


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
            if ref.digest in wanted
        }
        sources |= _made(run, benchmark, wanted - sources.keys())
        for digest in wanted - sources.keys() if responses else ():
            drawn = responses.medium(digest) if responses else None
            if drawn is not None:
                sources[digest] = InlineSource(drawn)
        write_thumbnails(run.path, sources.items())
    return write_html(run)
