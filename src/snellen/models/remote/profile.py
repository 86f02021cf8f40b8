"""Providers of models behind servers: `providers.toml` as frozen values."""

from __future__ import annotations

import fnmatch
import functools
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

DialectName = Literal["chat", "anthropic", "google"]
URL_SCHEMES = ("http", "https")
"""Providers of any server, by its URL."""
Video = Literal["none", "video_url"]


class ProviderProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one provider's endpoint supports, and how its fields are called."""

    title: str
    dialect: DialectName = "chat"
    base_url: str = ""
    base_url_env: tuple[str, ...] = ()
    """Environment variables that may hold the base URL."""
    key_env: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first one set is used."""
    key_needed: bool = True
    key_header: str = "Authorization"
    """The key follows "Bearer" in `Authorization`; any other header holds the key alone."""
    token_limit: str = "max_tokens"
    """Name of the field for the maximal number of new tokens."""
    temperature: bool = True
    top_p: bool = True
    top_k: bool = False
    repetition_penalty: bool = False
    presence_penalty: bool = True
    seed: bool = True
    stop: bool = True
    """Whether it takes stop strings; if not, they are cut off here."""
    logprobs: bool = True
    effort: str = "reasoning_effort"
    """Dotted path in the body for the option `reasoning_effort`."""
    effort_in: Literal["words", "tokens"] = "words"
    """Whether its values are words (low, medium, high, ...) or numbers of tokens."""
    effort_with: dict[str, bool] = {}
    """Fields that switch reasoning on, sent with the effort."""
    fixed_sampling: tuple[str, ...] = ()
    """Patterns of models that set temperature, top_p, top_k and penalties themselves."""
    adaptive: tuple[str, ...] = ()
    """Patterns of models whose reasoning effort is a word, never a number of tokens."""
    tokenize: bool = False
    """Whether it has vLLM's paths /tokenize and /detokenize, which render the prompt."""
    revision_in_name: bool = False
    """Whether requests name a pinned model as `ORG/NAME@REVISION`."""
    video: Video = "none"
    """How videos are sent to models that accept them."""
    image_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/webp", "image/gif")
    """Media types of images that are sent unchanged; others are converted to PNG."""
    concurrency: int = 32


@functools.cache
def profiles() -> dict[str, ProviderProfile]:
    """Profiles by provider, from `providers.toml`."""
    text = Path(__file__).with_name("providers.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, ProviderProfile])


def has_fixed_sampling(profile: ProviderProfile, model: str) -> bool:
    """Whether the model rejects requests that set temperature, top_p, top_k or a penalty."""
    return _matches(profile.fixed_sampling, model)


def has_adaptive_thinking(profile: ProviderProfile, model: str) -> bool:
    """Whether the model decides how long to reason, and rejects a number of tokens."""
    return _matches(profile.adaptive, model)


def _matches(patterns: tuple[str, ...], model: str) -> bool:
    name = model.rsplit("/", 1)[-1]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
