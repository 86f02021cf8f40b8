"""Checks that models and judges answer before anything is spent."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

from snellen.core.errors import UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.model import CheckableModel, Model, RemoteModel
from snellen.core.output import Failure, Output
from snellen.core.request import CLIP, DRAWER, Compare, Generate, Generation, Ref, Request, Text, user
from snellen.engine.loop.request_broker import ModelClient, disconnect
from snellen.store.responses import ResponseStore

PROBE = Generate(
    messages=(user(Text("Reply with the single letter A.")),),
    ref=Ref("preflight"),
    settings=Generation(max_new_tokens=16),
    choices=("A",),
)


def check_roles(roles: Mapping[str, Model]) -> None:
    """Send one small request to each extractor and judge, or call its own check, if it has one.
    A model that draws is sent nothing.

    Raises UsageError if one fails; the content of its reply does not matter.
    """
    for role, model in roles.items():
        if isinstance(model, CheckableModel):
            run_coroutine(model.check())
            continue
        if role == DRAWER:
            continue  # a picture takes too long for a probe
        output = run_coroutine(_ask_probe(model, role))
        if isinstance(output, Failure):
            raise UsageError(
                f"the {role} {model.identity.name} does not answer: {output.message}; nothing was asked yet"
            )


def check_models(models: Iterable[Model], responses: ResponseStore, *, fresh: bool = False) -> None:
    """Check each model behind a server, unless the store has replies of it.

    A model with stored replies was reached before, and the run may need nothing else of it; with
    `fresh`, stored replies do not count. Raises UsageError if a model cannot answer.
    """
    for model in models:
        if isinstance(model, CheckableModel) and (fresh or not responses.has_replies_of(model.identity)):
            run_coroutine(model.check())


async def _ask_probe(model: Model, role: str) -> Output:
    with ResponseStore(None) as empty_store:
        client = ModelClient(model, empty_store)
        try:
            return await client.answer(_build_probe(model, role))
        finally:
            client.close()
            if isinstance(model, RemoteModel):
                await model.close()
            await disconnect(model)


def _build_probe(model: Model, role: str) -> Request:
    """A short question; for a model that compares images, an image and itself."""
    if role != CLIP and not model.capabilities.similarity:
        return PROBE
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (8, 8), "white").save(out, "PNG")
    data = out.getvalue()
    digest = digest_bytes(data)
    return Compare(picture=digest, candidates=(digest,), ref=Ref("preflight"), media={digest: InlineSource(data)})
