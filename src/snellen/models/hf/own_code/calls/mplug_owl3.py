"""mPLUG-Owl3: its processor, which the model makes, joins messages and pictures; `generate` returns
the reply's text.

Source: the model card of https://huggingface.co/mPLUG/mPLUG-Owl3-7B-240728, and its
modeling_mplugowl3.py and processing_mplugowl3.py.
"""

from __future__ import annotations

from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> Any:
    """The reply to a conversation, in a list. The last message, which is empty, is the answer's."""
    first = conversation.with_system_first()
    messages = [
        {"role": turn.role, "content": text} for turn, text in zip(first.turns, first.texts(adapter), strict=True)
    ]
    processor = own.model.init_processor(own.tokenizer)
    images = [image.convert("RGB") for image in conversation.images]
    inputs = processor([*messages, {"role": "assistant", "content": ""}], images=images or None, videos=None)
    inputs.to(own.device)
    if images:
        inputs["pixel_values"] = inputs["pixel_values"].to(own.model.dtype)
    return own.model.generate(
        **inputs, tokenizer=own.tokenizer, decode_text=True, **generate_settings(adapter, settings)
    )
