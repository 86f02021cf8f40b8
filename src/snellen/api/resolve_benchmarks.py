"""Open the benchmarks that a command names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snellen.benchmarks.declaration.build import build
from snellen.benchmarks.declaration.registry import apply_recipe, open_benchmark, split_spec
from snellen.benchmarks.protocol.parsers import check_rule
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import UnknownName
from snellen.core.model import Model, abilities

_VIDEO = "video"
"""Option of models behind servers, and of benchmarks: how videos are handed over."""


def resolve_benchmark(
    name: str | Benchmark, variant: Variant, custom: Mapping[str, Benchmark | BenchmarkFactory] | None = None
) -> Benchmark:
    """Open a benchmark by name or data file; `custom` are benchmarks of loaded files, by name."""
    if isinstance(name, Benchmark):
        return build(name, variant)
    loaded = (custom or {}).get(name)
    if loaded is not None:
        return build(loaded, variant)
    try:
        benchmark = open_benchmark(name, variant)
    except UnknownName as error:
        raise (UnknownName("benchmark", name, custom) if custom else error) from None
    if variant.rule is not None:
        check_rule(benchmark, variant.rule)
    return benchmark


@dataclass(frozen=True, slots=True)
class NamedBenchmark:
    """A benchmark as the user named it, and opened."""

    spec: str | Benchmark
    benchmark: Benchmark
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column names given for these data alone, if any: our name to theirs."""

    def for_model(
        self,
        name: str,
        model: Model,
        variant: Variant,
        custom: Mapping[str, Benchmark | BenchmarkFactory],
        is_by_maker: bool,
    ) -> Benchmark:
        """The benchmark as this model is asked it: with the longest reply of the model's profile,
        unless the user set one, with whole videos where the model was opened to take them
        (`video=native`), and `is_by_maker` as the makers of the model ask it."""
        if not isinstance(self.spec, str):
            return self.benchmark
        if self.columns:
            variant = replace(variant, columns=self.columns)
        longest = abilities(model).max_new_tokens
        changed = longest is not None and variant.max_new_tokens is None
        if changed:
            variant = replace(variant, max_new_tokens=longest)
        benchmark = self.benchmark
        if (
            model.identity.facts.get(_VIDEO) == "native"
            and "native" in benchmark.options.get(_VIDEO, ())
            and _VIDEO not in {**split_spec(self.spec).options, **variant.options}
        ):
            variant = replace(variant, options={**variant.options, _VIDEO: "native"})
            benchmark = resolve_benchmark(self.spec, variant, custom)
        if is_by_maker and self.spec not in custom:
            from snellen.models.naming.registry import maker_name

            known_as = maker_name(name, model.identity)
            # Frames as one video come first: their number is that of the makers' set-up.
            video = "native" if "video" in model.capabilities.inputs else ""
            video = "clip" if model.capabilities.clips else video
            asked = apply_recipe(known_as, self.spec, benchmark, variant, video=video)
            if asked is not benchmark:
                return asked
        return resolve_benchmark(self.spec, variant, custom) if changed else benchmark
