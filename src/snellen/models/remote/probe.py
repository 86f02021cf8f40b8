"""One look at a server before anything is spent: address, key and model name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

import msgspec
import pybase64

from snellen.core.errors import ModelError, UsageError
from snellen.core.media import picture_size
from snellen.core.message import Media
from snellen.core.model import Rendered
from snellen.core.request import Generate, Request
from snellen.models.remote.address import Origin, named
from snellen.models.remote.dialect import Asked, Dialect, Reply, mapping
from snellen.models.remote.errors import PAGE, Unanswered
from snellen.models.remote.http import PROXY, Wire
from snellen.models.remote.json_reply import quoted
from snellen.models.remote.media import Shown, written
from snellen.models.remote.profile import URLS
from snellen.settings import most_pixels

_ROOT = "../"
"""The two paths stand beside /v1, not below it."""


async def rendered(
    request: Request, pictures: Mapping[str, Shown], asked: Asked, dialect: Dialect, wire: Wire
) -> Rendered:
    """Sizes of the pictures as they are sent, and the prompt where the server has vLLM's paths
    `/tokenize` (of messages) and `/detokenize`."""
    sizes = []
    for part in _media(request):
        data = pybase64.b64decode(pictures[part.digest].data)
        sizes.append(picture_size(data, most_pixels()))
    text = None
    if isinstance(request, Generate) and asked.profile.tokenize:
        text = await _prompt(dialect.call(request, pictures, asked).body, pictures, wire)
    return Rendered(text, tuple(sizes))


async def _prompt(
    body: Mapping[str, object], pictures: Mapping[str, Shown], wire: Wire
) -> str | None:
    try:
        asked = {"model": body["model"], "messages": body["messages"]}
        asked["add_generation_prompt"] = True
        found = await wire.post(f"{_ROOT}tokenize", written(asked, pictures))
        tokens = {"model": body["model"], "tokens": found["tokens"]}
        prompt = (await wire.post(f"{_ROOT}detokenize", msgspec.json.encode(tokens)))["prompt"]
    except (ModelError, Unanswered, KeyError):
        return None
    return prompt if isinstance(prompt, str) else None


def _media(request: Request) -> Iterable[Media]:
    return (part for message in request.messages for part in message.media())


_SHOWN = 8
"""Models named in a sentence."""
_PAGES = 20
"""Most pages that are read of a list of models."""


async def served(wire: Wire) -> list[str]:
    """The models that the server lists (`GET models`), over all pages of the list. Raises
    ModelError."""
    several = (one.get("id") or one.get("name") for one in await entries(wire))
    return [quoted(name).removeprefix("models/") for name in several if name]


async def entries(wire: Wire) -> list[Reply]:
    """What the server's list says of each model, over all its pages. Raises ModelError."""
    found: list[Reply] = []
    page = ""
    for _ in range(_PAGES):
        try:
            reply = await wire.get(f"models{page}")
        except Unanswered as refused:
            raise ModelError(str(refused), "request") from refused
        listed = reply.get("data") or reply.get("models")
        found += [mapping(one) for one in listed] if isinstance(listed, list) else []
        page = _next_page(reply)
        if not page:
            break
    return found


def _next_page(reply: Reply) -> str:
    """The query for what follows, in the words of Anthropic's and Google's own lists."""
    if reply.get("has_more") is True and reply.get("last_id"):
        return "?" + urlencode({"limit": 1000, "after_id": str(reply["last_id"])})
    if reply.get("nextPageToken"):
        return "?" + urlencode({"pageSize": 1000, "pageToken": str(reply["nextPageToken"])})
    return ""


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
    if origin.provider == "azure":
        # Its list is of models; a deployment has a name of its own.
        return None
    try:
        names = await served(wire)
    except ModelError:
        return None
    if not names or model in names:
        return None
    near = difflib.get_close_matches(model, names, n=_SHOWN, cutoff=0.5) or names
    return f"{origin.base_url} has no model {model!r}; it serves {_listed(near, len(names))}"


def refuses_a_setting(error: ModelError) -> bool:
    """Whether the model does not take how it was to be sampled."""
    return any(setting in str(error) for setting in ("temperature", "top_p"))


def explained(error: ModelError, origin: Origin) -> str:
    """What went wrong and what to do, in one sentence."""
    if error.kind == "authentication":
        if not origin.key_env:
            return (
                f"{origin.base_url} wants a key ({error}); put it into an environment variable "
                "and name that with the option key_env=NAME"
            )
        return (
            f"{named(origin)} refuses the key in {' or '.join(origin.key_env)} ({error}); "
            "set one that is valid and paid for"
        )
    if error.kind == "connection":
        how = "check the network, and whether HTTPS_PROXY must be set"
        if PROXY in str(error):
            how = "correct that variable, or name the server's host in NO_PROXY"
        elif origin.own:
            how = "start the server, or correct the address"
        return f"{origin.base_url} cannot be reached ({error}); {how}"
    if "has moved to" in str(error):
        return f"{origin.base_url} is not the address of the API any more ({error}); correct it"
    if any(sign in str(error) for sign in ("answers 404", "answers 405", PAGE)):
        return (
            f"{origin.base_url} is not the address of an API, or has no such model ({error}); "
            "correct the URL, which often ends in /v1, or the model's name"
        )
    if refuses_a_setting(error):
        how = "the option sampling=no sends neither temperature nor top_p"
        return f"{origin.base_url}: {error}; {how}"
    return f"{origin.base_url}: {error}"


def _spec(origin: Origin, model: str) -> str:
    if origin.provider in URLS:
        return f"{origin.base_url}#{model}"
    return f"{origin.provider}/{model}"


def _listed(names: Sequence[str], total: int | None = None) -> str:
    total = len(names) if total is None else total
    more = f" and {total - _SHOWN} more" if total > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
