"""Who is asked what: models, those who read and judge their replies, and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, starmap
from pathlib import Path
from typing import NamedTuple, TypeVar

from snellen.api._resolve import NamedBenchmark
from snellen.benchmarks.protocol.judging import judge_roles
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.core.request import CLIP, Sampling
from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.request_broker import MAIN
from snellen.extract.llm import EXTRACTOR
from snellen.models.sampling import check_sampler

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class ModelRoles:
    """Everyone who is asked. Those with a role stand by its name."""

    models: list[tuple[str, Model]]
    """With the name each was given on the way in."""
    extractors: list[dict[str, Model]]
    """Who reads what no rule can: a run for each, over the same replies."""
    shared_roles: dict[str, Model]
    """Who compares drawn pictures, and judges; a benchmark asks those it needs."""
    sampling: Mapping[str, Sampling] = field(default_factory=dict)
    """How models are sampled, by the name they go by."""
    judge_sampling: Mapping[str, Sampling] = field(default_factory=dict)
    """How judges are, by their role."""

    def roles(self) -> list[dict[str, Model]]:
        return [*self.extractors, self.shared_roles]

    def all_models(self) -> Iterator[tuple[str, Model]]:
        """With their names; those with a role have none."""
        yield from self.models
        yield from (("", model) for roles in self.roles() for model in roles.values())


def open_roles(
    models: list[tuple[str, Model]],
    extractors: Sequence[N],
    clip: N | None,
    judges: Sequence[N],
    open_model: Callable[[N], Model],
    sampling: Mapping[str, Sampling] | None = None,
    judge_sampling: Mapping[str, Sampling] | None = None,
) -> ModelRoles:
    """Raises UsageError where a judge cannot be sampled as its options say."""
    readers = [{EXTRACTOR: open_model(one)} for one in extractors] or [{}]
    others = {CLIP: open_model(clip)} if clip is not None else {}
    others |= zip(judge_roles(len(judges)), map(open_model, judges), strict=True)
    for role, how in (judge_sampling or {}).items():
        check_sampler(role, others[role], how, 1)
    return ModelRoles(models, readers, others, sampling or {}, judge_sampling or {})


class RunCell(NamedTuple):
    """A model with its name, the benchmark, and who reads what no rule can."""

    model: tuple[str, Model]
    benchmark: NamedBenchmark
    extractor: dict[str, Model]


@dataclass(frozen=True, slots=True)
class RunMatrix:
    """The runs of a command; `custom_benchmarks` holds the benchmarks of loaded files."""

    model_roles: ModelRoles
    benchmarks: Sequence[NamedBenchmark]
    variant: Variant
    custom_benchmarks: Mapping[str, Benchmark | BenchmarkFactory]
    recipes: bool
    """Whether models are asked as their authors prescribe."""
    repeats: int = 1
    """How often each question is asked."""

    def cells(self) -> Iterator[RunCell]:
        """Model by model."""
        return starmap(
            RunCell, product(self.model_roles.models, self.benchmarks, self.model_roles.extractors)
        )

    def run_groups(self, rule: PrecisionRule | ComparisonRule | None) -> Iterator[list[RunCell]]:
        """What is run one after the other; of a duel both models at once. Raises UsageError for a
        duel of other models."""
        if not isinstance(rule, ComparisonRule):
            yield from ([one] for one in self.cells())
            return
        names = [name for name, _ in self.model_roles.models]
        pair = [
            self.model_roles.models[names.index(name)] for name in resolve_comparison(rule, names)
        ]
        for one, roles in product(self.benchmarks, self.model_roles.extractors):
            yield [RunCell(model, one, roles) for model in pair]

    def run_plan(self, cell: RunCell, out: Path, limit: int | None, seed: int) -> RunPlan:
        (name, model), one, reader = cell
        benchmark = one.for_model(name, model, self.variant, self.custom_benchmarks, self.recipes)
        others = {
            role: each
            for role, each in self.model_roles.shared_roles.items()
            if role in benchmark.extra_roles
        }
        sampling = (
            {MAIN: self.model_roles.sampling[name]} if name in self.model_roles.sampling else {}
        )
        sampling |= {
            role: how for role, how in self.model_roles.judge_sampling.items() if role in others
        }
        return RunPlan(
            model=model,
            model_name=name,
            benchmark=benchmark,
            out=out,
            roles={**reader, **others},
            limit=limit,
            seed=seed,
            failures=self.variant.failures,
            repeats=self.repeats,
            sampling=sampling,
        )


def resolve_comparison(rule: ComparisonRule, names: Sequence[str]) -> ComparisonRule:
    """The rule with the two models by name. Raises UsageError where others are asked."""
    letters = dict(zip("AB", names, strict=False))
    pair = [name if name in names else letters.get(name, name) for name in rule]
    if len(names) != 2 or sorted(pair) != sorted(names):
        raise UsageError(
            f"--until '{rule.first}>{rule.second}' compares the two models of a run, by name or as "
            f"A and B; got {', '.join(names)}"
        )
    return ComparisonRule(*pair)
