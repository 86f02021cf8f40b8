"""Ovis-U1: `preprocess_inputs` takes sides as that of Ovis 2, and returns the pictures' grids too.

Source: the wrapper of VLMEvalKit (vlmeval/vlm/ovis/ovis.py, class OvisU1), and its limits of
pixels.
"""

from __future__ import annotations

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.calls.ovis import sides
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation. The adapter's `options` are the limits of pixels."""
    model = own.model
    _, tokens, pixels, grids = model.preprocess_inputs(
        sides(adapter, conversation), conversation.images or None, enable_thinking=bool(own.thinking), **adapter.options
    )
    words = model.get_text_tokenizer()
    tokens = tokens.reshape(1, -1).to(own.device)
    reply = model.generate(
        tokens,
        pixel_values=None if pixels is None else pixels.to(own.device, dtype=model.dtype),
        grid_thws=None if grids is None else grids.to(own.device),
        attention_mask=tokens != words.pad_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        use_cache=True,
        **generate_settings(adapter, settings),
    )
    return reply_text(own, reply[0])
