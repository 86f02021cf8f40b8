"""A conversation as messages for chat templates: with a list of parts in each, or with a text."""

from __future__ import annotations

from typing import Any

from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.turns import Conversation


def part_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """The messages of a conversation, that of the system first if there is one. Their contents are
    lists of parts with types; consecutive texts are one, with a line for each."""
    messages: list[dict[str, Any]] = []
    if conversation.system:
        messages.append({"role": "system", "content": conversation.system})
    for turn in conversation.turns:
        parts: list[dict[str, Any]] = []
        for part in turn.parts:
            if not isinstance(part, str):
                parts.append({"type": "image", "image": part})
            elif parts and parts[-1]["type"] == "text":
                before = parts[-1]["text"]
                parts[-1]["text"] = before + ("" if before.endswith("\n") else "\n") + part
            else:
                parts.append({"type": "text", "text": part})
        messages.append({"role": turn.role, "content": parts})
    return messages


def text_messages(adapter: CodeAdapter, conversation: Conversation) -> list[dict[str, str]]:
    """The messages of a conversation, that of the system first if there is one. Their contents are
    texts, with the adapter's marks where pictures stand."""
    messages = [{"role": "system", "content": conversation.system}] if conversation.system else []
    texts = conversation.texts(adapter)
    return messages + [
        {"role": turn.role, "content": text} for turn, text in zip(conversation.turns, texts, strict=True)
    ]
