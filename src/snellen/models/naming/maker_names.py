"""The name by which the makers of a model know it, whatever serves it."""

from __future__ import annotations

from snellen.core.model import Identity
from snellen.models.naming.catalog import find_entry
from snellen.models.naming.registry import full_name
from snellen.models.naming.revisions import SERVERS_OF_HUB_MODELS

GENERIC_PROVIDER = "server"
"""Provider of a server of which only the protocol is known; its models are opened by URL."""


def maker_name(spec: str, identity: Identity) -> str:
    """`provider/org/name` of a model that was opened by `spec`: its hub id also behind a server,
    and for a server that calls it by a name of the catalog (`Qwen2.5-VL-7B-Instruct`)."""
    full = full_name(spec, identity)
    if identity.provider == GENERIC_PROVIDER:
        full = f"{GENERIC_PROVIDER}/{identity.name.removeprefix('hf/')}"
    elif full.partition(":")[0] == identity.name:
        full = f"{identity.provider}/{identity.name}"
    if identity.provider in SERVERS_OF_HUB_MODELS and full.count("/") == 1:
        entry = find_entry(full.partition("/")[2])
        if entry is not None and entry.provider == "hf":
            return entry.spec
    return full
