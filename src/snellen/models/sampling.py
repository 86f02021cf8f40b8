"""`temperature`, `top_p` and `seed`: options of every model, whoever provides it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from snellen.core.entry_points import doors, load
from snellen.core.errors import UsageError
from snellen.core.model import Model, Sampler
from snellen.core.request import Sampling
from snellen.models.naming.provider import ModelOption
from snellen.models.naming.registry import GROUP, options_of, split_options, split_spec

OPTIONS = (
    ModelOption("temperature", "how freely replies are drawn; 0 takes the likeliest words"),
    ModelOption("top_p", "draw among the likeliest words that together have this probability"),
    ModelOption("seed", "of the draws: the same seed gives the same replies, where that holds"),
)
_NAMES = tuple(option.name for option in OPTIONS)


class Sampled(NamedTuple):
    """A model's name without the options that say how it is sampled, these as text, and read."""

    spec: str
    options: str
    sampling: Sampling | None

    def name(self, name: str) -> str:
        """The name of the opened model with these options behind it."""
        if not self.options:
            return name
        return f"{name}{',' if split_options(name)[1] else ':'}{self.options}"


def read_sampled(spec: str, own: Collection[str] = ()) -> Sampled:
    """Take the options apart; those that the provider knows itself are left to it. `own` are names
    of models of loaded files. Raises UsageError."""
    stem, options = split_options(spec)
    provider = "" if stem in own else split_spec(spec).provider
    mine = {
        name: value
        for name, value in options.items()
        if name in _NAMES and not _takes(provider, name)
    }
    if not mine:
        return Sampled(spec, "", None)
    rest = ",".join(f"{name}={value}" for name, value in options.items() if name not in mine)
    return Sampled(
        f"{stem}:{rest}" if rest else stem,
        ",".join(f"{name}={value}" for name, value in mine.items()),
        read_sampling(mine, f"model {spec!r}"),
    )


def read_sampling(options: Mapping[str, str], where: str) -> Sampling:
    """Raises UsageError for values that cannot be."""
    found: dict[str, float | None] = {"temperature": None, "top_p": None}
    for name in found.keys() & options.keys():
        try:
            found[name] = float(options[name])
        except ValueError:
            raise UsageError(f"{where}: {name}={options[name]}: expected a number") from None
    seed = options.get("seed")
    if seed is not None and not seed.isdecimal():
        raise UsageError(f"{where}: seed={seed}: expected a whole number from 0")
    return checked(
        Sampling(found["temperature"], found["top_p"], None if seed is None else int(seed)), where
    )


def checked(sampling: Sampling, where: str) -> Sampling:
    """The sampling, if there can be such. Raises UsageError."""
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


def together(sampling: Sampling | None, default: Sampling) -> Sampling | None:
    """The sampling of one model; what it leaves open is as for all. None where all is left open."""
    one = sampling or Sampling()
    found = Sampling(
        default.temperature if one.temperature is None else one.temperature,
        default.top_p if one.top_p is None else one.top_p,
        default.seed if one.seed is None else one.seed,
    )
    return None if found == Sampling() else found


def check_sampler(name: str, model: Model, sampling: Sampling | None, repeats: int) -> None:
    """Raises UsageError where the model cannot be asked so."""
    if repeats > 1 and getattr(model, "by_row", False) is True:
        raise UsageError(f"{name} holds one reply to each question; leave out --repeats")
    reason = None
    if sampling is not None and isinstance(model, Sampler):
        reason = model.cannot_sample(sampling)
    if reason is not None:
        raise UsageError(f"{name}: {reason}")


def _takes(provider: str, name: str) -> bool:
    """Whether the provider has an option of that name, or a plug-in's class an argument."""
    if provider not in doors(GROUP):
        return False
    if any(option.name == name for option in options_of(provider)):
        return True
    found = load(doors(GROUP)[provider])
    return inspect.isclass(found) and name in inspect.signature(found).parameters
