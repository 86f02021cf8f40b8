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
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return msgspec.json.decode(data, type=form)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        # msgspec's errors are ValueErrors; mmap refuses an empty file with one.
        raise DataError(f"{path} is not {layout}: {error}") from error
