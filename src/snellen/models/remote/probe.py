"""Checks of a server before anything is spent: its models, its prompts, and advice on errors."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import urlencode

import msgspec
import pybase64

from snellen.core.errors import ModelError, UsageError
from snellen.core.media import decode_image, image_size, pixel_digest
from snellen.core.model import RenderedPrompt
from snellen.core.request import Generate, Request
from snellen.models.remote.address import ServerOrigin, provider_label
from snellen.models.remote.credentials import NO_KEY
from snellen.models.remote.dialect import Dialect, RemoteModelConfig, Reply, dict_or_empty, list_or_empty
from snellen.models.remote.errors import HTML_PAGE, ReplyBlocked
from snellen.models.remote.http import PROXY, ServerClient
from snellen.models.remote.json_reply import quote
from snellen.models.remote.media import EncodedMedia, encode_body
from snellen.models.remote.profile import URL_SCHEMES
from snellen.settings import max_image_pixels

_ROOT = "../"
"""/tokenize and /detokenize are siblings of /v1, not below it."""


async def render_prompt(
    request: Request,
    media: Mapping[str, EncodedMedia],
    config: RemoteModelConfig,
    dialect: Dialect,
    client: ServerClient,
) -> RenderedPrompt:
    """Sizes and pixels of the images as sent, and the prompt if the server has vLLM's paths
    `/tokenize` (for messages) and `/detokenize`."""
    sizes, pixels = [], []
    for part in (part for message in request.messages for part in message.media()):
        data = pybase64.b64decode(media[part.digest].data)
        sizes.append(image_size(data, max_image_pixels()))
        pixels.append(pixel_digest(decode_image(data, max_image_pixels())))
    text = None
    if isinstance(request, Generate) and config.profile.tokenize:
        text = await _detokenised_prompt(dialect.build_call(request, media, config).body, media, client)
    return RenderedPrompt(text, tuple(sizes), tuple(pixels))


async def _detokenised_prompt(
    body: Mapping[str, object], media: Mapping[str, EncodedMedia], client: ServerClient
) -> str | None:
    try:
        request = {"model": body["model"], "messages": body["messages"]}
        request["add_generation_prompt"] = True
        reply = await client.post(f"{_ROOT}tokenize", encode_body(request, media))
        tokens = {"model": body["model"], "tokens": reply["tokens"]}
        prompt = (await client.post(f"{_ROOT}detokenize", msgspec.json.encode(tokens)))["prompt"]
    except (ModelError, ReplyBlocked, KeyError):
        return None
    return prompt if isinstance(prompt, str) else None


_MAX_NAMES = 8
"""Models that a sentence lists."""
_MAX_PAGES = 20
"""Pages that are read of a list of models."""


async def list_models(client: ServerClient) -> list[str]:
    """Names of the models that the server lists (`GET models`). Raises ModelError."""
    return _names(await model_entries(client))


def _names(entries: Iterable[Reply]) -> list[str]:
    names = (entry.get("id") or entry.get("name") for entry in entries)
    return [quote(name).removeprefix("models/") for name in names if name]


async def model_entries(client: ServerClient) -> list[Reply]:
    """Entries of the server's list of models, over all its pages. Raises ModelError."""
    collected: list[Reply] = []
    page = ""
    for _ in range(_MAX_PAGES):
        try:
            reply = await client.get(f"models{page}")
        except ReplyBlocked as refused:
            raise ModelError(str(refused), "request") from refused
        page_entries = reply.get("data") or reply.get("models")
        collected += [dict_or_empty(entry) for entry in page_entries] if isinstance(page_entries, list) else []
        page = _next_page(reply)
        if not page:
            break
    return collected


def _next_page(reply: Reply) -> str:
    """Query for the next page, as Anthropic and Google name it; "" for the last page."""
    if reply.get("has_more") is True and reply.get("last_id"):
        return "?" + urlencode({"limit": 1000, "after_id": str(reply["last_id"])})
    if reply.get("nextPageToken"):
        return "?" + urlencode({"pageSize": 1000, "pageToken": str(reply["nextPageToken"])})
    return ""


