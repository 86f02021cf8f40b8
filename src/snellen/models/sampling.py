"""`temperature`, `top_p` and `seed`: options of every model, whichever provider it has."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from snellen.core.errors import UsageError
from snellen.core.model import Model, RestrictedSampler, abilities
from snellen.core.request import Sampling
from snellen.models.naming.provider import ModelOption
from snellen.models.naming.registry import options_of, split_spec
from snellen.models.naming.spec import split_options

OPTIONS = (
    ModelOption("temperature", "how freely replies are drawn; 0 takes the likeliest words"),
    ModelOption("top_p", "draw among the likeliest words that together have this probability"),
    ModelOption("seed", "of the draws: the same seed gives the same replies, where that holds"),
)
_NAMES = tuple(option.name for option in OPTIONS)


class SamplingSpec(NamedTuple):
    """A model's name without its sampling options, these options as text, and their values."""

    spec: str
    options: str
    sampling: Sampling | None

    def add_options(self, name: str) -> str:
        """The name of the opened model followed by these options."""
        if not self.options:
            return name
        return f"{name}{',' if split_options(name)[1] else ':'}{self.options}"


def split_sampling(spec: str, loaded_names: Collection[str] = ()) -> SamplingSpec:
    """Split the sampling options off a model's name; options that the provider declares itself
    stay with it. `loaded_names` are models of loaded files. Raises UsageError."""
    stem, options = split_options(spec)
    is_loaded = stem in loaded_names
    provider = "" if is_loaded else split_spec(spec).provider

    def is_own(name: str) -> bool:
        if is_loaded:
            from snellen.models.naming.custom import LoadedModels

            return isinstance(loaded_names, LoadedModels) and loaded_names.has_option(stem, name)
        return _provider_takes(provider, name)

    sampling_options = {
        name: value for name, value in options.items() if name in _NAMES and not is_own(name)
    }
    if not sampling_options:
        return SamplingSpec(spec, "", None)
    remaining = ",".join(
        f"{name}={value}" for name, value in options.items() if name not in sampling_options
    )
    return SamplingSpec(
        f"{stem}:{remaining}" if remaining else stem,
        ",".join(f"{name}={value}" for name, value in sampling_options.items()),
        parse_sampling(sampling_options, f"model {spec!r}"),
    )


def parse_sampling(options: Mapping[str, str], where: str) -> Sampling:
    """Parse sampling options; `where` begins the error. Raises UsageError for invalid values."""
    values: dict[str, float | None] = {"temperature": None, "top_p": None}
    for name in values.keys() & options.keys():
        try:
            values[name] = float(options[name])
        except ValueError:
            raise UsageError(f"{where}: {name}={options[name]}: expected a number") from None
    seed = options.get("seed")
    if seed is not None and not seed.isdecimal():
        raise UsageError(f"{where}: seed={seed}: expected a whole number from 0")
    return check_sampling(
        Sampling(values["temperature"], values["top_p"], None if seed is None else int(seed)), where
    )


def check_sampling(sampling: Sampling, where: str) -> Sampling:
    """Return the sampling if its values are valid and go together. Raises UsageError."""
    temperature, top_p = sampling.temperature, sampling.top_p
    if temperature is not None and not 0 <= temperature < math.inf:
        raise UsageError(f"{where}: temperature={temperature:g}: expected a number from 0")
    if top_p is not None and not 0 < top_p <= 1:
        raise UsageError(f"{where}: top_p={top_p:g}: expected a number above 0, at most 1")
    if top_p is not None and not temperature:
        raise UsageError(
            f"{where}: top_p without a temperature above 0 changes nothing; add temperature=1"
        )
    if sampling.seed is not None and sampling.seed < 0:
        raise UsageError(f"{where}: seed={sampling.seed}: expected a whole number from 0")
    return sampling


def merge_sampling(sampling: Sampling | None, default: Sampling) -> Sampling | None:
    """The sampling of one model, with defaults for what it leaves open; None if all is open."""
    own = sampling or Sampling()
    merged = Sampling(
        default.temperature if own.temperature is None else own.temperature,
        default.top_p if own.top_p is None else own.top_p,
        default.seed if own.seed is None else own.seed,
    )
    return None if merged == Sampling() else merged


def check_sampler(name: str, model: Model, sampling: Sampling | None, repeats: int) -> None:
    """Raise UsageError if the model cannot be sampled like this or asked repeatedly."""
    if repeats > 1 and abilities(model).by_row:
        raise UsageError(f"{name} holds one reply to each question; leave out --repeats")
    reason = None
    if sampling is not None and isinstance(model, RestrictedSampler):
        reason = model.cannot_sample(sampling)
    if reason is not None:
        raise UsageError(f"{name}: {reason}")


def _provider_takes(provider: str, name: str) -> bool:
    """Whether a provider has its own option of this name, or a plug-in's class an argument."""
    return any(option.name == name for option in options_of(provider))
