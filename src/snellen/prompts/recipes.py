"""The prompts that model authors recommend, kept as data and matched by model and benchmark."""

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
    """Patterns of hub ids in lower case: `org/name-*`."""
    benchmarks: Sequence[str]
    """Patterns of benchmark names."""
    prompt: str
    """Name of the prompt template."""
    source: str
    read: str
    """The day on which the source was read."""
    max_new_tokens: int | None = None
    """The longest reply in tokens, if the authors set one."""
    not_for: Sequence[str] = ()
    """Patterns of benchmarks to which the recipe does not apply although `benchmarks` matches."""
    note: str = ""
    """What the authors recommend beyond the template; it is not applied."""


@functools.cache
def load_recipes() -> tuple[Recipe, ...]:
    data = (files("snellen.prompts") / "recipes.toml").read_bytes()
    return tuple(Recipe(**table) for table in tomllib.loads(data.decode())["recipe"])


def find_recipe(model: str, benchmark: str) -> Recipe | None:
    """The first recipe that matches, or None. `model` is as on the command line; its provider
    (`hf/`, `vllm/`, `http://host/v1#`) and options (`:dtype=...`) do not matter."""
    name = _hub_id(model).lower()
    for recipe in load_recipes():
        if _matches_any(name, recipe.models) and _applies_to(recipe, benchmark.lower()):
            return recipe
    return None


def _hub_id(model: str) -> str:
    """`org/name` of `hf/org/name:dtype=float16` or `http://host:8000/v1#org/name`."""
    _, hash_sign, served = model.rpartition("#")
    name = served.split(":")[0]
    return name if hash_sign else name.partition("/")[2]


def _applies_to(recipe: Recipe, benchmark: str) -> bool:
    return _matches_any(benchmark, recipe.benchmarks) and not _matches_any(
        benchmark, recipe.not_for
    )


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
