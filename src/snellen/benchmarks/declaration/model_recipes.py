"""A benchmark asked as the authors of a model prescribe (see `prompts/recipes.toml`)."""

from __future__ import annotations

from dataclasses import replace

from snellen.benchmarks.declaration.registry import open_benchmark, split_spec
from snellen.benchmarks.protocol.ask_config import OWN
from snellen.core.benchmark import Benchmark, Variant
from snellen.prompts.recipes import recipe_for

OPTION = "prompt"
RECIPE = "recipe"


def prescribed(model: str, spec: str, opened: Benchmark, variant: Variant) -> Benchmark:
    """The benchmark under the recipe for that model, which is recorded in its parameters. The
    longest reply is the recipe's, unless one is asked for or the model is to think first.

    Unchanged where no recipe matches, where a prompt is asked for by name, and where the
    benchmark takes no stored wordings.
    """
    recipe = recipe_for(model, opened.name)
    asked = {**split_spec(spec).options, **variant.options}
    if recipe is None or OPTION in asked or OWN not in opened.options.get(OPTION, ()):
        return opened
    longest = variant.max_new_tokens
    if longest is None and asked.get("cot", "off") == "off":
        longest = recipe.max_new_tokens
    options = {**variant.options, OPTION: recipe.prompt}
    made = open_benchmark(spec, replace(variant, options=options, max_new_tokens=longest))
    return replace(made, parameters={**made.parameters, RECIPE: recipe.name})
