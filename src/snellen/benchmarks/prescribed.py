"""A benchmark asked as the authors of a model prescribe (see `prompts/recipes.toml`)."""

from __future__ import annotations

from dataclasses import replace

from snellen.benchmarks.registry import open_benchmark, split_spec
from snellen.core.benchmark import Benchmark, Variant
from snellen.prompts.recipes import recipe_for

OPTION = "prompt"
RECIPE = "recipe"


def prescribed(model: str, spec: str, opened: Benchmark, variant: Variant) -> Benchmark:
    """The benchmark under the recipe for that model, which is recorded in its parameters.

    Unchanged where no recipe matches, where a prompt is asked for by name, and where the
    benchmark has not the recipe's wording.
    """
    recipe = recipe_for(model, opened.name)
    asked = OPTION in variant.options or OPTION in split_spec(spec).options
    if recipe is None or asked or recipe.prompt not in opened.options.get(OPTION, ()):
        return opened
    options = {**variant.options, OPTION: recipe.prompt}
    made = open_benchmark(spec, replace(variant, options=options))
    return replace(made, parameters={**made.parameters, RECIPE: recipe.name})
