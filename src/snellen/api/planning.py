"""`plan`: what a run would ask, take and cost, and what is missing. Fetches nothing, and sends
nothing but a probe."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Unpack

from msgspec import structs

from snellen.analysis.comparison.planned_study import Aims
from snellen.api._inputs import BenchmarkLike
from snellen.api._judge_inputs import check_judges_see
from snellen.api._roles import RunMatrix, open_matrix, resolve_comparison
from snellen.api.budget import Prices, request_limits
from snellen.api.mistakes import shorten_tracebacks
from snellen.api.offline import OfflineResolver
from snellen.api.options import RunOptionChanges, RunOptions, change_options, check_options, in_shard_folder
from snellen.api.plan_table import Planned
from snellen.api.planned_studies import PlanLine, check_aims, plan_studies
from snellen.api.resolve_benchmarks import space_of
from snellen.api.resolve_models import UnavailableModel
from snellen.benchmarks.declaration.published_sizes import published_size
from snellen.core.benchmark import RECIPE
from snellen.core.model import AnyModel, abilities
from snellen.core.output import Usage, cost
from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule, parse_stop_rule
from snellen.engine.forecast.sample_costs import Pace
from snellen.engine.limits.spending import Budget
from snellen.engine.loop.plan import LATEST, RunPlan, bind_to_data, fresh_name
from snellen.engine.loop.probe import ProbeResult, ask_probe
from snellen.engine.loop.request_broker import RequestLimits
from snellen.engine.offline.estimate import Assumptions, MeasuredPace, estimate, estimate_without_data
from snellen.engine.servers.managed import ManagedModel, Servers
from snellen.models.naming.custom import load_files
from snellen.models.naming.image_tokens import image_token_rule
from snellen.report.format import plural
from snellen.settings import force_offline
from snellen.store.responses import STORE_FILE, ResponseStore


@shorten_tracebacks
def plan(
    models: AnyModel | Iterable[AnyModel] | Mapping[str, AnyModel],
    benchmarks: BenchmarkLike,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    *,
    assumed: Assumptions = Assumptions(),  # noqa: B008 - frozen
    probe: bool = False,
    aims: Aims | None = None,
    like: Sequence[Path | str] = (),
    **changes: Unpack[RunOptionChanges],
) -> Planned:
    """What `evaluate` would do with the same arguments. No model is asked, no server started.

    With `until`, the requests are those before the expected end (`engine.anytime`). With `probe`,
    extractors, judges and model servers are sent one small request each, and if all answer, the
    first samples of each run are asked: `evaluate` then takes their replies from the store. With
    `aims`, also what it takes to compare the two models, by how two finished runs (`like`) differ
    if they are given. Raises UsageError subclasses for names and options that cannot be used.
    """
    options = change_options(options, changes)
    check_aims(aims, options.until, like)
    check_options(options)
    options = in_shard_folder(options)
    limits = request_limits(options.retries, options.max_failures, options.budget)
    prices, out, custom = Prices(options.prices), Path(options.out), load_files(options.load)
    resolver = OfflineResolver(custom, Servers(out, options.serve, options.serve_timeout))
    matrix = open_matrix(models, benchmarks, options, resolver, custom, resolver.benchmark)
    roles = matrix.model_roles
    rule = _stop_rule(options.until, [name for name, _ in roles.models])
    prices.check(roles.all_models(), limits.budget)
    matrix.check_batches(probe)
    check_judges_see([named.benchmark for named in matrix.benchmarks], roles.shared_roles)
    if probe:
        resolver.probe([model for _, model in roles.models], roles.roles())
    if options.extend_truncated is not None:
        matrix.check_extension(options.extend_truncated)
    notes = list(resolver.notes(matrix.benchmarks, matrix.variant))
    probe_notes = notes if probe and not resolver.missing else None
    runs, lines, waiting = _estimate_runs(matrix, resolver, assumed, limits, prices, rule, probe_notes)
    planned = _sum_up(runs, lines, limits.budget, out)
    return structs.replace(
        planned,
        studies=[] if aims is None else plan_studies(runs, planned.lines, aims, like, assumed, options.repeats),
        missing=resolver.missing,
        downloads=resolver.downloads,
        notes=[*notes, *waiting, *planned.notes],
    )


class _EstimatedRuns(NamedTuple):
    runs: list[RunPlan]
    lines: list[PlanLine]
    """In the same order."""
    waiting: list[str]
    """A sentence for each model of which batches wait."""


def _estimate_runs(
    matrix: RunMatrix,
    resolver: OfflineResolver,
    assumed: Assumptions,
    limits: RequestLimits,
    prices: Prices,
    rule: PrecisionRule | ComparisonRule | None,
    probe_notes: list[str] | None,
) -> _EstimatedRuns:
    """Estimate each run. With `probe_notes` its first samples are asked, and a sentence about a run
    with too few of them is added."""
    options, runs, lines = matrix.options, [], []
    store = Path(options.store) if options.store else Path(options.out) / STORE_FILE
    asks = probe_notes is not None
    with ResponseStore(store if asks or store.exists() else None) as responses:
        estimator = _LineEstimator(responses, assumed, prices, options.cluster.replicas if options.cluster else 1, rule)
        with force_offline():
            cells = [(resolver.has_data(cell.benchmark), matrix.run_plan(cell)) for cell in matrix.cells()]
            plans = [(has_data, bind_to_data(plan) if has_data else plan) for has_data, plan in cells]
            fresh = options.fresh or ""
            if options.fresh == LATEST:
                fresh = fresh_name([plan for has_data, plan in plans if has_data])
        for has_data, plan in plans:
            run = replace(plan, fresh=fresh, limits=limits, prices=prices.plan_prices(plan))
            runs.append(run)
            probed = _ask_probe(run, responses, rule) if asks and has_data else None
            if probe_notes is not None and probed is not None and not probed.samples:
                probe_notes.append(f"{run.benchmark.name}: too few questions to time a probe of them")
            lines.append(estimator.line(run, has_data, probed.pace if probed else None))
        waiting = list(_waiting_notes(runs, responses))
    return _EstimatedRuns(runs, lines, waiting)


def _waiting_notes(runs: Sequence[RunPlan], responses: ResponseStore) -> Iterator[str]:
    """A sentence for each model of which batches wait at its provider."""
    identities = {each.identity.digest(): each.identity for run in runs for each in (run.model, *run.roles.values())}
    for identity in identities.values():
        batches, requests = responses.waiting_batches(identity)
        if batches:
            yield (
                f"{identity.provider}/{identity.name}: {plural(requests, 'request')} in "
                f"{plural(batches, 'batch', 'batches')} wait at the provider and are paid for; with batch=yes the run "
                "takes their replies; above they count as still to ask"
            )


def _distinguish_lines(lines: Sequence[PlanLine], runs: Sequence[RunPlan]) -> Iterator[PlanLine]:
    """The lines; where several are of one model and benchmark, with the parameters in which these
    differ behind the benchmark's name."""
    alike: dict[tuple[str, str], list[Mapping[str, str]]] = defaultdict(list)
    for line, run in zip(lines, runs, strict=True):
        alike[line.model, line.benchmark].append(run.benchmark.parameters)
    for line, run in zip(lines, runs, strict=True):
        others = alike[line.model, line.benchmark]
        own = [
            f"{key}={value}"
            for key, value in run.benchmark.parameters.items()
            if any(other.get(key) != value for other in others)
        ]
        name = f"{line.benchmark}:{','.join(own)}" if own else line.benchmark
        yield structs.replace(line, benchmark=name)