async def only_model(client: ServerClient, origin: ServerOrigin) -> str:
    """The only model of a server. Raises UsageError if it lists none, more than one, or fails."""
    try:
        names = await list_models(client)
    except ModelError as error:
        sentence = explain_error(error, origin)
        if error.kind not in ("connection", "authentication"):
            sentence += f"; with a name no list is needed: {_spec(origin, '<model>')}"
        raise UsageError(sentence) from error
    finally:
        await client.close()
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError(f"{origin.base_url} lists no models; name one: {_spec(origin, '<model>')}")
    raise UsageError(f"{origin.base_url} serves {_join_names(names)}; name one: {_spec(origin, names[0])}")


async def explain_wrong_name(
    client: ServerClient, origin: ServerOrigin, model: str, answered: Collection[str] = ()
) -> str | None:
    """A sentence if the server lists its models without this one, and with those that `answered`
    instead of it; else None."""
    try:
        entries = await model_entries(client)
    except ModelError:
        return None
    names = _names(entries)
    aliases = {alias for entry in entries for alias in list_or_empty(entry.get("aliases"))}
    if not names or model in names or model in aliases or not set(answered) <= set(names):
        return None
    near = difflib.get_close_matches(model, names, n=_MAX_NAMES, cutoff=0.5) or names
    return f"{origin.base_url} has no model {model!r}; it serves {_join_names(near, len(names))}"


_SAMPLING_FIELDS = ("temperature", "top_p", "top_k", "repetition_penalty", "presence_penalty")


def is_sampling_refusal(error: ModelError) -> bool:
    """Whether the model rejects a sampling setting."""
    return any(setting in str(error) for setting in _SAMPLING_FIELDS)


_SCHEMA_FIELDS = ("response_format", "json_schema", "responsejsonschema", "output_config", "outputconfig", "textformat")


def with_schema_advice(error: ModelError, schema: str) -> ModelError:
    """The error, with what to do if the server refuses the schema of the reply that was sent."""
    if not schema or error.kind != "request" or not any(name in str(error).lower() for name in _SCHEMA_FIELDS):
        return error
    return ModelError(f"{error}; the server takes no such schema of the reply: schema=no sends none", error.kind)


def explain_error(error: ModelError, origin: ServerOrigin) -> str:
    """Explain an error and what to do, in one sentence."""
    if NO_KEY in str(error):
        return f"{provider_label(origin)}: {error}; log in with that program"
    if error.kind == "authentication":
        if not origin.key_env:
            return (
                f"{origin.base_url} wants a key ({error}); put it into an environment variable "
                "and name that with the option key_env=NAME"
            )
        return (
            f"{provider_label(origin)} refuses the key in {' or '.join(origin.key_env)} ({error}); "
            "set one that is valid and paid for"
        )
    if error.kind == "connection":
        advice = "check the network, and whether HTTPS_PROXY must be set"
        if PROXY in str(error):
            advice = "correct that variable, or name the server's host in NO_PROXY"
        elif origin.is_custom:
            advice = "start the server, or correct the address"
        return f"{origin.base_url} cannot be reached ({error}); {advice}"
    if "has moved to" in str(error):
        return f"{origin.base_url} is not the address of the API any more ({error}); correct it"
    if any(sign in str(error) for sign in ("answers 404", "answers 405", HTML_PAGE)):
        return (
            f"{origin.base_url} is not the address of an API, or has no such model ({error}); "
            "correct the URL, which often ends in /v1, or the model's name"
        )
    if is_sampling_refusal(error):
        advice = "the option sampling=no sends neither temperature nor top_p, top_k and penalties"
        return f"{origin.base_url}: {error}; {advice}"
    return f"{origin.base_url}: {error}"


def _spec(origin: ServerOrigin, model: str) -> str:
    if origin.provider in URL_SCHEMES:
        return f"{origin.base_url}#{model}"
    return f"{origin.provider}/{model}"


def _join_names(names: Sequence[str], total: int | None = None) -> str:
    """Up to `_MAX_NAMES` names, and how many of `total` that leaves out."""
    shown = names[:_MAX_NAMES]
    left_out = (len(names) if total is None else total) - len(shown)
    return ", ".join(shown) + (f" and {left_out} more" if left_out else "")
