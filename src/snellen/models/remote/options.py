"""Options of models behind servers, parsed once into one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from snellen.core.errors import UsageError
from snellen.models.naming.provider import ModelOption, read_options

if TYPE_CHECKING:
    from snellen.models.remote.profile import ProviderProfile

EndpointKind = Literal["chat", "completions", "images"]
RankMethod = Literal["off", "echo", "prompt_logprobs"]

EXTRA_PREFIX = "body."
BATCHED = 50_000
"""Most questions in work at once where they are asked in batches."""
OPTIONS = (
    ModelOption("base_url", "address of the endpoint, e.g. https://example.org/v1"),
    ModelOption("key_env", "environment variable that holds the key"),
    ModelOption("api_version", "azure only: version of the older, dated API"),
    ModelOption("replicas", "URL+URL...: further servers of the same model, between which requests are balanced"),
    ModelOption("concurrency", "most requests in flight", kind="count"),
    ModelOption("timeout", "seconds to wait for a reply; default 600", kind="count"),
    ModelOption(
        "first_timeout",
        "seconds to wait for the first reply of all, then the run ends; default twice the timeout, "
        "from 600 on the timeout",
        kind="count",
    ),
    ModelOption("max_reply_mb", "most MB of a reply that are read; default 64", kind="count"),
    ModelOption("max_new_tokens", "longest reply in tokens, thoughts included", kind="count"),
    ModelOption("reasoning_effort", "how long to think: low, medium, high, or tokens"),
    ModelOption(
        "reasoning",
        "auto: thoughts in tags are split off the reply; opened: each reply begins in one",
        ("auto", "opened", "off"),
    ),
    ModelOption("sampling", "no: neither temperature and top_p nor top_k and penalties are sent", ("yes", "no")),
    ModelOption(
        "images",
        "first: only the first image; none: the model takes text alone; video: images that follow "
        "each other are the frames of one video (vLLM)",
        ("native", "first", "none", "video"),
    ),
    ModelOption("image_size", "longest edge in pixels; larger images are shrunk", kind="count"),
    ModelOption("video", "native: whole videos are sent; default frames", ("frames", "native")),
    ModelOption(
        "video_frames",
        "images=video: most images of one video, more are refused; default 32, which vLLM reads "
        "unless it is started with --media-io-kwargs",
        kind="count",
    ),
    ModelOption("logprobs", "whether the server gives log-probabilities", ("yes", "no")),
    ModelOption("schema", "no: a benchmark's schema of the reply is not sent", ("yes", "no")),
    ModelOption("stream", "yes: the reply is sent piece by piece", ("yes", "no")),
    ModelOption(
        "batch", "yes: asked in batches, at a lower price, with replies within a day (servers.md)", ("yes", "no")
    ),
    ModelOption("endpoint", "completions: plain text in; images: images out", ("chat", "completions", "images")),
    ModelOption("picture_host", "HOST or HOST:PORT from which drawn images are fetched, too"),
    ModelOption("draws", "yes: its chat replies hold images", ("yes", "no")),
    ModelOption(
        "rank",
        "how the server gives log-likelihoods: echo (completions), prompt_logprobs (vLLM's chat)",
        ("off", "echo", "prompt_logprobs"),
    ),
    ModelOption(
        "revision", "commit of the hub model behind the server: recorded, and loaded by servers that Snellen starts"
    ),
    ModelOption("trust_remote_code", "of servers that Snellen starts: run the checkpoint's own Python", ("yes", "no")),
    ModelOption("body.<field>", "a further field of each request, e.g. body.top_k=1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Parsed options of a model, for any dialect."""

    replicas: tuple[str, ...]
    """URLs of further servers of the model."""
    concurrency: int
    """Most requests in flight, at all servers together."""
    timeout: float
    first_timeout: float
    """Seconds after which a run without any reply ends."""
    max_reply_mb: int
    """Maximal size of a reply in MB, decompressed."""
    max_new_tokens: int | None
    effort: str
    split_thoughts: bool
    thought_opened: bool
    """Whether the chat template opens the reasoning, so that replies begin inside it."""
    sampling: bool
    images: str
    image_size: int | None
    native_video: bool
    video_frames: int
    """Most images that are handed over as one video."""
    logprobs: bool
    schema: bool
    stream: bool
    batch: bool
    """Whether requests are gathered and asked by the endpoint for batches."""
    endpoint: EndpointKind
    draws: bool
    image_hosts: tuple[str, ...]
    """Hosts from which images that the server names by URL are fetched."""
    rank: RankMethod
    body: Mapping[str, Any] = field(default_factory=dict)

    def identity_facts(self, options: Mapping[str, str]) -> dict[str, str]:
        """Options that can change a reply, for the model's identity."""
        return {
            name: value for name, value in options.items() if name in _IDENTITY_OPTIONS or name.startswith(EXTRA_PREFIX)
        }


