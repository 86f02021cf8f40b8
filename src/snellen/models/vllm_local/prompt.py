"""Requests as what vLLM is handed: a conversation, and sampling settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from snellen.core.request import Generate, Media, Message, Part, request_digest
from snellen.models.split_batch import Unsupported
from snellen.models.video_frames import VideoFrames

if TYPE_CHECKING:
    from vllm import SamplingParams
    from vllm.renderers import ChatParams


class MediaLoader(Protocol):
    """Loads the media of a conversation."""

    def __call__(self, part: Media) -> dict[str, Any]:
        """The content part of a medium as vLLM's chats have it. Raises MediaError, Unsupported."""
        ...


def conversation(messages: Sequence[Message], load: MediaLoader) -> list[dict[str, Any]]:
    """Messages as vLLM's chats have them; those without media as plain text."""
    return [
        {"role": message.role, "content": _content(message.parts, load) if message.media() else message.text()}
        for message in messages
    ]


def _content(parts: Iterable[Part], load: MediaLoader) -> list[dict[str, Any]]:
    """Parts of a message, consecutive texts joined by line breaks, as `hf/` models have them."""
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Media):
            content.append(load(part))
        elif content and content[-1]["type"] == "text":
            content[-1]["text"] += "\n" + part.text
        else:
            content.append({"type": "text", "text": part.text})
    return content


def image_part(image: Any, digest: str) -> dict[str, Any]:
    """The content part of a decoded image; under its digest vLLM caches what it computes of it."""
    return {"type": "image_pil", "image_pil": image, "uuid": digest}


def video_part(digest: str) -> dict[str, Any]:
    """The place of a video, whose frames are put in after the chat template was applied: vLLM's
    chats take videos by their address, and that would lose the times of sampled frames."""
    return {"type": "video_url", "video_url": {"url": None}, "uuid": digest}


def put_in_videos(prompt: Any, videos: Sequence[VideoFrames]) -> None:
    """Give a rendered prompt its videos, in the order of their places."""
    if videos:
        prompt["multi_modal_data"]["video"] = [
            (video.pixels(), {**video.metadata(), "do_sample_frames": False}) for video in videos
        ]


def chat_params(template_values: dict[str, object], *, continues: bool = False) -> ChatParams:
    """How the chat template is applied: for a reply that begins, or, if it `continues`, after the
    last message, which is an unfinished reply."""
    from vllm.renderers import ChatParams

    return ChatParams(
        chat_template_kwargs={
            **template_values,
            "add_generation_prompt": not continues,
            "continue_final_message": continues,
        }
    )


def generation_params(request: Generate) -> SamplingParams:
    """The sampling settings of a request for text.

    A sampled reply has a seed of its own, derived from the request and the index of its draw, so
    that what else is in flight does not change it.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    settings = request.settings
    sampled = settings.temperature > 0
    seed = int.from_bytes(request_digest(request, "")[:7]) if sampled else None
    return SamplingParams(
        max_tokens=settings.max_new_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p if sampled else 1.0,
        top_k=settings.top_k if sampled else 0,
        seed=seed,
        stop=list(settings.stop) or None,
        logprobs=settings.logprobs or None,
        repetition_penalty=settings.repetition_penalty,
        presence_penalty=settings.presence_penalty,
        structured_outputs=StructuredOutputsParams(json=settings.response_schema) if settings.response_schema else None,
        # Tags of thoughts are special tokens in some tokenizers; replies are decoded by us.
        skip_special_tokens=False,
        spaces_between_special_tokens=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def scoring_params() -> SamplingParams:
    """Settings that score the tokens of a prompt. vLLM generates at least one token, unread."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY
    )


def check_candidates(context: Sequence[int], rows: Sequence[Sequence[int]]) -> int:
    """The length of the longest token prefix that the context shares with all candidates.

    Raises Unsupported if nothing would be left to score, or nothing to score it after.
    """
    from snellen.models.hf.tokenise import shared_prefix_length

    shared = min(shared_prefix_length(context, row) for row in rows)
    if shared < 1:
        raise Unsupported("the candidates' prompts do not begin like the context")
    if any(len(row) <= shared for row in rows):
        raise Unsupported("a candidate has no tokens of its own")
    return shared
