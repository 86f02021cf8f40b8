"""What the ways to ask have in common: the settings of `generate`, and the reply's text."""

from __future__ import annotations

from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.values import OwnCode, decoding_settings


def generate_settings(adapter: CodeAdapter, settings: Generation) -> dict[str, Any]:
    """Arguments of `generate`. The repetition penalty always is among them: otherwise that of the
    checkpoint's generation_config.json would hold."""
    penalty = {"repetition_penalty": float(settings.repetition_penalty)}
    return penalty | decoding_settings(adapter, settings)


def reply_text(own: OwnCode, tokens: Any) -> str:
    """The text of a reply's tokens, shape (tokens,), without marks such as that of its end."""
    text: str = own.tokenizer.decode(tokens, skip_special_tokens=True)
    return text
