"""`evaluate`: every model on every benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeVar

from snellen.api.naming import named_benchmark, named_model
from snellen.api.reporting import write_page
from snellen.benchmarks.prescribed import prescribed
from snellen.core.benchmark import Benchmark, BenchmarkFactory, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.core.request import CLIP
from snellen.data.columns import check_roles_of
from snellen.engine.preflight import check_roles
from snellen.engine.progress import Progress, Silent
from snellen.engine.run import Plan, UnsupportedBenchmark, run
from snellen.extract.llm import EXTRACTOR
from snellen.models.custom import load_file
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

STORE_FILE = "store.sqlite"
DEFAULT_OUT = "snellen-results"

T = TypeVar("T")


class Skipped(NamedTuple):
    """A model that cannot take a benchmark, with the reason."""

    model: str
    benchmark: str
    reason: str


class Results(NamedTuple):
    runs: list[RunFolder]
    skipped: list[Skipped]


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
    out = Path(out)
    _check(limit, variant, out)
    cast = _cast(models, extractors, clip, load)
    variant = replace(variant, extractor=bool(extractors), clip=clip is not None)
    chosen = [_Chosen(one, named_benchmark(one, variant, cast.own)) for one in _several(benchmarks)]
    for one in chosen:
        if one.benchmark.fetch is not None:
            one.benchmark.fetch(fetching)
        one.benchmark.open()
    for roles in (*cast.readers, cast.comparer):
        check_roles(roles)
    results = Results([], [])
    with ResponseStore(Path(store) if store else out / STORE_FILE) as responses:
        for (name, model), one, roles in product(cast.models, chosen, cast.readers):
            benchmark = one.for_model(name, variant, cast.own) if recipes else one.benchmark
            plan = Plan(
                model=model,
                model_name=name,
                benchmark=benchmark,
                out=out,
                roles={**roles, **_asked(cast.comparer, benchmark)},
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


@dataclass(frozen=True, slots=True)
class _Cast:
    """Everyone who will be asked, and what loaded files offer."""

    models: list[tuple[str, Model]]
    readers: list[dict[str, Model]]
    comparer: dict[str, Model]
    own: Mapping[str, Benchmark | BenchmarkFactory]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A benchmark as it was named, and opened."""

    spec: str | Benchmark
    benchmark: Benchmark

    def for_model(
        self, model: str, variant: Variant, own: Mapping[str, Benchmark | BenchmarkFactory]
    ) -> Benchmark:
        """The benchmark asked as the model's authors prescribe, where they do."""
        if not isinstance(self.spec, str) or self.spec in own:
            return self.benchmark
        return prescribed(model, self.spec, self.benchmark, variant)


def _check(limit: int | None, variant: Variant, out: Path) -> None:
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    check_roles_of(variant.columns)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out expects a folder")


def _cast(
    models: Sequence[str | Model] | str,
    extractors: Sequence[str | Model],
    clip: str | Model | None,
    load: Sequence[Path | str],
) -> _Cast:
    files = [load_file(file) for file in load]
    own = {name: model for file in files for name, model in file.models.items()}
    return _Cast(
        models=[named_model(model, own) for model in _several(models)],
        readers=[{EXTRACTOR: named_model(one, own)[1]} for one in extractors] or [{}],
        comparer={CLIP: named_model(clip, own)[1]} if clip is not None else {},
        own={name: one for file in files for name, one in file.benchmarks.items()},
    )


def _asked(comparer: Mapping[str, Model], benchmark: Benchmark) -> dict[str, Model]:
    return {role: model for role, model in comparer.items() if role in benchmark.asks}


def _several(given: Sequence[T] | str) -> Sequence[T | str]:
    return [given] if isinstance(given, str) else given
