"""Models and benchmarks by name, by path, or as the objects they are."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.benchmarks.control import with_control
from snellen.benchmarks.registry import open_benchmark
from snellen.benchmarks.rules import check_rule
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import UnknownName
from snellen.core.model import Model
from snellen.models.registry import open_model


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