def plan_runs(
    runs: Sequence[RunPlan], responses: ResponseStore, prices: Prices, budget: Budget | None, out: Path
) -> Planned:
    """What these runs would ask, take and cost, made one after the other over one store. No model
    is asked."""
    look_up = _LineEstimator(responses, Assumptions(), prices, 1, None, set())
    lines = [look_up.line(replace(run, prices=prices.plan_prices(run)), has_data=True) for run in runs]
    return _sum_up(runs, lines, budget, out)


def _sum_up(runs: Sequence[RunPlan], lines: Sequence[PlanLine], budget: Budget | None, out: Path) -> Planned:
    lines = list(_distinguish_lines(lines, runs))
    dollars = _total_dollars(lines)
    notes = list(_budget_notes(budget, lines, dollars))
    return Planned(lines=lines, missing=[], downloads=[], notes=notes, dollars=dollars, disk_free=_free_bytes(out))


def _stop_rule(until: str | None, names: Sequence[str]) -> PrecisionRule | ComparisonRule | None:
    if until is None:
        return None
    rule = parse_stop_rule(until)
    return resolve_comparison(rule, names) if isinstance(rule, ComparisonRule) else rule


class _LineEstimator(NamedTuple):
    """Estimates the line of each run from what all lines share."""

    responses: ResponseStore
    assumptions: Assumptions
    prices: Prices
    replicas: int
    rule: PrecisionRule | ComparisonRule | None
    pending: set[bytes] | None = None
    """Requests of earlier lines; None: each line is looked at alone."""

    def line(self, run: RunPlan, has_data: bool, pace: Pace | None = None) -> PlanLine:
        """The line of a run; `pace` as a probe measured it. If its data are not on this machine,
        the estimate is made from the published number of questions, or omitted if that is
        unknown."""
        name, model = run.model_name, run.model
        models = (model, *run.roles.values())
        missing_requirement = run.benchmark.requires(run.capabilities)
        if missing_requirement:
            return PlanLine(model=name, benchmark=run.benchmark.name, skipped=missing_requirement)
        size = None if has_data else published_size(run.benchmark)
        if not has_data and size is None:
            return PlanLine(model=name, benchmark=run.benchmark.name)
        if size is not None:
            expected = estimate_without_data(run, size, self.assumptions)
        else:
            with force_offline():
                rule = image_token_rule(model.identity.provider, model.identity.name)
                measured = MeasuredPace(self.replicas, pace)
                expected = estimate(run, self.responses, self.assumptions, rule, measured, self.rule, self.pending)
        price = self.prices.price(model, name)
        role_dollars = {
            role: cost(usage, run.prices[role]) if role in run.prices else None
            for role, usage in expected.tokens_of_others.items()
        }
        prompt, reply, cached = expected.prompt_tokens, expected.completion_tokens, expected.cached_tokens
        tokens = Usage(round(prompt), round(reply), cached_tokens=round(cached))
        paid = [amount for amount in role_dollars.values() if amount is not None]
        if price is not None:
            paid.append(cost(tokens, price))
        return PlanLine(
            model=name,
            benchmark=run.benchmark.name,
            estimate=expected,
            dollars=sum(paid) if paid else None,
            price=price,
            role_dollars=role_dollars,
            setup=run.benchmark.parameters.get(RECIPE, ""),
            coordinates=space_of(run.benchmark),
            batch_hours=max(terms.hours if (terms := abilities(each).batch_terms) else 0 for each in models),
        )


