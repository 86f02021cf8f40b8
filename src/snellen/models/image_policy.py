"""Messages with several images for models that take one."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.request import Message, Text


def first_image(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Remove all images but the first; the texts of each message are joined."""
    kept: list[Message] = []
    seen = False
    for message in messages:
        media = message.media()
        first = () if seen else media[:1]
        seen = seen or bool(media)
        text = message.text()
        kept.append(Message(message.role, (*first, *([Text(text)] if text else []))))
    return tuple(kept)
