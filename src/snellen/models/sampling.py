"""`temperature`, `top_p`, `top_k`, `seed` and penalties: options of every model, whichever provider
it has."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from msgspec import structs

from snellen.core.errors import UsageError
from snellen.core.model import Model, RestrictedSampler, abilities
from snellen.core.request import Sampling
from snellen.models.naming.provider import ModelOption
from snellen.models.naming.registry import options_of, split_spec
from snellen.models.naming.spec import split_options

OPTIONS = (
    ModelOption("temperature", "how freely replies are drawn; 0 takes the likeliest words"),
    ModelOption("top_p", "draw among the likeliest words that together have this probability"),
    ModelOption("top_k", "draw among this many likeliest words; 0: among all"),
    ModelOption("seed", "of the draws: the same seed gives the same replies, where that holds"),
    ModelOption("repetition_penalty", "makes words of prompt and reply less likely; 1: none"),
    ModelOption("presence_penalty", "makes words of the reply so far less likely; 0: none"),
)
_NAMES = tuple(option.name for option in OPTIONS)
_COUNTS = ("seed", "top_k")
_NUMBERS = tuple(name for name in _NAMES if name not in _COUNTS)
_MAX_PRESENCE_PENALTY = 2.0
"""What servers take at most, up or down."""


class SamplingSpec(NamedTuple):
    """A model's name without its sampling options, these options as text, and their values."""

    spec: str
    options: str
    sampling: Sampling | None

    def add_options(self, name: str) -> str:
        """The name of the opened model followed by these options, of which there are some."""
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
        return any(option.name == name for option in options_of(provider))

    sampling_options = {name: value for name, value in options.items() if name in _NAMES and not is_own(name)}
    if not sampling_options:
        return SamplingSpec(spec, "", None)
    remaining = ",".join(f"{name}={value}" for name, value in options.items() if name not in sampling_options)
    return SamplingSpec(
        f"{stem}:{remaining}" if remaining else stem,
        ",".join(f"{name}={value}" for name, value in sampling_options.items()),
        parse_sampling(sampling_options, f"model {spec!r}"),
    )


def parse_sampling(options: Mapping[str, str], where: str) -> Sampling:
    """Parse sampling options; `where` begins the error. Raises UsageError for invalid values."""
    numbers: dict[str, float] = {}
    for name in (name for name in _NUMBERS if name in options):
        try:
            numbers[name] = float(options[name])
        except ValueError:
            raise UsageError(f"{where}: {name}={options[name]}: expected a number") from None
    counts: dict[str, int] = {}
    for name in (name for name in _COUNTS if name in options):
        if not options[name].isdecimal():
            raise UsageError(f"{where}: {name}={options[name]}: expected a whole number from 0")
        counts[name] = int(options[name])
    return check_sampling(
        Sampling(
            temperature=numbers.get("temperature"),
            top_p=numbers.get("top_p"),
            seed=counts.get("seed"),
            top_k=counts.get("top_k"),
            repetition_penalty=numbers.get("repetition_penalty"),
            presence_penalty=numbers.get("presence_penalty"),
        ),
        where,
    )


def check_sampling(sampling: Sampling, where: str) -> Sampling:
    """Return the sampling if its values are valid and go together. Raises UsageError."""
    temperature, top_p = sampling.temperature, sampling.top_p
    if temperature is not None and not 0 <= temperature < math.inf:
        raise UsageError(f"{where}: temperature={temperature:g}: expected a number from 0")
    if top_p is not None and not 0 < top_p <= 1:
        raise UsageError(f"{where}: top_p={top_p:g}: expected a number above 0, at most 1")
    if top_p is not None and not temperature:
        raise UsageError(f"{where}: top_p without a temperature above 0 changes nothing; add temperature=1")
    for name in _COUNTS:
        count = getattr(sampling, name)
        if count is not None and count < 0:
            raise UsageError(f"{where}: {name}={count}: expected a whole number from 0")
    if sampling.top_k and not temperature:
        raise UsageError(f"{where}: top_k without a temperature above 0 changes nothing; add temperature=1")
    repetition, presence = sampling.repetition_penalty, sampling.presence_penalty
    if repetition is not None and not 0 < repetition < math.inf:
        raise UsageError(f"{where}: repetition_penalty={repetition:g}: expected a number above 0; 1 is none")
    if presence is not None and not -_MAX_PRESENCE_PENALTY <= presence <= _MAX_PRESENCE_PENALTY:
        raise UsageError(f"{where}: presence_penalty={presence:g}: expected a number from -2 to 2; 0 is none")
    return sampling


def merge_sampling(sampling: Sampling | None, default: Sampling) -> Sampling | None:
    """The sampling of one model, with defaults for what it leaves open; None if all is open."""
    own = structs.asdict(sampling or Sampling())
    merged = structs.replace(default, **{name: value for name, value in own.items() if value is not None})
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
