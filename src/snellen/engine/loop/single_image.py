"""Models that take one image answer questions of several with the first, their texts joined.

That is VLMEvalKit's policy (Duan et al., arXiv 2407.11691, Section 3.2), noted with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from snellen.core.flow import Flow, change_requests
from snellen.core.model import Model, abilities
from snellen.core.record import Record
from snellen.core.request import Compare, Request
from snellen.core.sample import Sample
from snellen.engine.loop.request_broker import MAIN
from snellen.models.image_policy import first_image


def takes_one_image(model: Model) -> bool:
    """Whether a model takes images, but one of them only. A recording takes whatever it has."""
    capabilities = model.capabilities
    takes_images = "image" in capabilities.inputs
    return takes_images and not capabilities.many_images and not abilities(model).by_row


def with_first_image(flow: Callable[[Sample], Flow]) -> Callable[[Sample], Flow]:
    """A flow whose requests to the model have the first of their images alone."""
    return lambda sample: change_requests(flow(sample), _keep_first_image)


def first_image_remark(records: Iterable[Record]) -> str:
    """How many questions of several images were asked with the first alone, as a sentence; "" if
    none was."""
    several = sum(len(record.media) > 1 and record.outcome != "unsupported" for record in records)
    if not several:
        return ""
    return (
        f"the model takes one image: {several} questions of several were asked with the first alone, their texts joined"
    )


def _keep_first_image(request: Request) -> Request:
    """The request with the first of its images; a comparison of drawn images, and a request to
    another model, as it is."""
    if request.to != MAIN or isinstance(request, Compare):
        return request
    if sum(len(message.media()) for message in request.messages) < 2:
        return request
    messages = first_image(request.messages)
    kept = {part.digest for message in messages for part in message.media()}
    media = {digest: source for digest, source in request.media.items() if digest in kept}
    return replace(request, messages=messages, media=media)
