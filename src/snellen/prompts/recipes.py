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
    """Patterns of hub ids in lower case: `org/name-*`."""
    benchmarks: Sequence[str]
    """Patterns of benchmark names."""
    prompt: str
    """Name of the wording."""
    source: str
    read: str
    """Day on which the source was read."""
    max_new_tokens: int | None = None
    """Longest reply, where the authors set one."""
    not_for: Sequence[str] = ()
    """Benchmarks it does not speak of, as patterns, although `benchmarks` has them."""
    note: str = ""
    """What the authors prescribe beside the wording and nothing here does."""


@functools.cache
def load_recipes() -> tuple[Recipe, ...]:
    data = (files("snellen.prompts") / "recipes.toml").read_bytes()
    return tuple(Recipe(**one) for one in tomllib.loads(data.decode())["recipe"])


def find_recipe(model: str, benchmark: str) -> Recipe | None:
    """The first recipe that matches, or None. `model` is as on the command line; what serves it
    (`hf/`, `vllm/`, `http://host/v1#`) and its options (`:dtype=...`) play no part."""
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