def _ask_probe(
    run: RunPlan, responses: ResponseStore, rule: PrecisionRule | ComparisonRule | None
) -> ProbeResult | None:
    """Ask the first samples of a run; returns how fast they ended. Replies are stored as those of
    the run. Nothing is asked, and None returned, if the model cannot take the benchmark, is not on
    this machine, or has a server that the run would start."""
    models = (run.model, *run.roles.values())
    if run.benchmark.requires(run.model.capabilities) or any(
        isinstance(model, UnavailableModel | ManagedModel) for model in models
    ):
        return None
    return ask_probe(run, responses, rule)


def _budget_notes(budget: Budget | None, lines: Sequence[PlanLine], dollars: float | None) -> Iterator[str]:
    """A sentence on whether the budget is enough, for extractors and judges too."""
    if budget is None:
        return
    estimates = [line.estimate for line in lines if line.estimate is not None]
    tokens = sum(
        estimate.prompt_tokens
        + estimate.completion_tokens
        + sum(usage.prompt_tokens + usage.completion_tokens for usage in estimate.tokens_of_others.values())
        for estimate in estimates
    )
    expected = dollars if budget.is_money else tokens
    unit, digits = ("USD", ".2f") if budget.is_money else ("tokens", ",.0f")
    amount = f"{budget.amount:{digits}} {unit}"
    if any(line.estimate is None and not line.skipped for line in lines):
        yield f"budget: whether {amount} are enough is not known: data are not here yet"
    elif expected is None:
        yield f"budget: whether {amount} are enough is not known: a price is missing"
    elif expected <= budget.amount:
        yield f"budget: {amount} are enough; {expected:{digits}} are expected"
    else:
        yield (
            f"budget: {amount} are spent after about {budget.amount / expected:.0%} of the "
            f"{expected:{digits}} {unit} expected; what is left is then not asked"
        )


def _total_dollars(lines: Sequence[PlanLine]) -> float | None:
    planned_lines = [line for line in lines if not line.skipped]
    amounts = [line.dollars for line in planned_lines if line.dollars is not None]
    return sum(amounts) if len(amounts) == len(planned_lines) else None


def _free_bytes(out: Path) -> int:
    out = out.absolute()
    existing = next(parent for parent in (out, *out.parents) if parent.exists())
    return shutil.disk_usage(existing).free
