"""In what a run was asked otherwise than its model's makers ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.protocol.judging import JUDGE
from snellen.benchmarks.protocol.ranking import is_ranking
from snellen.core.request import GREEDY, MAIN, Sampling
from snellen.core.run import RunInfo
from snellen.models.naming.registry import maker_name
from snellen.prompts.recipes import Recipe, find_recipe


class SetupGap(NamedTuple):
    """A setting that differs."""

    setting: str
    """Name of a recipe's field: `temperature`, `prompt`, `max_pixels`."""
    makers: str
    own: str
    """"as it comes" where the run set nothing."""


def recipe_of(run: RunInfo) -> Recipe | None:
    """How the makers of the run's model ask it on this benchmark, whether the run did or not."""
    return find_recipe(maker_name(run.model, run.config.identity), run.benchmark)


def setup_gaps(run: RunInfo, wanted: Mapping[str, str] | None = None) -> tuple[SetupGap, ...]:
    """The settings in which a run differs from its model's recipe, or from `wanted`, by the names
    of a recipe's fields; empty if none is known."""
    if wanted is None:
        recipe = recipe_of(run)
        wanted = {} if recipe is None else recipe.settings()
    own = own_settings(run) if wanted else {}
    return tuple(
        SetupGap(name, value, own[name]) for name, value in wanted.items() if name in own and own[name] != value
    )


def own_settings(run: RunInfo) -> dict[str, str]:
    """How a run was asked, by the names of a recipe's fields, as far as its benchmark has them."""
    from snellen.benchmarks.declaration.registry import is_registered, open_benchmark
    from snellen.benchmarks.protocol.ask_config import OWN_PROMPT

    config, parameters, facts = run.config, run.config.parameters, run.config.identity.facts
    options = open_benchmark(run.benchmark).options if is_registered(run.benchmark) else {}
    own: dict[str, str] = {}
    if OWN_PROMPT in options.get("prompt", ()):
        own["prompt"] = parameters.get("prompt", OWN_PROMPT)
    if not is_ranking(parameters):
        own["max_new_tokens"] = str(config.max_new_tokens)
        sampling = structs.asdict(config.sampling.get(MAIN, Sampling()))
        del sampling["seed"]
        for name, value in sampling.items():
            own[name] = f"{getattr(GREEDY, name) if value is None else value:g}"
    for name in ("min_pixels", "max_pixels"):
        served = facts.get(f"body.mm_processor_kwargs.{name}")
        own[name] = facts.get(name, served or "as it comes")
    own["thinking"] = facts.get("thinking", "as it comes")
    own |= {name: parameters[name] for name in ("video", "frames", "fps") if name in parameters}
    judges = [role.name for name, role in config.roles.items() if name.startswith(JUDGE)]
    if judges:
        own["judge"] = " + ".join(judges)
    return own
