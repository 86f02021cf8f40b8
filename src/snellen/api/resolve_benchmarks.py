"""Open the benchmarks that a command names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from snellen.benchmarks.declaration.build import build
from snellen.benchmarks.declaration.registry import apply_recipe, open_benchmark, split_spec
from snellen.benchmarks.protocol.parsers import check_rule
from snellen.core.benchmark import COORDINATES, COORDINATES_FROM, Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import UnknownName
from snellen.core.model import Model, abilities

if TYPE_CHECKING:
    from snellen.models.naming.coordinates import DeclaredSpace

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
        """The benchmark as this model is asked it: with the longest reply of the model's profile and
        places in its coordinate space, unless the user set these, with whole videos where the model
        was opened to take them (`video=native`), and `is_by_maker` as the makers of the model ask it."""
        if not isinstance(self.spec, str):
            return self.benchmark
        if self.columns:
            variant = replace(variant, columns=self.columns)
        variant, space = self._with_space(name, model, variant)
        longest = abilities(model).max_new_tokens
        changed = space is not None
        if longest is not None and variant.max_new_tokens is None:
            variant, changed = replace(variant, max_new_tokens=longest), True
        benchmark = self.benchmark
        if (
            model.identity.facts.get(_VIDEO) == "native"
            and "native" in benchmark.options.get(_VIDEO, ())
            and _VIDEO not in {**split_spec(self.spec).options, **variant.options}
        ):
            variant, changed = replace(variant, options={**variant.options, _VIDEO: "native"}), True
        if changed:
            benchmark = resolve_benchmark(self.spec, variant, custom)
        if is_by_maker and self.spec not in custom:
            from snellen.models.naming.registry import maker_name

            known_as = maker_name(name, model.identity)
            # Frames as one video come first: their number is that of the makers' set-up.
            video = "native" if "video" in model.capabilities.inputs else ""
            video = "clip" if model.capabilities.clips else video
            benchmark = apply_recipe(known_as, self.spec, benchmark, variant, video=video)
        if space is None:
            return benchmark
        return replace(benchmark, parameters={**benchmark.parameters, COORDINATES_FROM: space.origin})

    def _with_space(self, name: str, model: Model, variant: Variant) -> tuple[Variant, DeclaredSpace | None]:
        """The variant that asks for places in the space in which the model writes, and who declared
        that space; unchanged if it is not known, the benchmark has no such option or not this value
        of it, or the user chose one."""
        assert isinstance(self.spec, str)
        spaces = self.benchmark.options.get(COORDINATES)
        if not spaces or COORDINATES in {**split_spec(self.spec).options, **variant.options}:
            return variant, None
        from snellen.models.naming.registry import declared_space

        space = declared_space(name, model)
        if space is None or space.name not in spaces:
            return variant, None
        return replace(variant, options={**variant.options, COORDINATES: space.name}), space


def space_of(benchmark: Benchmark) -> str:
    """The coordinate space in which a benchmark asks for places, and who chose it; "" if it has no
    such option."""
    spaces = benchmark.options.get(COORDINATES)
    space = benchmark.parameters.get(COORDINATES, "")
    if not spaces or not space:
        return ""
    chosen = "the benchmark's default" if space == spaces[0] else "the benchmark's option"
    origin = benchmark.parameters.get(COORDINATES_FROM, chosen)
    return f"{space} ({origin})"
