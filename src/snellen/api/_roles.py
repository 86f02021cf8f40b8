"""Models, the models that read and judge their replies, and the runs they make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, starmap
from pathlib import Path
from typing import NamedTuple, Protocol

from snellen.api._inputs import BenchmarkLike, benchmark_inputs
from snellen.api._maker_setup import MadeSpec, add_maker_options, maker_sampling
from snellen.api.options import MAKER, RunOptions, variant_with_roles
from snellen.api.resolve_benchmarks import NamedBenchmark
from snellen.api.resolve_models import UnavailableModel, name_without_address
from snellen.benchmarks.protocol.judging import judge_roles
from snellen.core.benchmark import RECIPE, Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel, Model, RestrictedSampler, abilities
from snellen.core.request import CLIP, DRAWER, Sampling
from snellen.core.shard import RunShard
from snellen.data.in_memory import KEPT_FOLDER
from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule
from snellen.engine.loop.plan import RunPlan, check_fresh, recorded_sampling
from snellen.engine.loop.request_broker import MAIN
from snellen.extract.llm import EXTRACTOR
from snellen.models.joined import DESCRIBE, Describe, JoinedModel, JoinParts, check_parts, join_name, join_parts
from snellen.models.naming.custom import LoadedFile
from snellen.models.naming.spec import JOIN, split_options
from snellen.models.sampling import SamplingSpec, check_sampler, check_sampling, merge_sampling, split_sampling


class Join(NamedTuple):
    """What draws for a measured model, and when that describes what is drawn."""

    drawer: Model
    describe: Describe


class RequestedModel(NamedTuple):
    """A model as the user passed it, of a join its text model."""

    name: str
    """The name the user chose; "" for its own."""
    model: AnyModel
    draw: AnyModel = None
    """What draws for it; None for a model that is no join."""
    describe: Describe = "pictures"

    @staticmethod
    def parse(name: str, model: AnyModel, custom: Collection[str]) -> RequestedModel:
        """Split a join into its parts. `custom` are the models of loaded files. Raises UsageError
        for a malformed join."""
        if isinstance(model, JoinedModel):
            return RequestedModel(name, model.text, model.drawer, model.describe)
        parts = None if not isinstance(model, str) or model in custom else _parts(model)
        if parts is None:
            return RequestedModel(name, model)
        return RequestedModel(name, parts.text, parts.draw, parts.describe)


class OpenedModels(NamedTuple):
    """The measured models with their names, their sampling by name, and the joins among them."""

    models: list[tuple[str, Model]]
    sampling: dict[str, Sampling]
    joins: dict[str, Join]


def join_requested(
    requested: Sequence[RequestedModel],
    opened: Sequence[tuple[str, Model]],
    sampling: Mapping[str, Sampling],
    open_drawer: Callable[[AnyModel], Model],
) -> OpenedModels:
    """Name the joins among the opened models by both of their parts, and open what draws for them.

    Raises UsageError for a part that gives no text or no pictures."""
    result = OpenedModels([], {}, {})
    for each, (text_name, text) in zip(requested, opened, strict=True):
        name = text_name
        if each.draw is not None:
            drawer = open_drawer(each.draw)
            if not isinstance(drawer, UnavailableModel):
                check_parts(text, drawer)
            name = each.name or join_name(text_name, _draw_name(each.draw, drawer), each.describe)
            result.joins[name] = Join(drawer, each.describe)
        result.models.append((name, text))
        if text_name in sampling:
            result.sampling[name] = sampling[text_name]
    return result


def _parts(spec: str) -> JoinParts | None:
    stem, options = split_options(spec)
    if stem == JOIN and not options:
        raise UsageError(f"{JOIN} has no parts; expected {JOIN}:text=MODEL,draw=MODEL")
    return join_parts(options) if stem == JOIN else None


def _draw_name(draw: AnyModel, drawer: Model) -> str:
    identity = drawer.identity
    return name_without_address(draw, identity) if isinstance(draw, str) else identity.name


@dataclass(frozen=True, slots=True)
class ModelRoles:
    """The models of a command, and by role the models that read, compare or judge replies."""

    models: list[tuple[str, Model]]
    """The models to be measured, each with the name it goes by."""
    extractors: list[dict[str, Model]]
    """Models that read what no rule can: a run for each, over the same replies."""
    shared_roles: dict[str, Model]
    """The CLIP model and the judges; a benchmark asks those it needs."""
    sampling: Mapping[str, Sampling] = field(default_factory=dict)
    """How the models are sampled, by name."""
    judge_sampling: Mapping[str, Sampling] = field(default_factory=dict)
    """How the judges are sampled, by role."""
    joins: Mapping[str, Join] = field(default_factory=dict)
    """By the name of the measured model: what draws for it."""

    def roles(self) -> list[dict[str, Model]]:
        """Models by role: those of each extractor, those that all runs share, and those that draw
        for measured models."""
        drawers = ({DRAWER: join.drawer} for join in self.joins.values())
        return [*self.extractors, self.shared_roles, *drawers]

    def all_models(self) -> Iterator[tuple[str, Model]]:
        """Every model with its name; models with a role have the name ""."""
        yield from self.models
        yield from (("", model) for roles in self.roles() for model in roles.values())


class NamedModel(NamedTuple):
    """A model as the user passed it, with the name that tables show; "" for its own name."""

    name: str
    model: AnyModel


def list_models(models: AnyModel | Iterable[AnyModel] | Mapping[str, AnyModel]) -> list[NamedModel]:
    """One model, a list of models, or models by name. Raises UsageError for a name that is not a
    string."""
    if isinstance(models, Mapping):
        for name in models:
            if not isinstance(name, str) or not name:
                raise UsageError(f"models by name: the name {name!r} is not a string")
        return [NamedModel(name, model) for name, model in models.items()]
    if isinstance(models, list | tuple) and all(isinstance(model, str) for model in models):
        return [NamedModel("", model) for model in models]
    from snellen.models.naming.wrapping import is_model

    if isinstance(models, str) or is_model(models) or not isinstance(models, Iterable):
        return [NamedModel("", models)]
    return [NamedModel("", model) for model in models]


class ModelOpener(Protocol):
    """Opens the models that a command names."""

    def open_requested(self, models: Sequence[AnyModel]) -> list[tuple[str, Model]]:
        """The models to be measured, each with the name it goes by. Raises UsageError."""

    def role_model(self, model: AnyModel) -> Model:
        """A model with another role. Raises UsageError."""


def open_roles(
    models: AnyModel | Iterable[AnyModel] | Mapping[str, AnyModel],
    options: RunOptions,
    opener: ModelOpener,
    custom: Collection[str] = (),
) -> ModelRoles:
    """Open the models of a command, and its extractors, judges and CLIP model.

    `models` is one model, a list, or models by displayed name. A model that is given twice is asked
    once. `custom` are the models of loaded files. Raises UsageError if a model cannot be opened, or
    cannot be sampled as its options say, and if two models have one name.
    """
    listed = [RequestedModel.parse(each.name, each.model, custom) for each in list_models(models)]
    specs = split_model_sampling([each.model for each in listed], options.sampling, custom)
    refuse_sampling("an extractor", *options.extractors)
    refuse_sampling("a model that compares pictures", options.clip)
    judges, judge_sampling = split_judge_sampling(options.judges, custom) if options.judges else ([], {})
    # Of a server that a command of the user's starts, it is not known what it takes.
    is_by_maker = options.setup == MAKER and options.serve is None
    made = [add_maker_options(model, custom) if is_by_maker else MadeSpec(model) for model in specs.models]
    requested = opener.open_requested([each.spec for each in made])
    if any(each.added for each in made):
        requested = [(each.name_without(name), model) for each, (name, model) in zip(made, requested, strict=True)]
    opened_models, sampling = specs.resolve(requested, options.repeats, [each.name for each in listed])
    joins: Mapping[str, Join] = {}
    if any(each.draw is not None for each in listed):
        opened_models, sampling, joins = join_requested(listed, opened_models, sampling, opener.role_model)
    named_models = _distinct_models(opened_models)
    extractors = [{EXTRACTOR: opener.role_model(model)} for model in options.extractors] or [{}]
    shared = {CLIP: opener.role_model(_own_clip(options.clip, custom))} if options.clip is not None else {}
    if judges:
        shared |= zip(judge_roles(len(judges)), map(opener.role_model, judges), strict=True)
        for role, settings in judge_sampling.items():
            check_sampler(role, shared[role], settings, 1)
    return ModelRoles(named_models, extractors, shared, sampling, judge_sampling, joins)


def _own_clip(model: AnyModel, custom: Collection[str]) -> AnyModel:
    """The name of a model of a loaded file, where `clip/NAME` names one."""
    own = model.removeprefix("clip/") if isinstance(model, str) else ""
    return own if own in custom else model


def _distinct_models(models: Sequence[tuple[str, Model]]) -> list[tuple[str, Model]]:
    """Each model once. Raises UsageError if two models have one name, which no table could tell
    apart."""
    by_name: dict[str, Model] = {}
    for name, model in models:
        other = by_name.setdefault(name, model)
        if other is not model and other.identity.digest() != model.identity.digest():
            raise UsageError(
                f"two models are called {name!r}; give each a name of its own, as in "
                'evaluate({"first": ..., "second": ...}, ...)'
            )
    return list(by_name.items())


class RunCell(NamedTuple):
    """One run of the matrix: a model with its name, a benchmark, and the extractor by role."""

    model: tuple[str, Model]
    benchmark: NamedBenchmark
    extractor: dict[str, Model]


@dataclass(frozen=True, slots=True)
class RunMatrix:
    """The runs of a command: every model on every benchmark, once for each extractor."""

    model_roles: ModelRoles
    benchmarks: Sequence[NamedBenchmark]
    variant: Variant
    custom_benchmarks: Mapping[str, Benchmark | BenchmarkFactory]
    """Those of loaded files, by name."""
    options: RunOptions

    def cells(self) -> Iterator[RunCell]:
        """The runs, model by model."""
        roles = self.model_roles
        return starmap(RunCell, product(roles.models, self.benchmarks, roles.extractors))

    def run_groups(self, rule: PrecisionRule | ComparisonRule | None) -> Iterator[list[RunCell]]:
        """Runs in their order; the two runs of a comparison rule go on together.

        Raises UsageError if the rule compares other models than the two of the command."""
        if not isinstance(rule, ComparisonRule):
            yield from ([cell] for cell in self.cells())
            return
        models = self.model_roles.models
        names = [name for name, _ in models]
        pair = [models[names.index(name)] for name in resolve_comparison(rule, names)]
        for benchmark, extractor in product(self.benchmarks, self.model_roles.extractors):
            yield [RunCell(model, benchmark, extractor) for model in pair]

    def run_plan(self, cell: RunCell) -> RunPlan:
        """What the engine needs for one run. Limits, prices and progress are the caller's."""
        name, model = cell.model
        roles, options = self.model_roles, self.options
        join = roles.joins.get(name)
        # Of a join, the model that gives text has a set-up of its makers'.
        text_name = name if join is None else f"{model.identity.provider}/{model.identity.name}"
        is_by_maker = options.setup == MAKER
        benchmark = cell.benchmark.for_model(text_name, model, self.variant, self.custom_benchmarks, is_by_maker)
        setup_sampling = None
        if is_by_maker and RECIPE in benchmark.parameters:
            setup_sampling = maker_sampling(text_name, model, benchmark, roles.sampling.get(name))
        extended = options.extend_truncated
        if extended is not None and extended <= benchmark.max_new_tokens:
            extended = None
        shared = {role: helper for role, helper in roles.shared_roles.items() if role in benchmark.extra_roles}
        own = {role: open_own() for role, open_own in benchmark.own_roles.items()}
        sampling = {MAIN: roles.sampling[name]} if name in roles.sampling else {}
        sampling |= {role: settings for role, settings in roles.judge_sampling.items() if role in shared}
        return RunPlan(
            model=model,
            model_name=name,
            benchmark=benchmark,
            out=Path(options.out),
            roles={**cell.extractor, **shared, **own, **({DRAWER: join.drawer} if join else {})},
            limit=options.limit,
            seed=options.seed,
            shard=None if options.shard is None else RunShard.parse(options.shard),
            failures=self.variant.failures or benchmark.failures,
            repeats=options.repeats,
            sampling=sampling,
            setup_sampling=setup_sampling,
            describe=join.describe if join else DESCRIBE[0],
            extend_truncated=extended,
        )

    def check_batches(self, probe: bool = False) -> bool:
        """Whether any model is asked in batches. Raises UsageError for what needs replies in turn."""
        batched = [name for name, model in self.model_roles.all_models() if abilities(model).batch_terms is not None]
        option = "--until" if self.options.until is not None else "--probe" if probe else ""
        if batched and option:
            raise UsageError(
                f"{option} goes by the replies to the first questions, and {batched[0] or 'the judge'} is asked all at "
                f"once, in batches; leave out {option}, or batch=yes"
            )
        return bool(batched)

    def check_extension(self, extended: int) -> None:
        """Raises UsageError if the limit for replies that were cut is larger than that of no run."""
        plans = [self.run_plan(cell) for cell in self.cells()]
        if all(plan.extend_truncated is None for plan in plans):
            limit = min(plan.benchmark.max_new_tokens for plan in plans)
            raise UsageError(
                f"extend_truncated is {extended:,}, and replies may have {limit:,} tokens already; give a larger number"
            )

    def greedy_models(self) -> list[str]:
        """Names of the models that are asked for their likeliest reply although they can sample, on
        any benchmark."""
        greedy = {
            cell.model[0]: None
            for cell in self.cells()
            if is_greedy(cell.model[1], recorded_sampling(self.run_plan(cell)).get(MAIN))
        }
        return list(greedy)


