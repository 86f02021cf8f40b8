"""Providers of models behind servers: `providers.toml` as frozen values."""

from __future__ import annotations

import fnmatch
import functools
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from snellen.core.model import BatchTerms, PromptCache

DialectName = Literal["chat", "anthropic", "google", "converse"]
PROTOCOLS: dict[DialectName, str] = {
    "chat": "OpenAI's chat completions",
    "anthropic": "Anthropic's Messages API",
    "google": "Google's generateContent",
    "converse": "Amazon Bedrock's Converse",
}
URL_SCHEMES = ("http", "https")
"""Providers of any server, by its URL."""
AWS_VARIABLES = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
Video = Literal["none", "video_url"]
SchemaField = Literal["", "json_schema", "json_object"]


class BatchProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The endpoint of a provider that takes requests in batches."""

    api: Literal["openai", "anthropic", "google", "mistral"]
    requests: int
    """Most requests of a batch."""
    megabytes: int
    """Most megabytes (10^6 bytes) of a batch."""
    hours: int = 24
    """Hours in which replies are promised, or are given up."""
    price: float = 1.0
    """Price of a token, as a share of its listed price."""
    cached_price: float = 1.0
    """The same for cached tokens; 1 where the provider does not say."""
    limits_source: str = ""
    price_source: str = ""
    read: str = ""
    """Day on which the sources were read, ISO 8601."""

    def terms(self) -> BatchTerms:
        """As the engine takes them."""
        source = f"{self.price_source}, read {self.read}" if self.price_source else ""
        size = self.megabytes * 1_000_000
        return BatchTerms(self.requests, size, self.hours, self.price, self.cached_price, source)


class ProviderProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one provider's endpoint supports, and how its fields are called."""

    title: str
    dialect: DialectName = "chat"
    base_url: str = ""
    base_url_env: tuple[str, ...] = ()
    """Environment variables that may hold the base URL."""
    other_urls: tuple[str, ...] = ()
    """Further base URLs of the provider, by which the user's own client is known to ask it."""
    place: dict[str, tuple[str, ...]] = {}
    """Fields of the base URL, such as a region, and the environment variables that may hold them."""
    place_default: dict[str, str] = {}
    key_env: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first one set is used."""
    key_needed: bool = True
    key_header: str = "Authorization"
    key_scheme: str = "Bearer"
    """What stands before the key in `Authorization`; any other header holds the key alone."""
    key_command: tuple[str, ...] = ()
    """A program that prints a key for less than an hour, where no variable has one."""
    sign: Literal["", "aws"] = ""
    """How requests are signed, where no variable has a key."""
    lists_models: bool = True
    """Whether it lists its models at /models."""
    anthropic_version: str = ""
    """Version of Anthropic's API."""
    model_in_path: bool = False
    """Whether Anthropic's API has its model in the path and its version in the body, not the reverse."""
    token_limit: str = "max_tokens"
    """Name of the field for the maximal number of new tokens."""
    temperature: bool = True
    top_p: bool = True
    top_k: bool = False
    repetition_penalty: bool = False
    presence_penalty: bool = True
    seed: bool = True
    seed_field: str = "seed"
    stop: bool = True
    """Whether it takes stop strings; if not, they are cut off here."""
    response_schema: SchemaField = ""
    """Whether the dialect's field for a schema of the reply is sent: `json_schema` sends the schema,
    `json_object` asks for JSON alone, since the provider takes no schema; empty: nothing is sent."""
    logprobs: bool = True
    logprobs_in: Literal["flag", "count"] = "flag"
    """Whether `logprobs` is a flag beside `top_logprobs`, or itself the number of tokens."""
    completion_logprobs: int = 20
    """Most tokens whose log-probabilities text completions return."""
    stream_options: bool = True
    """Whether a stream is asked for its usage; without, it ends with the usage anyway."""
    effort: str = "reasoning_effort"
    """Dotted path in the body for the option `reasoning_effort`."""
    effort_in: Literal["words", "tokens", "either"] = "words"
    """Whether its values are words (low, medium, high, ...) or numbers of tokens."""
    effort_tokens: str = ""
    """Dotted path for a number of tokens, if it is not that of words."""
    effort_with: dict[str, bool] = {}
    """Fields that switch reasoning on, sent with the effort."""
    fixed_sampling: tuple[str, ...] = ()
    """Patterns of models that set temperature, top_p, top_k and penalties themselves."""
    adaptive: tuple[str, ...] = ()
    """Patterns of models whose reasoning effort is a word, never a number of tokens."""
    patterns_of: str = ""
    """Another provider, whose patterns of models hold for this one, which offers the same models."""
    tokenize: bool = False
    """Whether it has vLLM's paths /tokenize and /detokenize, which render the prompt."""
    revision_in_name: bool = False
    """Whether requests name a pinned model as `ORG/NAME@REVISION`."""
    image_sides: bool = False
    """Whether the size of drawn images is sent as `width` and `height`, not as `size`."""
    video: Video = "none"
    """How videos are sent to models that accept them."""
    image_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/webp", "image/gif")
    """Media types of images that are sent unchanged; others are converted to PNG."""
    concurrency: int = 32
    prompt_cache: PromptCache | None = None
    """How it caches prompts by itself; None if it does not, or how is not known here."""
    batch: BatchProfile | None = None
    """Its endpoint for batches; None if it has none, or none that is known here."""


@functools.cache
def profiles() -> dict[str, ProviderProfile]:
    """Profiles by provider, from `providers.toml`."""
    text = Path(__file__).with_name("providers.toml").read_bytes()
    found = msgspec.toml.decode(text, type=dict[str, ProviderProfile])
    for name, profile in found.items():
        if profile.patterns_of:
            maker = found[profile.patterns_of]
            patterns = {"fixed_sampling": maker.fixed_sampling, "adaptive": maker.adaptive}
            found[name] = msgspec.structs.replace(profile, **patterns)
    return found


def other_credentials(profile: ProviderProfile) -> str:
    """What else than a variable with a key would do, behind the names of these; "" if nothing else."""
    if profile.sign == "aws":
        return f" or {AWS_VARIABLES}"
    return f" or install {profile.key_command[0]} and log in" if profile.key_command else ""


def has_fixed_sampling(profile: ProviderProfile, model: str) -> bool:
    """Whether the model rejects requests that set temperature, top_p, top_k or a penalty."""
    return _matches(profile.fixed_sampling, model)


def has_adaptive_thinking(profile: ProviderProfile, model: str) -> bool:
    """Whether the model decides how long to reason, and rejects a number of tokens."""
    return _matches(profile.adaptive, model)


@functools.cache
def _matches(patterns: tuple[str, ...], model: str) -> bool:
    # Bedrock names the maker in front: `us.anthropic.claude-...`, or behind an ARN and a slash.
    name = model.rsplit("/", 1)[-1].rsplit("anthropic.", 1)[-1]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
