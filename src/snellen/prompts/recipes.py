"""How the authors of a model say it is to be asked: data, matched by model and benchmark."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import NamedTuple


class Recipe(NamedTuple):
    name: str
    models: Sequence[str]
    """Patterns of model names without options, in lower case: `hf/org/name-*`."""
    benchmarks: Sequence[str]
    """Patterns of benchmark names."""
    prompt: str
    """Name of the wording."""
    source: str
    read: str
    """Day on which the source was read."""


@functools.cache
def recipes() -> tuple[Recipe, ...]:
    data = (files("snellen.prompts") / "recipes.toml").read_bytes()
    return tuple(Recipe(**one) for one in tomllib.loads(data.decode())["recipe"])


def recipe_for(model: str, benchmark: str) -> Recipe | None:
    """The first recipe that matches, or None. `model` is as on the command line; its options
    (`:dtype=...`) play no part."""
    name = model.split(":")[0].lower()
    for recipe in recipes():
        if _any(name, recipe.models) and _any(benchmark.lower(), recipe.benchmarks):
            return recipe
    return None


def _any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