def open_matrix(
    models: AnyModel | Iterable[AnyModel] | Mapping[str, AnyModel],
    benchmarks: BenchmarkLike,
    options: RunOptions,
    opener: ModelOpener,
    custom: LoadedFile,
    open_benchmark: Callable[[str | Benchmark, Variant, Mapping[str, str]], NamedBenchmark],
) -> RunMatrix:
    """Open the models and then the benchmarks of a command, by `opener` and `open_benchmark`, which
    gets the columns that are named for a benchmark alone. Raises UsageError."""
    check_fresh(options.fresh)
    roles = open_roles(models, options, opener, custom.models)
    variant = variant_with_roles(options)
    inputs = benchmark_inputs(benchmarks, Path(options.out) / KEPT_FOLDER, variant.columns)
    opened = [open_benchmark(spec, variant, columns) for spec, columns in inputs]
    return RunMatrix(roles, opened, variant, custom.benchmarks, options)


def resolve_comparison(rule: ComparisonRule, names: Sequence[str]) -> ComparisonRule:
    """The rule with the two models by name, where it says A and B.

    Raises UsageError if it compares others than the two models of the command."""
    letters = dict(zip("AB", names, strict=False))
    pair = [name if name in names else letters.get(name, name) for name in rule]
    if len(names) != 2 or sorted(pair) != sorted(names):
        raise UsageError(
            f"--until '{rule.first}>{rule.second}' compares the two models of a run, by name or as "
            f"A and B; got {', '.join(names)}"
        )
    return ComparisonRule(*pair)


