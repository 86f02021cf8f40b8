"""`evaluate`: every model on every benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeVar

from snellen.api.naming import named_benchmark, named_model
from snellen.api.reporting import write_page
from snellen.api.spending import Prices, terms_of
from snellen.benchmarks.judged import judge_roles
from snellen.benchmarks.prescribed import prescribed
from snellen.benchmarks.suites import expanded
from snellen.core.benchmark import Benchmark, BenchmarkFactory, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model, Profiled
from snellen.core.request import CLIP
from snellen.data.columns import check_roles_of
from snellen.engine.contest import run_contest
from snellen.engine.managed import LostServer, Servers
from snellen.engine.preflight import check_models, check_roles
from snellen.engine.progress import Progress, Silent
from snellen.engine.ray_cluster import Cluster, Replicas
from snellen.engine.run import UnsupportedBenchmark, run
from snellen.engine.run_plan import Plan
from snellen.engine.serving import Say
from snellen.engine.until import Duel, Precision, parse_until
from snellen.extract.llm import EXTRACTOR
from snellen.models.custom import load_file
from snellen.models.registry import full_name
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
    lost: list[LostServer]
    """Servers of Snellen's own that ended while they were needed."""


def evaluate(
    models: Sequence[str | Model] | str,
    benchmarks: Sequence[str | Benchmark] | str,
    *,
    serve: str | None = None,
    serve_timeout: float | None = None,
    serving: Say | None = None,
    out: Path | str = DEFAULT_OUT,
    store: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    limit: int | None = None,
    seed: int = 0,
    extractors: Sequence[str | Model] = (),
    clip: str | Model | None = None,
    judges: Sequence[str | Model] = (),
    load: Sequence[Path | str] = (),
    command: str = "",
    progress: Progress | None = None,
    fetching: FetchProgress | None = None,
    warned: Say | None = None,
    html: bool = True,
    recipes: bool = True,
    retries: int | None = None,
    max_failures: str | None = None,
    budget: str | None = None,
    prices: Sequence[str] = (),
    until: str | None = None,
    cluster: Cluster | None = None,
) -> Results:
    """Run every model on every benchmark; a complete run is only reported.

    Names are as on the command line; models and benchmarks may also be objects. `extractors` are
    models that read the replies no rule can read: one run for each, over the same outputs.
    `clip` compares the pictures that models draw; `judges` grade replies where a benchmark needs
    it, and all of them are asked. `warned` is told, before anything is asked, of benchmarks that
    cannot be scored as they are to be run. Models whose authors prescribe a prompt are
    asked with it unless `recipes` is False or a prompt is named.

    `serve` is the command of a model server with {port} where its port goes, for the one model
    named or, with none, for the only one that the server lists. Names such as vllm/ORG/NAME have
    such a command of their own. Servers start when the first reply is missing and end with this
    call; `serving` is told in lines how that goes, and `serve_timeout` is how many seconds one
    may take until it is ready.

    For models behind servers: `retries` is how often a request that failed is sent again;
    `budget` is what this call may spend (`5usd`, `2Mtok`), after which nothing more is sent;
    `prices` are as for `--price`, where none is listed. A run ends when more than `max_failures`
    requests (`20`, or `5%`) failed for good. Such runs are kept as interrupted.

    `until` ends runs early: `±1`, once the score is known to a point either way, or `A>B`, once
    one of two models is known to score higher (see `engine.until`).

    `cluster` says where the models run as replicas on Ray, instead of in this process.

    Raises a UsageError subclass before anything is asked if a name, option or file cannot be
    used, and `Interrupted` on Ctrl-C.
    """
    out = Path(out)
    check_arguments(limit, variant, out)
    terms, known = terms_of(retries, max_failures, budget), Prices(prices)
    rule = parse_until(until) if until is not None else None
    with Servers(out, serve, serve_timeout, serving) as servers, Replicas(cluster, load) as spread:
        cast = _cast(models, extractors, clip, judges, load, servers, spread)
        variant = replace(
            variant, extractor=bool(extractors), clip=clip is not None, judges=len(judges)
        )
        chosen = [
            Chosen(one, named_benchmark(one, variant, cast.own))
            for one in expanded(several(benchmarks))
        ]
        for one in chosen:
            if one.benchmark.fetch is not None:
                one.benchmark.fetch(fetching)
            one.benchmark.open()
            if one.benchmark.examples is not None:
                one.benchmark.examples()
            if one.benchmark.unscorable and warned is not None:
                warned(f"{one.benchmark.name}: {one.benchmark.unscorable}")
        for roles in (*cast.readers, cast.comparer, cast.judges):
            check_roles(roles)
        known.check(cast.everyone(), terms.budget)
        results = Results([], [], [])
        with ResponseStore(Path(store) if store else out / STORE_FILE) as responses:
            check_models((model for _, model in cast.models), responses)
            for group in _together(rule, cast, chosen):
                plans = []
                for (name, model), one, roles in group:
                    benchmark = one.for_model(name, model, variant, cast.own, recipes)
                    plan = Plan(
                        model=model,
                        model_name=name,
                        benchmark=benchmark,
                        out=out,
                        roles={**roles, **_asked({**cast.comparer, **cast.judges}, benchmark)},
                        limit=limit,
                        seed=seed,
                        failures=variant.failures,
                        command=command,
                        progress=progress or Silent(),
                        terms=terms,
                        until=rule if isinstance(rule, Precision) else None,
                    )
                    plans.append(replace(plan, prices=known.of_plan(plan)))
                first = plans[0]
                try:
                    if isinstance(rule, Duel):
                        finished = run_contest(plans, responses, servers.keep)
                    else:
                        servers.keep(first.model, *first.roles.values())
                        finished = [run(first, responses)]
                except UnsupportedBenchmark as error:
                    lacking = Skipped(first.model_name, first.benchmark.name, str(error))
                    results.skipped.append(lacking)
                    continue
                results.runs.extend(finished)
                for folder, plan in zip(finished, plans, strict=False) if html else ():
                    write_page(folder, plan.benchmark, responses)
        results.lost.extend(servers.lost())
        return results


