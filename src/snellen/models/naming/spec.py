"""A model's name as it is typed: its options, its pinned revision, or the folder that it is.

Options may follow the name, `hf/org/model:dtype=bfloat16,device=cuda:1`; a colon starts options
only if a `key=` follows, since paths, URLs and devices contain colons as well. A revision follows a
hub id: `hf/ORG/NAME@COMMIT`, `http://HOST/v1#ORG/NAME@COMMIT`. Addresses that hold a password are
refused.
"""

from __future__ import annotations

import re
from pathlib import Path

from snellen.core.errors import UsageError

GENERIC_PROVIDER = "server"
"""Provider of a server of which only the protocol is known; its models are opened by URL."""
REVISION = "revision"
"""The option that the part after the @ stands for."""
HUB_PROVIDERS = frozenset(
    {
        "hf",
        "clip",
        "diffusers",
        "vllm",
        "vllm-local",
        "sglang",
        "lmdeploy",
        "transformers",
        "environment",
        GENERIC_PROVIDER,
    }
)
"""Providers whose models are named by their id on the Hugging Face hub."""
SERVERS_OF_HUB_MODELS = HUB_PROVIDERS - {"hf", "clip", "diffusers"}
"""Those that are servers, or their engine in this process: they have no folders of their own."""
_PINNED = re.compile(r"(?P<id>[^@]+)@(?P<revision>[A-Za-z0-9][A-Za-z0-9._/-]*)")

_OPTIONS_START = re.compile(r":(?=[a-z_]+(?:\.[\w.]*)?=)")
_USERINFO = re.compile(r"://[^/?#]*@([^/?#@:,]*)")
_QUERY = re.compile(r"://(?:[^/?#]*@)?([^/?#@:,]*)[^?#,]*\?")
_VARIABLE = re.compile(r"[:,]key_env=(\w+)")


JOIN = "join"
"""The name of a model that is joined from two: `join:text=MODEL,draw=MODEL`."""
JOIN_OPTIONS = ("text", "draw", "describe")
_JOIN_PART = re.compile(rf"(?:^|,)({'|'.join(JOIN_OPTIONS)})=")

SERVICE_OPTIONS = frozenset(
    {
        "base_url",
        "replicas",
        "key_env",
        "concurrency",
        "timeout",
        "first_timeout",
        "max_reply_mb",
        "stream",
        "picture_host",
        "batch_size",
        "threads",
        "device",
        "device_map",
        "trust_remote_code",
        "sharing",
    }
)
"""Options of models that change where or how fast they answer, but not what."""


def short_name(spec: str) -> str:
    """A model's name without the options that cannot change a reply, such as its server's
    address."""
    try:
        stem, options = split_options(spec)
    except UsageError:
        return spec
    if stem == JOIN:
        return f"{JOIN}:{','.join(f'{name}={short_name(part)}' for name, part in options.items())}"
    kept = ",".join(f"{name}={value}" for name, value in options.items() if name not in SERVICE_OPTIONS)
    return f"{stem}:{kept}" if kept else stem


def split_options(spec: str) -> tuple[str, dict[str, str]]:
    """Split a name and its options. Raises UsageError for a malformed option."""
    stem, *options = _OPTIONS_START.split(spec.strip(), maxsplit=1)
    if stem == JOIN and options:
        return stem, _parse_join(spec, options[0])
    return stem, _parse_options(spec, options[0]) if options else {}


def _parse_join(spec: str, text: str) -> dict[str, str]:
    """The models of a join, each with its own options, which may hold commas."""
    before, *parts = _JOIN_PART.split(text)
    options = dict(zip(parts[::2], parts[1::2], strict=True))
    if before or not all(options.values()) or len(options) < len(parts) // 2:
        raise UsageError(
            f"model {spec!r}: expected {JOIN}:text=MODEL,draw=MODEL, each part once and with a model's name"
        )
    return options


def _parse_options(spec: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"model {spec!r}: option {pair!r} is not of the form key=value")
        options[key] = value
    return options


def split_revision(name: str) -> tuple[str, str]:
    """A hub id and its revision, "" if none follows; an existing path stands for itself."""
    pinned = _PINNED.fullmatch(name)
    if pinned is None or Path(name).expanduser().exists():
        return name, ""
    return pinned["id"], pinned["revision"]


def split_served_revision(url: str) -> tuple[str, str]:
    """The same for `http://HOST/v1#ORG/NAME@REVISION`, whose address may hold an @ itself."""
    address, hash_sign, name = url.partition("#")
    served, revision = split_revision(name)
    return f"{address}{hash_sign}{served}", revision


def model_folder(name: str) -> Path | None:
    """The absolute path of a model folder; None for any other name."""
    folder = Path(name).expanduser()
    return folder.resolve() if (folder / "config.json").is_file() else None


def refuse_password(spec: str) -> None:
    """Raises UsageError for a model or URL with a password, such as `https://user:password@host` or
    `https://host/v1?key=...`, since commands are recorded. The message does not hold it either."""
    variable = _VARIABLE.search(spec)
    advice = (
        f"put the key into {variable[1]}"
        if variable
        else "put the key into an environment variable and name that with key_env=NAME"
    )
    refuse_userinfo(spec, advice)
    if query := _QUERY.search(spec):
        raise UsageError(
            f"the address of {query[1]} holds a ? and what follows it, which is not part of a base "
            f"URL, and addresses are recorded with the run; leave it out, {advice}"
        )


def refuse_userinfo(address: str, advice: str) -> None:
    """Raises UsageError for an address with a user or a password, which does not hold them."""
    if userinfo := _USERINFO.search(address):
        raise UsageError(
            f"the address of {userinfo[1]} holds a user or a password before the @, and addresses "
            f"are recorded with the run; leave it out, {advice}"
        )
