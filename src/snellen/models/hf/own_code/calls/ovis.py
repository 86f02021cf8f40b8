"""Ovis 1.6 and 2: `preprocess_inputs` cuts the pictures and sets their places in the prompt, then
`generate` returns the new tokens alone.

Source: the model card of https://huggingface.co/AIDC-AI/Ovis2-34B, whose example of three pictures
has 4 parts for each, and the wrapper of VLMEvalKit (vlmeval/vlm/ovis/ovis.py, class Ovis2), which
divides 12 parts among them.
"""

from __future__ import annotations

from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode

_SPEAKERS = {"user": "human", "assistant": "gpt"}
_PARTS_OF_ONE = 9
_PARTS_OF_ALL = 12


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation. One picture is cut into at most 9 parts, several share 12."""
    images = conversation.images
    parts = _PARTS_OF_ONE if len(images) <= 1 else max(1, _PARTS_OF_ALL // len(images))
    _, tokens, pixels = own.model.preprocess_inputs(sides(adapter, conversation), images, max_partition=parts)
    return generate_reply(own, adapter, settings, tokens, pixels)


def sides(adapter: CodeAdapter, conversation: Conversation) -> list[dict[str, str]]:
    """The turns as Ovis' code takes them. The system's text stands in front of the first question:
    not each of its language models takes one."""
    conversation = conversation.with_system_first()
    return [
        {"from": _SPEAKERS[turn.role], "value": text}
        for turn, text in zip(conversation.turns, conversation.texts(adapter), strict=True)
    ]


def generate_reply(own: OwnCode, adapter: CodeAdapter, settings: Generation, tokens: Any, pixels: Any) -> str:
    """The reply to a prompt of tokens, shape (tokens,), and the pixels of all parts of pictures,
    shape (parts, 3, height, width); None without pictures."""
    model = own.model
    padding = model.get_text_tokenizer().pad_token_id
    tokens = tokens.unsqueeze(0).to(own.device)
    reply = model.generate(
        tokens,
        pixel_values=[None if pixels is None else pixels.to(own.device, dtype=model.dtype)],
        attention_mask=tokens != padding,
        eos_token_id=model.generation_config.eos_token_id,
        pad_token_id=padding,
        use_cache=True,
        **generate_settings(adapter, settings),
    )
    return reply_text(own, reply[0])
