"""Who is asked what: models, those who read and judge their replies, and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, starmap
from pathlib import Path
from typing import NamedTuple, TypeVar

from snellen.api._resolve import Chosen
from snellen.benchmarks.protocol.judging import judge_roles
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.core.request import CLIP, Sampling
from snellen.engine.anytime.early_stop import Duel, Precision
from snellen.engine.loop.plan import Plan
from snellen.engine.loop.request_broker import MAIN
from snellen.extract.llm import EXTRACTOR
from snellen.models.sampling import check_sampler

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Cast:
    """Everyone who is asked. Those with a role stand by its name."""

    models: list[tuple[str, Model]]
    """With the name each was given on the way in."""
    readers: list[dict[str, Model]]
    """Who reads what no rule can: a run for each, over the same replies."""
    others: dict[str, Model]
    """Who compares drawn pictures, and judges; a benchmark asks those it needs."""
    sampling: Mapping[str, Sampling] = field(default_factory=dict)
    """How models are sampled, by the name they go by."""
    judging: Mapping[str, Sampling] = field(default_factory=dict)
    """How judges are, by their role."""

    def roles(self) -> list[dict[str, Model]]:
        return [*self.readers, self.others]

    def everyone(self) -> Iterator[tuple[str, Model]]:
        """With their names; those with a role have none."""
        yield from self.models
        yield from (("", model) for roles in self.roles() for model in roles.values())


def cast_of(
    models: list[tuple[str, Model]],
    extractors: Sequence[N],
    clip: N | None,
    judges: Sequence[N],
    opened: Callable[[N], Model],
    sampling: Mapping[str, Sampling] | None = None,
    judging: Mapping[str, Sampling] | None = None,
) -> Cast:
    """Raises UsageError where a judge cannot be sampled as its options say."""
    readers = [{EXTRACTOR: opened(one)} for one in extractors] or [{}]
    others = {CLIP: opened(clip)} if clip is not None else {}
    others |= zip(judge_roles(len(judges)), map(opened, judges), strict=True)
    for role, how in (judging or {}).items():
        check_sampler(role, others[role], how, 1)
    return Cast(models, readers, others, sampling or {}, judging or {})


class Asked(NamedTuple):
    """A model with its name, the benchmark, and who reads what no rule can."""

    model: tuple[str, Model]
    chosen: Chosen
    reader: dict[str, Model]


@dataclass(frozen=True, slots=True)
class Programme:
    """The runs of a command; `own` holds the benchmarks of loaded files."""

    cast: Cast
    chosen: Sequence[Chosen]
    variant: Variant
    own: Mapping[str, Benchmark | BenchmarkFactory]
    recipes: bool
    """Whether models are asked as their authors prescribe."""
    repeats: int = 1
    """How often each question is asked."""

    def each(self) -> Iterator[Asked]:
        """Model by model."""
        return starmap(Asked, product(self.cast.models, self.chosen, self.cast.readers))

    def together(self, rule: Precision | Duel | None) -> Iterator[list[Asked]]:
        """What is run one after the other; of a duel both models at once. Raises UsageError for a
        duel of other models."""
        if not isinstance(rule, Duel):
            yield from ([one] for one in self.each())
            return
        names = [name for name, _ in self.cast.models]
        pair = [self.cast.models[names.index(name)] for name in contestants(rule, names)]
        for one, roles in product(self.chosen, self.cast.readers):
            yield [Asked(model, one, roles) for model in pair]

    def plan(self, asked: Asked, out: Path, limit: int | None, seed: int) -> Plan:
        (name, model), one, reader = asked
        benchmark = one.for_model(name, model, self.variant, self.own, self.recipes)
        others = {role: each for role, each in self.cast.others.items() if role in benchmark.asks}
        sampling = {MAIN: self.cast.sampling[name]} if name in self.cast.sampling else {}
        sampling |= {role: how for role, how in self.cast.judging.items() if role in others}
        return Plan(
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