_IDENTITY_OPTIONS = frozenset(
    {"reasoning_effort", "reasoning", "sampling", "schema", "images", "image_size", "video", "endpoint", "draws"}
    | {"rank", "api_version", "logprobs", "revision"}
)


def read_setup(provider: str, profile: ProviderProfile, options: Mapping[str, str]) -> Setup:
    """Parse and check options, with the profile's defaults. Raises UsageError that names the
    option."""
    extra = {name: value for name, value in options.items() if name.startswith(EXTRA_PREFIX)}
    plain = {name: value for name, value in options.items() if name not in extra}
    values = read_options(provider, plain, OPTIONS)
    timeout = float(values.get("timeout", 600))
    replicas = tuple(filter(None, values.get("replicas", "").split("+")))
    batch = values.get("batch") == "yes"
    size, max_tokens = values.get("image_size"), values.get("max_new_tokens")
    return Setup(
        replicas=replicas,
        concurrency=int(values.get("concurrency", BATCHED if batch else profile.concurrency * (1 + len(replicas)))),
        timeout=timeout,
        first_timeout=float(values.get("first_timeout", max(timeout, min(2 * timeout, 600)))),
        max_reply_mb=int(values.get("max_reply_mb", 64)),
        max_new_tokens=int(max_tokens) if max_tokens else None,
        effort=values.get("reasoning_effort", ""),
        split_thoughts=values.get("reasoning") != "off",
        thought_opened=values.get("reasoning") == "opened",
        sampling=values.get("sampling", "yes") == "yes",
        images=values.get("images", "native"),
        image_size=int(size) if size else None,
        native_video=values.get("video") == "native",
        video_frames=int(values.get("video_frames", 32)),
        logprobs=values["logprobs"] == "yes" if "logprobs" in values else profile.logprobs,
        schema=values.get("schema", "yes") == "yes",
        stream=values.get("stream") == "yes",
        batch=batch,
        endpoint=cast(EndpointKind, values.get("endpoint", "chat")),
        draws=values.get("draws") == "yes",
        image_hosts=tuple(filter(None, values.get("picture_host", "").split("+"))),
        rank=cast(RankMethod, values.get("rank", "off")),
        body=_extra_body(extra),
    )


def set_field(body: dict[str, Any], path: str, value: Any) -> None:
    """Set the field at a dotted path. Raises UsageError if a step of it is a plain value."""
    *steps, last = path.split(".")
    for step in steps:
        body = body.setdefault(step, {})
        if not isinstance(body, dict):
            raise UsageError(f"option {EXTRA_PREFIX}{path}: {step} is already a plain value")
    body[last] = value


def _extra_body(extra: Mapping[str, str]) -> dict[str, Any]:
    """Parse `body.a.b=1` into `{"a": {"b": 1}}`; a value that is not JSON is text."""
    body: dict[str, Any] = {}
    for name, value in extra.items():
        path = name.removeprefix(EXTRA_PREFIX)
        if not all(path.split(".")):
            raise UsageError(f"option {name}={value}: expected {EXTRA_PREFIX}<field>=<value>")
        try:
            decoded = msgspec.json.decode(value)
        except msgspec.DecodeError:
            decoded = value
        set_field(body, path, decoded)
    return body