class SamplingOptions(NamedTuple):
    """Models of a command, with the sampling options split off their names."""

    specs: list[SamplingSpec | None]
    """The options of each model; None for a model that is an object."""
    models: Sequence[AnyModel]
    default: Sampling

    def resolve(
        self, opened_models: Sequence[tuple[str, Model]], repeats: int, given: Sequence[str] = ()
    ) -> tuple[list[tuple[str, Model]], dict[str, Sampling]]:
        """Names of the opened models, with their sampling options, and the settings by name.

        `given` are the names that the user chose for them, if any. Raises UsageError if a model
        cannot be sampled with its settings."""
        # With --serve the model may have no name on the command line.
        specs = self.specs or [None for _ in opened_models]
        names = given or ["" for _ in opened_models]
        models, sampling_by_name = [], {}
        for (name, model), spec, given_name in zip(opened_models, specs, names, strict=True):
            sampling = merge_sampling(spec.sampling if spec else None, self.default)
            full_name = given_name or (spec.add_options(name) if spec and spec.options else name)
            check_sampler(full_name, model, sampling, repeats)
            models.append((full_name, model))
            if sampling is not None:
                sampling_by_name[full_name] = sampling
        return models, sampling_by_name


def split_model_sampling(
    models: Sequence[AnyModel], default: Sampling, custom: Collection[str] = ()
) -> SamplingOptions:
    """Split sampling options off the names of models. Raises UsageError for impossible values."""
    check_sampling(default, "sampling")
    specs = [split_sampling(model, custom) if isinstance(model, str) else None for model in models]
    plain = [spec.spec if spec is not None else model for spec, model in zip(specs, models, strict=True)]
    return SamplingOptions(specs, plain, default)


def split_judge_sampling(
    judges: Sequence[AnyModel], custom: Collection[str] = ()
) -> tuple[list[AnyModel], dict[str, Sampling]]:
    """Judges without their sampling options, and the settings by role."""
    judge_options = split_model_sampling(judges, Sampling(), custom)
    roles = judge_roles(len(judges))
    sampling_by_role = {
        role: spec.sampling
        for role, spec in zip(roles, judge_options.specs, strict=True)
        if spec is not None and spec.sampling is not None
    }
    return list(judge_options.models), sampling_by_role


def refuse_sampling(who: str, *names: AnyModel) -> None:
    """Raises UsageError if a model that is always asked once and greedily has sampling options."""
    for name in names:
        if isinstance(name, str) and split_sampling(name).options:
            raise UsageError(f"{who} is asked once, at temperature 0; leave temperature, top_p and seed out of {name}")


def is_greedy(model: Model, sampling: Sampling | None) -> bool:
    """Whether a model is asked for its likeliest reply although it can sample."""
    if sampling is not None and sampling.temperature:
        return False
    return not (isinstance(model, RestrictedSampler) and model.cannot_sample(Sampling(temperature=1.0)))
