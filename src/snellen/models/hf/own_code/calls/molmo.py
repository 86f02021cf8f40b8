"""Molmo: `process` of its processor joins a picture and a text, `generate_from_batch` goes on.

Source: the model card of https://huggingface.co/allenai/Molmo-7B-D-0924, and preprocessing_molmo.py
and modeling_molmo.py there.
"""

from __future__ import annotations

from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode

_END = "<|endoftext|>"


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation, whose picture stands in front of everything."""
    from transformers import GenerationConfig

    texts = conversation.with_system_first().texts(adapter)
    inputs: dict[str, Any] = own.processor.process(images=conversation.images or None, text=_join_turns(texts))
    batch = {name: value.unsqueeze(0).to(own.device) for name, value in inputs.items()}
    if "images" in batch:
        batch["images"] = batch["images"].to(own.model.dtype)
    output = own.model.generate_from_batch(
        batch, GenerationConfig(stop_strings=_END, **generate_settings(adapter, settings)), tokenizer=own.tokenizer
    )
    return reply_text(own, output[0, batch["input_ids"].shape[1] :])


def _join_turns(texts: list[str]) -> str:
    """The text that becomes a conversation when the processor writes `User:` in front of it and
    `Assistant:` behind it: the marks between its turns are the processor's own."""
    text = texts[0]
    for answer, question in zip(texts[1::2], texts[2::2], strict=True):
        text += f" Assistant: {answer} User: {question}"
    return text
