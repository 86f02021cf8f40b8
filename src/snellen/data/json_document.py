"""Large JSON documents decoded to what is wanted of them, through the page cache."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import TypeVar

import msgspec

from snellen.core.errors import DataError

T = TypeVar("T")


def decode_document(path: Path, form: type[T], layout: str) -> T:
    """Decode a JSON file to a type whose fields are the wanted ones; the others are skipped without
    being kept. Raises DataError for a file of another form."""
    try:
        if not path.stat().st_size:
            raise DataError(f"{path} is empty; expected {layout}")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return msgspec.json.decode(data, type=form)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not {layout}: {error}") from error
