"""What adapters make samples of: parts of messages, with media as files named by their SHA-256, and
cells of rows."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import math
import mimetypes
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .main import DataMissing

ROLES = ("system", "user", "assistant")


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def media_part(folder: Path, kind: str, data: bytes, suffix: str, media_type: str) -> dict[str, str]:
    """A part of a message whose bytes are written to `folder`."""
    path = folder / f"{hashlib.sha256(data).hexdigest()}{suffix}"
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(path)
    return {"type": kind, "path": str(path), "media_type": media_type}


def image_part(folder: Path, image: Any) -> dict[str, str]:
    """A part with a picture of PIL, without loss: the model sees the peer's pixels."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return media_part(folder, "image", buffer.getvalue(), ".png", "image/png")


def file_part(folder: Path, kind: str, path: Path, media_type: str) -> dict[str, str]:
    """A part with a file of the peer as it is: hard link or copy."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    target = folder / f"{digest.hexdigest()}{path.suffix.lower()}"
    if not target.exists():
        try:
            os.link(path, target)
        except OSError:
            draft = target.with_name(f"{target.name}.{os.getpid()}")
            shutil.copyfile(path, draft)
            draft.replace(target)
    return {"type": kind, "path": str(target), "media_type": media_type}


def linked_part(folder: Path, kind: str, link: str) -> dict[str, str]:
    """A part with the bytes of a data URI or of a file as they are. Raises DataMissing."""
    if link.startswith("data:"):
        head, _, data = link.partition(",")
        media_type = head[len("data:") :].split(";")[0]
        suffix = mimetypes.guess_extension(media_type) or f".{media_type.rpartition('/')[2]}"
        try:
            return media_part(folder, kind, base64.b64decode(data), suffix, media_type)
        except binascii.Error as error:
            raise DataMissing(f"the {kind} {link[:40]}... is no base64") from error
    if "://" in link and not link.startswith("file://"):
        raise DataMissing(f"the {kind} {link[:200]} is at an address, and is not fetched")
    path = Path(link.removeprefix("file://"))
    if not path.is_file():
        raise DataMissing(f"the {kind} {path} does not exist")
    return file_part(folder, kind, path, mimetypes.guess_type(path.name)[0] or f"{kind}/*")


def find_fixed(own: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]) -> str:
    """Why a prompt is not the same one with its options in another order: it must hold the same characters, and
    the same media in the same order. "" if it is."""
    text, other = ("\n".join(_all_parts(one, "text")) for one in (own, asked))
    if list(_all_parts(own, "path")) != list(_all_parts(asked, "path")):
        return "its options are pictures, which would change places"
    if text == other:
        return "its prompt does not follow the options of its row"
    return "" if sorted(text) == sorted(other) else "its prompt says more than the options in another order"


def _all_parts(messages: Sequence[Mapping[str, Any]], field: str) -> list[str]:
    return [part[field] for message in messages for part in message["parts"] if field in part]


def row_cells(row: Mapping[str, Any] | None) -> dict[str, str | int | float | bool]:
    """The cells of a row that are text or numbers; a number that JSON does not have is left out."""
    return {
        str(name): value
        for name, value in (row or {}).items()
        if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    }


def label_options(options: Any) -> dict[str, Any]:
    """`options` by letter, as a field of a sample; nothing where there are none, or no letters."""
    if not isinstance(options, Sequence) or isinstance(options, str) or not 0 < len(options) <= 26:
        return {}
    return {"options": {chr(ord("A") + place): str(text) for place, text in enumerate(options)}}
