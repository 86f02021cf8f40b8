"""Pinned revisions in names: `hf/ORG/NAME@COMMIT`, `http://HOST/v1#ORG/NAME@COMMIT`."""

from __future__ import annotations

import re
from pathlib import Path

REVISION = "revision"
"""The option that the part after the @ stands for."""
HUB_PROVIDERS = frozenset(
    {
        "hf", "clip", "diffusers", "vllm", "vllm-local", "sglang", "lmdeploy", "transformers",
        "environment", "server",
    }
)  # fmt: skip
"""Providers whose models are named by their id on the Hugging Face hub."""
SERVERS_OF_HUB_MODELS = HUB_PROVIDERS - {"hf", "clip", "diffusers"}
"""Those that are servers, or their engine in this process: they have no folders of their own."""
_PINNED = re.compile(r"(?P<id>[^@]+)@(?P<revision>[A-Za-z0-9][A-Za-z0-9._/-]*)")


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
