"""Valley2 and Valley3: the processor takes a conversation and pictures in one dict, and prepares
the pictures for two encoders.

Source: the wrappers of VLMEvalKit (vlmeval/vlm/valley/valley2.py and valley3.py), with their limits
of pixels, which all pictures share, and processing_valley.py of
https://huggingface.co/bytedance-research/Valley2-DPO.
"""

from __future__ import annotations

from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.calls.messages import text_messages
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation. The adapter's `options` are the limits of pixels."""
    images = conversation.images
    shares = {name: limit // max(1, len(images)) for name, limit in adapter.options.items()}
    thinking = {} if own.thinking is None else {"enable_thinking": own.thinking}
    inputs = own.processor(
        {"conversations": text_messages(adapter, conversation), "images": images}, **shares, **thinking
    )
    tokens = inputs["input_ids"].to(own.device)
    output = own.model.generate(
        input_ids=tokens,
        images=_to_device(inputs["images"], own),
        image_sizes=inputs["image_sizes"],
        pixel_values=_to_device(inputs["pixel_values"], own),
        image_grid_thw=inputs["image_grid_thw"].to(own.device),
        **generate_settings(adapter, settings),
    )
    return reply_text(own, output[0, tokens.shape[1] :])


def _to_device(pixels: Any, own: OwnCode) -> Any:
    """Pixels, or lists of them, on the model's device and in its dtype."""
    if pixels is None:
        return None
    if isinstance(pixels, list):
        return [_to_device(each, own) for each in pixels]
    return pixels.to(own.device, dtype=own.model.dtype)
