"""Benchmarks asked with the prompt that a model's authors prescribe (`prompts/recipes.toml`)."""

from __future__ import annotations

from dataclasses import replace

from snellen.benchmarks.declaration.registry import open_benchmark, split_spec
from snellen.benchmarks.protocol.ask_config import OWN_PROMPT
from snellen.core.benchmark import Benchmark, Variant
from snellen.prompts.recipes import find_recipe

OPTION = "prompt"
RECIPE = "recipe"


def apply_recipe(model: str, spec: str, benchmark: Benchmark, variant: Variant) -> Benchmark:
    """The benchmark under the recipe for that model, which its parameters then record.

    The longest reply is the recipe's, unless one is requested or the model is to think first. The
    benchmark is unchanged if no recipe matches, if a prompt is requested by name, or if it takes no
    stored prompt templates.
    """
    recipe = find_recipe(model, benchmark.name)
    requested = {**split_spec(spec).options, **variant.options}
    if recipe is None or OPTION in requested or OWN_PROMPT not in benchmark.options.get(OPTION, ()):
        return benchmark
    max_new_tokens = variant.max_new_tokens
    if max_new_tokens is None and requested.get("cot", "off") == "off":
        max_new_tokens = recipe.max_new_tokens
    options = {**variant.options, OPTION: recipe.prompt}
    rebuilt = open_benchmark(spec, replace(variant, options=options, max_new_tokens=max_new_tokens))
    return replace(rebuilt, parameters={**rebuilt.parameters, RECIPE: recipe.name})
