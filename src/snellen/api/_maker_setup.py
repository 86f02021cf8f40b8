"""What of the maker's set-up reaches a model: what its route takes and the user left open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.protocol.ranking import is_ranking
from snellen.core.benchmark import Benchmark
from snellen.core.model import AnyModel, Model, RestrictedSampler
from snellen.core.request import Sampling
from snellen.models.naming.registry import maker_name, split_spec
from snellen.models.naming.spec import split_options
from snellen.prompts.recipes import find_recipe, find_setup

_LEAST_NEEDED = ("presence_penalty", "repetition_penalty", "top_k", "top_p", "temperature")
"""Sampling settings in the order in which they are given up where a route does not take all."""
_DRAWN_BY = ("temperature", "top_p", "top_k")
"""Settings of the draw, which belong together."""


class MadeSpec(NamedTuple):
    """A model's name with the options that its makers set, and these options as text."""

    spec: AnyModel
    added: str = ""

    def name_without(self, name: str) -> str:
        """The name of the opened model without these options."""
        return name.replace(self.added, "", 1) if self.added else name


def add_maker_options(model: AnyModel, custom: Collection[str] = ()) -> MadeSpec:
    """Add the options about pixels and thinking that the makers of a model set, where its route
    takes them and the name does not set them. `custom` are the models of loaded files."""
    if not isinstance(model, str) or model in custom:
        return MadeSpec(model)
    parts = split_spec(model)
    translate = _ROUTES.get(parts.provider)
    setup = find_setup(f"{parts.provider}/{parts.name}")
    if translate is None or setup is None:
        return MadeSpec(model)
    options = {
        name: value
        for name, value in translate(setup.model_options).items()
        if not any(typed.startswith(name.rpartition(".")[0] or name) for typed in parts.options)
    }
    if not options:
        return MadeSpec(model)
    text = ",".join(f"{name}={value}" for name, value in options.items())
    added = f"{',' if split_options(model)[1] else ':'}{text}"
    return MadeSpec(f"{model}{added}", added)


def maker_sampling(name: str, model: Model, benchmark: Benchmark, own: Sampling | None) -> Sampling | None:
    """How the makers sample the model on a benchmark, in what `own` leaves open and its route
    takes; None if that is nothing, or if texts are ranked."""
    recipe = find_recipe(maker_name(name, model.identity), benchmark.name)
    if recipe is None or is_ranking(benchmark.parameters):
        return None
    chosen = structs.asdict(own or Sampling())
    wanted = structs.asdict(recipe.sampling)
    if any(chosen[name] is not None for name in _DRAWN_BY):
        wanted |= dict.fromkeys(_DRAWN_BY)
    sampling = Sampling(**{name: None if chosen[name] is not None else wanted[name] for name in wanted})
    if not isinstance(model, RestrictedSampler):
        return sampling if sampling != Sampling() else None
    # First what it takes by no means, then what it does not take together.
    for given_up in _LEAST_NEEDED:
        alone = Sampling(**{given_up: getattr(sampling, given_up)})
        if alone != Sampling() and model.cannot_sample(_with_temperature(alone)) is not None:
            sampling = structs.replace(sampling, **{given_up: None})
    for given_up in _LEAST_NEEDED:
        if sampling == Sampling() or model.cannot_sample(sampling) is None:
            break
        sampling = structs.replace(sampling, **{given_up: None})
    return sampling if sampling != Sampling() else None


def _with_temperature(sampling: Sampling) -> Sampling:
    """The sampling with a temperature if it needs one to have an effect."""
    is_of_draws = sampling.top_p is not None or sampling.top_k is not None
    return structs.replace(sampling, temperature=1.0) if is_of_draws else sampling


def _as_is(options: Mapping[str, str]) -> dict[str, str]:
    return dict(options)


def _for_vllm(options: Mapping[str, str]) -> dict[str, str]:
    """As fields of vLLM's requests."""
    pixels = {f"body.mm_processor_kwargs.{name}": value for name, value in options.items() if name != "thinking"}
    return {**pixels, **_for_templates(options)}


def _for_templates(options: Mapping[str, str]) -> dict[str, str]:
    """As the field of requests that is handed to the chat template."""
    if "thinking" not in options:
        return {}
    switch = "true" if options["thinking"] == "on" else "false"
    return {"body.chat_template_kwargs.enable_thinking": switch}


_ROUTES: Mapping[str, Callable[[Mapping[str, str]], dict[str, str]]] = {
    "hf": _as_is,
    "vllm-local": _as_is,
    "vllm": _for_vllm,
    "sglang": _for_templates,
    "transformers": _for_templates,
}
"""How a provider takes the options of a set-up; others take none."""
