"""One look at a server before anything is spent: address, key and model name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from snellen.core.errors import ModelError, UsageError
from snellen.models.remote.address import Origin
from snellen.models.remote.dialect import mapping
from snellen.models.remote.faults import PAGE, Unanswered
from snellen.models.remote.wire import Wire

_SHOWN = 8
"""Models named in a sentence."""


async def served(wire: Wire) -> list[str]:
    """The models that the server lists (`GET models`). Raises ModelError."""
    try:
        reply = await wire.get("models")
    except Unanswered as refused:
        raise ModelError(str(refused), "request") from refused
    listed = reply.get("data") or reply.get("models")
    found = [mapping(one) for one in listed] if isinstance(listed, list) else []
    names = [one.get("id") or one.get("name") for one in found]
    return [str(name).removeprefix("models/") for name in names if name]


async def only_model(wire: Wire, origin: Origin) -> str:
    """The one model that a server has. Raises UsageError for none, several, or no answer."""
    try:
        names = await served(wire)
    except ModelError as error:
        sentence = explained(error, origin)
        if error.kind not in ("connection", "authentication"):
            sentence += f"; with a name no list is needed: {_spec(origin, '<model>')}"
        raise UsageError(sentence) from error
    finally:
        await wire.close()
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError(f"{origin.base_url} lists no models; name one: {_spec(origin, '<model>')}")
    raise UsageError(
        f"{origin.base_url} serves {_listed(names)}; name one: {_spec(origin, names[0])}"
    )


async def wrong_name(wire: Wire, origin: Origin, model: str) -> str | None:
    """A sentence where the server lists its models and this is none of them."""
    try:
        names = await served(wire)
    except ModelError:
        return None
    if not names or model in names:
        return None
    near = difflib.get_close_matches(model, names, n=_SHOWN, cutoff=0.5) or names
    return f"{origin.base_url} has no model {model!r}; it serves {_listed(near, len(names))}"


def explained(error: ModelError, origin: Origin) -> str:
    """What went wrong and what to do, in one sentence."""
    if error.kind == "authentication":
        if not origin.key_env:
            return (
                f"{origin.base_url} wants a key ({error}); put it into an environment variable "
                "and name that with the option key_env=NAME"
            )
        return (
            f"{origin.provider} refuses the key in {' or '.join(origin.key_env)} ({error}); "
            "set one that is valid and paid for"
        )
    if error.kind == "connection":
        return (
            f"{origin.base_url} cannot be reached ({error}); start the server, or correct the "
            "address"
        )
    if "has moved to" in str(error):
        return f"{origin.base_url} is not the address of the API any more ({error}); correct it"
    if any(sign in str(error) for sign in ("answers 404", "answers 405", PAGE)):
        return (
            f"{origin.base_url} is not the address of an API, or has no such model ({error}); "
            "correct the URL, which often ends in /v1, or the model's name"
        )
    return f"{origin.base_url}: {error}"


def _spec(origin: Origin, model: str) -> str:
    if origin.provider in ("http", "https"):
        return f"{origin.base_url}#{model}"
    return f"{origin.provider}/{model}"


def _listed(names: Sequence[str], total: int | None = None) -> str:
    total = len(names) if total is None else total
    more = f" and {total - _SHOWN} more" if total > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
