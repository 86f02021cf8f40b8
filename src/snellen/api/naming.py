"""Models and benchmarks by name, by path, or as the objects they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from snellen.benchmarks.control import with_control
from snellen.benchmarks.examples import made_with_examples
from snellen.benchmarks.gate import gate_of, with_gate
from snellen.benchmarks.prescribed import prescribed
from snellen.benchmarks.registry import open_benchmark
from snellen.benchmarks.rules import check_rule
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import UnknownName
from snellen.core.model import Identity, Model, Profiled
from snellen.engine.managed import GENERIC, Servers
from snellen.models.registry import full_name, open_model


def named_model(model: str | Model, own: Mapping[str, Model]) -> tuple[str, Model]:
    """The model and the name it goes by; `own` holds those of loaded files."""
    if not isinstance(model, str):
        return model.identity.name, model
    if model in own:
        return model, own[model]
    try:
        opened = open_model(model)
    except UnknownName as error:
        raise (UnknownName("model", model, own) if own else error) from None
    return _without_address(model, opened.identity), opened


def served_model(
    model: str | Model, own: Mapping[str, Model], servers: Servers
) -> tuple[str, Model]:
    """As `named_model`; a model whose server is Snellen's to start has one of `servers`."""
    if isinstance(model, str) and model not in own:
        managed = servers.managed(model)
        if managed is not None:
            return managed.name, managed
    return named_model(model, own)


def _without_address(spec: str, identity: Identity) -> str:
    """The name as given, but of a model named by its URL the model's own: servers move."""
    if not spec.startswith(("http://", "https://")):
        return spec
    facts = ",".join(f"{name}={value}" for name, value in sorted(identity.facts.items()))
    return f"{identity.name}:{facts}" if facts else identity.name


def named_benchmark(
    name: str | Benchmark,
    variant: Variant,
    own: Mapping[str, Benchmark | BenchmarkFactory] | None = None,
) -> Benchmark:
    """The benchmark of that name or data file; `own` holds those of loaded files."""
    plain, share = gate_of(variant)
    if isinstance(name, Benchmark):
        return with_gate(with_control(name, variant.control), share)
    loaded = (own or {}).get(name)
    if loaded is not None:
        made = loaded if isinstance(loaded, Benchmark) else made_with_examples(loaded, plain)
        return with_gate(with_control(made, variant.control), share)
    try:
        opened = open_benchmark(name, variant)
    except UnknownName as error:
        raise (UnknownName("benchmark", name, own) if own else error) from None
    check_rule(opened, variant)
    return opened


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
        return prescribed(_served_name(name, model), self.spec, opened, variant)


def _served_name(name: str, model: Model) -> str:
    """`full_name`; a model that goes by its own name alone, because a server has it, with what
    serves it before that."""
    full, identity = full_name(name, model), model.identity
    if identity.provider == GENERIC:
        return f"{GENERIC}/{identity.name.removeprefix('hf/')}"
    if full.partition(":")[0] == identity.name:
        return f"{identity.provider}/{identity.name}"
    return full
