"""Messages whose content is a list of parts with types, as chat templates of processors take."""

from __future__ import annotations

from typing import Any

from snellen.models.hf.own_code.turns import Conversation


def part_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """The messages of a conversation, that of the system first if there is one."""
    messages: list[dict[str, Any]] = []
    if conversation.system:
        messages.append({"role": "system", "content": conversation.system})
    for turn in conversation.turns:
        parts = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image", "image": part}
            for part in turn.parts
        ]
        messages.append({"role": turn.role, "content": parts})
    return messages
