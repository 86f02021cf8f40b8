"""Small real pictures for the tests of data."""

from __future__ import annotations

import base64
import io

from PIL import Image


def png(colour: str = "red", width: int = 24) -> bytes:
    """A PNG whose bytes differ for each colour and width."""
    picture = Image.effect_mandelbrot((width, 16), (-2, -1, 1, 1), 20).convert("RGB")
    picture.paste(colour, (0, 0, 8, 8))
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
