"""Messages of lmms-eval's tasks as those of the exchange: pictures without loss, videos and sound as
the files that they are."""

from __future__ import annotations

import importlib
import io
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .main import Needs
from .message_parts import image_part, linked_part, media_part, text_part

_PNG_MODES = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")


def read_messages(messages: Sequence[Any], folder: Path) -> list[dict[str, Any]]:
    """Messages as `doc_to_messages` returns them. lmms-eval's own type checks them, as its models do.
    Raises Needs for what the exchange cannot carry, DataMissing."""
    protocol = importlib.import_module("lmms_eval.protocol")
    return [
        {"role": message.role, "parts": [_part(content, folder) for content in message.content]}
        for message in protocol.ChatMessages(messages=list(messages)).messages
    ]


def _part(content: Any, folder: Path) -> dict[str, Any]:
    if content.type == "text":
        return text_part(content.text)
    value, kind = content.url, content.type
    if isinstance(value, Mapping) and "array" in value:
        # lmms-eval takes a sound that does not say what it is for a video.
        return _sound(value, folder)
    if kind == "video" and (getattr(content, "start_time", None), getattr(content, "end_time", None)) != (None, None):
        raise Needs("a part of a video between two times, which the exchange does not carry")
    if kind == "image":
        pil = importlib.import_module("PIL.Image")
        if isinstance(value, Mapping) and value.get("bytes"):
            value = pil.open(io.BytesIO(value["bytes"]))
        if isinstance(value, pil.Image):
            return image_part(folder, value if value.mode in _PNG_MODES else value.convert("RGB"))
    if not isinstance(value, str | Path):
        raise Needs(f"a {kind} as {type(value).__name__}, which the exchange does not carry")
    return linked_part(folder, kind, str(value))


def _sound(value: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A WAV file with samples of 32-bit floating point (format 3), as they were decoded."""
    array = importlib.import_module("numpy").asarray(value["array"], dtype="<f4")
    rate, channels = int(value["sampling_rate"]), 1 if array.ndim == 1 else array.shape[0]
    data = (array if array.ndim == 1 else array.T).tobytes()
    form = struct.pack("<HHIIHH", 3, channels, rate, rate * channels * 4, channels * 4, 32)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return media_part(folder, "audio", b"RIFF" + struct.pack("<I", len(body)) + body, ".wav", "audio/wav")
