"""The bodies of Claude on Vertex AI in the types of `anthropic`: its client for Vertex puts the model into the path
and the version of the API into the body, where a version of the caller's own stays (`anthropic.lib.vertex`)."""

from typing import Any, Required, get_type_hints

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from typing_extensions import TypedDict


def _fields(params: type) -> dict[str, Any]:
    fields = get_type_hints(params, include_extras=True)
    del fields["model"]
    return fields | {"anthropic_version": Required[str]}


Body = TypedDict("Body", _fields(MessageCreateParamsNonStreaming), total=False)  # type: ignore[misc]
StreamedBody = TypedDict("StreamedBody", _fields(MessageCreateParamsStreaming), total=False)  # type: ignore[misc]