@dataclass(frozen=True, slots=True)
class _Cast:
    """Everyone who will be asked, and what loaded files offer."""

    models: list[tuple[str, Model]]
    readers: list[dict[str, Model]]
    comparer: dict[str, Model]
    judges: dict[str, Model]
    own: Mapping[str, Benchmark | BenchmarkFactory]

    def everyone(self) -> Iterator[tuple[str, Model]]:
        """With the name each was given on the way in; those with a role have none."""
        yield from self.models
        for roles in (*self.readers, self.comparer, self.judges):
            yield from (("", model) for model in roles.values())


@dataclass(frozen=True, slots=True)
class Chosen:
    """A benchmark as it was named, and opened."""

    spec: str | Benchmark
    benchmark: Benchmark

    def for_model(
        self,
        name: str,
        model: Model,
        variant: Variant,
        own: Mapping[str, Benchmark | BenchmarkFactory],
        recipes: bool,
    ) -> Benchmark:
        """The benchmark with the longest reply of the model's profile, unless one was asked for,
        and asked as the model's authors prescribe, where they do."""
        if not isinstance(self.spec, str):
            return self.benchmark
        opened = self.benchmark
        longest = model.max_new_tokens if isinstance(model, Profiled) else None
        if longest is not None and variant.max_new_tokens is None:
            variant = replace(variant, max_new_tokens=longest)
            opened = named_benchmark(self.spec, variant, own)
        if not recipes or self.spec in own:
            return opened
        return prescribed(full_name(name, model), self.spec, opened, variant)


Asked = tuple[tuple[str, Model], Chosen, dict[str, Model]]
"""A model with its name, the benchmark, and who reads what no rule can."""


def _together(
    rule: Precision | Duel | None, cast: _Cast, chosen: Sequence[Chosen]
) -> Iterator[list[Asked]]:
    """What is run one after the other, model by model; of a duel both models at once."""
    if not isinstance(rule, Duel):
        yield from ([one] for one in product(cast.models, chosen, cast.readers))
        return
    names = [name for name, _ in cast.models]
    models = [cast.models[names.index(name)] for name in contestants(rule, names)]
    for one, roles in product(chosen, cast.readers):
        yield [(model, one, roles) for model in models]


def contestants(rule: Duel, names: Sequence[str]) -> Duel:
    """The rule with the two models by name. Raises UsageError where others are asked."""
    letters = dict(zip("AB", names, strict=False))
    pair = [name if name in names else letters.get(name, name) for name in rule]
    if len(names) != 2 or sorted(pair) != sorted(names):
        raise UsageError(
            f"--until '{rule.first}>{rule.second}' compares the two models of a run, by name or as "
            f"A and B; got {', '.join(names)}"
        )
    return Duel(*pair)


def check_arguments(limit: int | None, variant: Variant, out: Path) -> None:
    """Raises UsageError for what no run can be made with."""
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    check_roles_of(variant.columns)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out expects a folder")


def _cast(
    models: Sequence[str | Model] | str,
    extractors: Sequence[str | Model],
    clip: str | Model | None,
    judges: Sequence[str | Model],
    load: Sequence[Path | str],
    servers: Servers,
    spread: Replicas,
) -> _Cast:
    files = [load_file(file) for file in load]
    own = {name: model for file in files for name, model in file.models.items()}
    return _Cast(
        models=_asked_models(several(models), own, servers, spread),
        readers=[{EXTRACTOR: _model(one, own, servers)[1]} for one in extractors] or [{}],
        comparer={CLIP: named_model(clip, own)[1]} if clip is not None else {},
        judges={
            role: _model(one, own, servers)[1]
            for role, one in zip(judge_roles(len(judges)), judges, strict=True)
        },
        own={name: one for file in files for name, one in file.benchmarks.items()},
    )


def _asked_models(
    models: Sequence[str | Model],
    own: Mapping[str, Model],
    servers: Servers,
    spread: Replicas,
) -> list[tuple[str, Model]]:
    if not servers.serve:
        if not models:
            raise UsageError("no model is named; name one with -m, or start a server with --serve")
        return [_spread(model, spread) or _model(model, own, servers) for model in models]
    if len(models) > 1 or not all(isinstance(model, str) for model in models):
        raise UsageError(f"--serve starts the server of one model; got {len(models)} models")
    return [servers.served(next((model for model in models if isinstance(model, str)), None))]


def _spread(model: str | Model, spread: Replicas) -> tuple[str, Model] | None:
    replicas = spread.of(model) if isinstance(model, str) else None
    return (replicas.name, replicas) if replicas is not None else None


def _model(model: str | Model, own: Mapping[str, Model], servers: Servers) -> tuple[str, Model]:
    """The model and the name it goes by, with a server of its own where it needs one."""
    managed = servers.managed(model) if isinstance(model, str) and model not in own else None
    if managed is not None:
        return managed.name, managed
    return named_model(model, own)


def _asked(others: Mapping[str, Model], benchmark: Benchmark) -> dict[str, Model]:
    return {role: model for role, model in others.items() if role in benchmark.asks}


def several(given: Sequence[T] | str) -> Sequence[T | str]:
    """One name, or several."""
    return [given] if isinstance(given, str) else given
