"""Ovis 2.5: `preprocess_inputs` takes messages of parts, `generate` the grids of the pictures too.

Source: modeling_ovis2_5.py of https://huggingface.co/AIDC-AI/Ovis2.5-2B, and its model card.
"""

from __future__ import annotations

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.calls.messages import part_messages
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation, with thoughts in front of it if thinking=yes."""
    model = own.model
    tokens, pixels, grids = model.preprocess_inputs(
        messages=part_messages(conversation), add_generation_prompt=True, enable_thinking=bool(own.thinking)
    )
    reply = model.generate(
        inputs=tokens.to(own.device),
        pixel_values=None if pixels is None else pixels.to(own.device, dtype=model.dtype),
        grid_thws=None if grids is None else grids.to(own.device),
        eos_token_id=model.text_tokenizer.eos_token_id,
        pad_token_id=model.text_tokenizer.pad_token_id,
        **generate_settings(adapter, settings),
    )
    return reply_text(own, reply[0])
