"""`evaluate`: every model on every benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from snellen.api._budget import Prices, request_limits
from snellen.api._resolve import NamedBenchmark, resolve_benchmark, resolve_served_model
from snellen.api._roles import RunCell, RunMatrix, open_roles
from snellen.api._sampling import (
    is_greedy,
    refuse_sampling,
    split_judge_sampling,
    split_model_sampling,
)
from snellen.api.options import DEFAULT_OUT, STORE_FILE, as_list, check_arguments, with_roles
from snellen.api.report import write_page
from snellen.benchmarks.declaration.suites import expand_suites
from snellen.core.benchmark import Benchmark, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.core.request import Sampling
from snellen.engine.anytime.early_stop import PrecisionRule, parse_stop_rule
from snellen.engine.loop.comparison_run import run_comparison
from snellen.engine.loop.fresh import LATEST, check_fresh, fresh_name
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.preflight import check_models, check_roles
from snellen.engine.loop.progress import NoProgress, Progress
from snellen.engine.loop.run import RunInterrupted, UnsupportedBenchmark, run
from snellen.engine.ray.cluster import RayCluster, ReplicatedModels
from snellen.engine.servers.managed import LostServer, Servers
from snellen.engine.servers.process import GRACE, Notify
from snellen.models.naming.custom import load_files
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

_NO_TEMPERATURE = (
    "at temperature 0, draws of a question differ only where a server is not deterministic; "
    "--temperature 1 draws freely"
)


class SkippedRun(NamedTuple):
    """A model that cannot take a benchmark, with the reason."""

    model: str
    benchmark: str
    reason: str


class Results(NamedTuple):
    runs: list[RunFolder]
    skipped: list[SkippedRun]
    lost: list[LostServer]
    """Servers of Snellen's own that ended while they were needed."""


