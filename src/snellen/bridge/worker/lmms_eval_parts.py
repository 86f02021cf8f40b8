"""Messages of lmms-eval's tasks as those of the exchange: pictures without loss, videos and sound as
the files that they are."""

from __future__ import annotations

import base64
import importlib
import io
import mimetypes
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .main import DataMissing, Fault, file_part, image_part, media_part

_PNG_MODES = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")


class ClipMissing(Exception):
    """A part of a message that the exchange cannot carry; the text says what it is."""


def read_messages(messages: Sequence[Any], folder: Path) -> list[dict[str, Any]]:
    """Messages as `doc_to_messages` returns them. lmms-eval's own type checks them, as its models do."""
    protocol = importlib.import_module("lmms_eval.protocol")
    return [
        {"role": message.role, "parts": [_part(content, folder) for content in message.content]}
        for message in protocol.ChatMessages(messages=list(messages)).messages
    ]


def _part(content: Any, folder: Path) -> dict[str, Any]:
    if content.type == "text":
        return {"type": "text", "text": content.text}
    if content.type == "image":
        return _picture(content.url, folder)
    if content.type == "audio" or (isinstance(content.url, Mapping) and "array" in content.url):
        # lmms-eval takes a sound that does not say what it is for a video.
        return _sound(content.url, folder)
    start, end = getattr(content, "start_time", None), getattr(content, "end_time", None)
    if isinstance(content.url, Mapping) or start is not None or end is not None:
        raise ClipMissing("a part of a video between two times, which the exchange does not carry")
    return _file("video", content.url, folder)


def _picture(value: Any, folder: Path) -> dict[str, Any]:
    pil = importlib.import_module("PIL.Image")
    if isinstance(value, pil.Image):
        return image_part(folder, value if value.mode in _PNG_MODES else value.convert("RGB"))
    if isinstance(value, Mapping) and value.get("bytes"):
        return image_part(folder, pil.open(io.BytesIO(value["bytes"])))
    if isinstance(value, str) and value.startswith("data:"):
        head, _, data = value.partition(",")
        media_type = head[len("data:") :].split(";")[0]
        return media_part(
            folder, "image", base64.b64decode(data), mimetypes.guess_extension(media_type) or "", media_type
        )
    return _file("image", value, folder)


def _sound(value: Any, folder: Path) -> dict[str, Any]:
    if isinstance(value, str):
        return _file("audio", value, folder)
    if not isinstance(value, Mapping) or "array" not in value:
        raise Fault(f"a sound of the type {type(value).__name__} cannot be read")
    array = importlib.import_module("numpy").asarray(value["array"], dtype="<f4")
    channels = 1 if array.ndim == 1 else array.shape[0]
    data = (array if array.ndim == 1 else array.T).tobytes()
    return media_part(folder, "audio", _wave(data, int(value["sampling_rate"]), channels), ".wav", "audio/wav")


def _wave(data: bytes, rate: int, channels: int) -> bytes:
    """A WAV file with samples of 32-bit floating point (format 3), as they were decoded."""
    form = struct.pack("<HHIIHH", 3, channels, rate, rate * channels * 4, channels * 4, 32)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _file(kind: str, value: Any, folder: Path) -> dict[str, Any]:
    if not isinstance(value, str | Path):
        raise ClipMissing(f"a {kind} as {type(value).__name__}, which the exchange does not carry")
    if str(value).startswith(("http://", "https://")):
        raise DataMissing(f"the {kind} {value} is at an address, and is not fetched")
    path = Path(value)
    if not path.is_file():
        raise DataMissing(f"the {kind} {path} does not exist")
    media_type = mimetypes.guess_type(path.name)[0] or f"{kind}/*"
    return file_part(folder, kind, path, media_type)
