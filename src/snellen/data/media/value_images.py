"""Values in memory as values that a data file can hold: images encoded, image files read."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from pathlib import Path, PurePath
from typing import Any

from snellen.core.errors import DataError, MediaError
from snellen.core.limits import MB
from snellen.core.media import image_size
from snellen.data.columns import column_name, is_image_column, is_video_column, parse_list
from snellen.data.media.image_cells import NamedImage, NamedVideo, is_file_name, parse_name
from snellen.data.media.image_files import is_file, media_folders
from snellen.settings import Settings, max_image_pixels

_MAX_NAME_LENGTH = 1024
_PNG_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"})
_MISSING = frozenset({"NAType", "NaTType"})
"""Classes of missing values in pandas."""
_IMAGE_KEYS = frozenset({"bytes", "path"})
"""Keys of an image in a Hugging Face data set."""


class CellValues:
    """Turns values of one table into None, bool, int, float, str, bytes, and lists and dicts of
    these. Bytes are images or videos."""

    def __init__(self, name: str, settings: Settings, our_name: Callable[[str], str]) -> None:
        """`name` names the data in errors; `our_name` is what the user's map makes of a column."""
        self._name = name
        self._limits = settings.limits
        self._our_name = our_name
        self._folders = media_folders((str(Path.cwd()),), settings.media_folders, settings.limits, fetched=False)

    def record(self, number: int, record: Mapping[Any, Any]) -> dict[str, Any]:
        """A row, whose `number` counts from 1. Raises DataError for a value that cannot be kept."""
        return {str(column): self._value(value, str(column), number) for column, value in record.items()}

    def _value(self, value: Any, column: str, row: int) -> Any:
        name = self._our_name(column_name(column, 0))
        try:
            return self._plain(value, is_image_column(name), is_video_column(name))
        except DataError as error:
            raise DataError(f"{self._name}, row {row}, column {column}: {error}") from None

    def _plain(self, value: Any, holds_images: bool, holds_videos: bool) -> Any:
        """Raises DataError, without row and column."""
        if value is None or type(value).__name__ in _MISSING:
            return None
        if isinstance(value, str):
            if holds_images:
                return self._image_text(value)
            return str(Path(value).absolute()) if holds_videos and is_file(Path(value)) else value
        if isinstance(value, bool | int):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if isinstance(value, PurePath):
            text = str(Path(value).expanduser().absolute())
            return self._image_text(text) if holds_images else text
        if isinstance(value, Mapping):
            return self._mapping(value, holds_images, holds_videos)
        if isinstance(value, list | tuple | set | frozenset):
            return [self._plain(item, holds_images, holds_videos) for item in value]
        return self._other(value, holds_images, holds_videos)

    def _other(self, value: Any, holds_images: bool, holds_videos: bool) -> Any:
        """A value of a library: an image, an array, a number, a time."""
        if isinstance(value, Enum):
            return self._plain(value.value, holds_images, holds_videos)
        if isinstance(value, datetime | date | time):
            return value.isoformat()
        if isinstance(value, Decimal):
            return str(value)
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            return None if math.isnan(value) else float(value)
        if (encoded := encoded_image(value)) is not None:
            return encoded
        if hasattr(value, "__array__"):
            return self._array(value, holds_images, holds_videos)
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise DataError(
            f"a value of type {kind} cannot be kept; expected text, a number, a list, or an image: "
            "of PIL, as encoded bytes, as an array of uint8, or a path"
        )

    def _mapping(self, value: Mapping[Any, Any], holds_images: bool, holds_videos: bool) -> Any:
        if set(value) != _IMAGE_KEYS:
            # Parquet has no empty objects, and no cell would come of one.
            return {str(k): self._plain(item, False, False) for k, item in value.items()} or None
        if value["bytes"]:
            return bytes(value["bytes"])
        return self._plain(value["path"], not holds_videos, holds_videos)

    def _array(self, value: Any, holds_images: bool, holds_videos: bool) -> Any:
        """The image of an array as PNG bytes; another array as lists of numbers. Raises DataError
        for an array in an image column that is not an image."""
        import numpy as np

        try:
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as error:
            # Such as a tensor on an accelerator, or one that records gradients.
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(f"a {type(value).__name__} cannot be read as an array: {reason}") from error
        is_image = array.dtype == np.uint8 and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3, 4)))
        if is_image and array.size:
            from PIL import Image

            return _encode(Image.fromarray(array[:, :, 0] if array.shape[2:] == (1,) else array))
        if holds_images and array.ndim >= 2:
            raise DataError(
                f"an array of {array.dtype} with the shape {array.shape}; an image is an array of "
                "uint8 with the shape (height, width), (height, width, 3) or (height, width, 4)"
            )
        return self._plain(array.tolist(), holds_images, holds_videos)

    def _image_text(self, text: str) -> Any:
        """The bytes of the file that a text names; base64, addresses and ids of rows as they are.

        A missing file is named by its absolute path, for the error message."""
        items = parse_list(text)
        if items is not None:
            return [self._image_text(str(item)) for item in items]
        raw = text.encode(errors="replace")
        named = parse_name(raw) if len(raw) <= _MAX_NAME_LENGTH else None
        if isinstance(named, NamedVideo):
            return str(Path(named.names[0]).expanduser().absolute())
        if not isinstance(named, NamedImage):
            return text
        path = Path(named.name).expanduser()
        if not is_file(path):
            is_path = is_file_name(named.name) or "/" in named.name
            return str(path.absolute()) if is_path else text
        try:
            is_small = path.stat().st_size <= self._limits.picture_mb * MB
            if is_small and self._folders.problem(path) is None:
                data = path.read_bytes()
                image_size(data, max_image_pixels())
                return data
        except (OSError, MediaError):
            pass  # no image, which is not copied; the row fails with the reason when it is asked
        return str(path.absolute())


def encoded_image(value: object) -> bytes | None:
    """A PIL image as PNG, upright by its EXIF orientation; None for another value."""
    from PIL import Image, ImageOps

    if not isinstance(value, Image.Image):
        return None
    try:
        return _encode(ImageOps.exif_transpose(value))
    except (OSError, ValueError, SyntaxError, LookupError, TypeError, struct.error) as error:
        raise DataError(f"the image cannot be read: {error}") from error


def _encode(image: Any) -> bytes:
    if image.mode not in _PNG_MODES:
        image = image.convert("RGB")
    data = io.BytesIO()
    # Fast: the best compression takes ten times as long for a tenth of the size.
    image.save(data, "PNG", compress_level=1)
    return data.getvalue()