def evaluate(
    models: Sequence[str | Model] | str,
    benchmarks: Sequence[str | Benchmark] | str,
    *,
    serve: str | None = None,
    serve_timeout: float | None = None,
    serving: Notify | None = None,
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
    warned: Notify | None = None,
    html: bool = True,
    recipes: bool = True,
    retries: int | None = None,
    max_failures: str | None = None,
    budget: str | None = None,
    prices: Sequence[str] = (),
    until: str | None = None,
    cluster: RayCluster | None = None,
    repeats: int = 1,
    judge_repeats: int = 1,
    sampling: Sampling = Sampling(),  # noqa: B008 - frozen
    fresh: str | None = None,
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

    `repeats` asks each question so often, each time as a whole, and stores each reply for itself.
    `judge_repeats` asks for each verdict of a judge so often, and shows how far they differ.
    `sampling` says how the replies of the models are drawn, where the options behind their names
    (`temperature`, `top_p`, `seed`) do not; what neither says is as the benchmark has it.

    `fresh` asks anew whatever the store has, under this name; the same name finds those replies
    again. `""` goes on with the last such call that has not ended, or else begins another.

    `cluster` says where the models run as replicas on Ray, instead of in this process.

    Raises a UsageError subclass before anything is asked if a name, option or file cannot be
    used, and `RunInterrupted` on Ctrl-C.
    """
    out = Path(out)
    check_arguments(limit, variant, out, repeats)
    terms, known = request_limits(retries, max_failures, budget), Prices(prices)
    check_fresh(fresh)
    rule = parse_stop_rule(until) if until is not None else None
    with (
        Servers(out, serve, serve_timeout, serving) as servers,
        ReplicatedModels(cluster, load, out) as spread,
        _saying_how_to_go_on(command, serving, servers, spread),
    ):
        own = load_files(load)
        opener = _ModelOpener(own.models, servers, spread)
        drawn = split_model_sampling(as_list(models), sampling, own.models)
        refuse_sampling("an extractor", *extractors)
        refuse_sampling("a model that compares pictures", clip)
        graders, judging = split_judge_sampling(judges, own.models)
        opened, how = drawn.resolve(opener.requested_models(drawn.models), repeats)
        cast = open_roles(opened, extractors, clip, graders, opener.role_model, how, judging)
        variant = with_roles(variant, extractors, clip, judges, judge_repeats)
        chosen = [
            NamedBenchmark(one, resolve_benchmark(one, variant, own.benchmarks))
            for one in expand_suites(as_list(benchmarks))
        ]
        fetched = [one.benchmark for one in chosen if one.benchmark.fetch is not None]
        for one in chosen:
            if one.benchmark.fetch is None:
                _prepare(one.benchmark, fetching, warned)
        for roles in cast.roles():
            check_roles(roles)
        known.check(cast.all_models(), terms.budget)
        if repeats > 1 and warned is not None:
            for name, model in opened:
                if is_greedy(model, how.get(name)):
                    warned(f"{name}: {_NO_TEMPERATURE}")
        programme = RunMatrix(cast, chosen, variant, own.benchmarks, recipes, repeats)

        def planned(asked: RunCell) -> RunPlan:
            plan = replace(
                programme.run_plan(asked, out, limit, seed),
                command=command,
                progress=progress or NoProgress(),
                limits=terms,
                stop_rule=rule if isinstance(rule, PrecisionRule) else None,
                fresh=fresh or "",
            )
            return replace(plan, prices=known.plan_prices(plan))

        results = Results([], [], [])
        with ResponseStore(Path(store) if store else out / STORE_FILE) as responses:
            models_asked = [model for _, model in cast.models]
            check_models(models_asked, responses, fresh=fresh is not None)
            # Only here: that a key is refused is not found out after hours of downloading.
            for benchmark in fetched:
                _prepare(benchmark, fetching, warned)
            if fresh == LATEST:
                fresh = fresh_name([planned(asked) for asked in programme.cells()])
            for together in programme.run_groups(rule):
                _run_group(list(map(planned, together)), responses, servers, html, results)
        results.lost.extend(servers.lost_servers())
        return results


@contextmanager
def _saying_how_to_go_on(
    command: str, say: Notify | None, *ended: Servers | ReplicatedModels
) -> Iterator[None]:
    """Where Ctrl-C has servers or replicas to end, which takes seconds, say first how the command
    goes on."""
    try:
        yield
    except (RunInterrupted, KeyboardInterrupt):
        if command and say is not None and any(one.running for one in ended):
            what = f"stopping; servers and replicas have {GRACE:.0f} s to end"
            say(f"{what}, none at a second Ctrl-C; continue with: {command}")
        raise


def _prepare(benchmark: Benchmark, fetching: FetchProgress | None, warned: Notify | None) -> None:
    """Bring what the benchmark needs, so that nothing is asked in vain."""
    if benchmark.fetch is not None:
        benchmark.fetch(fetching)
    benchmark.open()
    if benchmark.few_shot_info is not None:
        benchmark.few_shot_info()
    if benchmark.unscorable and warned is not None:
        warned(f"{benchmark.name}: {benchmark.unscorable}")


def _run_group(
    plans: Sequence[RunPlan],
    responses: ResponseStore,
    servers: Servers,
    html: bool,
    results: Results,
) -> None:
    """A run, or two that are one another's opponents."""
    first = plans[0]
    try:
        if len(plans) > 1:
            finished = run_comparison(plans, responses, servers.keep_only)
        else:
            servers.keep_only(first.model, *first.roles.values())
            finished = [run(first, responses)]
    except UnsupportedBenchmark as error:
        results.skipped.append(SkippedRun(first.model_name, first.benchmark.name, str(error)))
        return
    results.runs.extend(finished)
    for folder, plan in zip(finished, plans, strict=False) if html else ():
        write_page(folder, plan.benchmark, responses)


class _ModelOpener(NamedTuple):
    """Opens models: those of loaded files, those with a server of Snellen's own, replicas."""

    custom: Mapping[str, Model]
    servers: Servers
    replicas: ReplicatedModels

    def requested_models(self, models: Sequence[str | Model]) -> list[tuple[str, Model]]:
        """The models to be evaluated, with the name each goes by. Raises UsageError."""
        if not self.servers.serve:
            if not models:
                raise UsageError(
                    "no model is named; name one with -m, or start a server with --serve"
                )
            return [self._open_replicas(model) or self._open_single(model) for model in models]
        if len(models) > 1 or not all(isinstance(model, str) for model in models):
            raise UsageError(f"--serve starts the server of one model; got {len(models)} models")
        named = next((model for model in models if isinstance(model, str)), None)
        return [self.servers.open_served(named)]

    def role_model(self, model: str | Model) -> Model:
        """A model with another role."""
        return self._open_single(model)[1]

    def _open_replicas(self, model: str | Model) -> tuple[str, Model] | None:
        replicas = self.replicas.open_model(model) if isinstance(model, str) else None
        return (replicas.name, replicas) if replicas is not None else None

    def _open_single(self, model: str | Model) -> tuple[str, Model]:
        return resolve_served_model(model, self.custom, self.servers)
