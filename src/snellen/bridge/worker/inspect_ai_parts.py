"""Messages of inspect_ai as those of the exchange, with their pictures, sound and videos as files."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path
from typing import Any

from .main import DataMissing, Needs, file_part, media_part

_ROLES = ("system", "user", "assistant")


def read_message(message: Any, folder: Path) -> dict[str, Any]:
    """A `ChatMessage`, or a text as scorers send it. Raises Needs for what no message can hold."""
    if isinstance(message, str):
        return {"role": "user", "parts": [{"type": "text", "text": message}]}
    if message.role not in _ROLES:
        raise Needs(f"a message of the role {message.role!r}, which the exchange does not carry")
    content = message.content
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else [_part(one, folder) for one in content]
    return {"role": message.role, "parts": parts}


def _part(content: Any, folder: Path) -> dict[str, Any]:
    if content.type == "text":
        return {"type": "text", "text": content.text}
    if content.type not in ("image", "audio", "video"):
        raise Needs(f"a part of the kind {content.type!r}, which the exchange does not carry")
    return _media(content.type, getattr(content, content.type), folder)


def _media(kind: str, link: str, folder: Path) -> dict[str, Any]:
    """The bytes as they are: of a data URI or of a file."""
    if link.startswith("data:"):
        head, _, data = link.partition(",")
        media_type = head[len("data:") :].split(";")[0]
        suffix = mimetypes.guess_extension(media_type) or f".{media_type.rpartition('/')[2]}"
        return media_part(folder, kind, base64.b64decode(data), suffix, media_type)
    if "://" in link and not link.startswith("file://"):
        raise DataMissing(f"the {kind} {link} is at an address, and is not fetched")
    path = Path(link.removeprefix("file://"))
    if not path.is_file():
        raise DataMissing(f"the {kind} {path} does not exist")
    return file_part(folder, kind, path, mimetypes.guess_type(path.name)[0] or f"{kind}/*")
