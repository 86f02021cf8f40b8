"""Base64 of a table goes to servers as it stands, if it is written in the one usual way."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from snellen.core.errors import MediaError
from snellen.core.media import digest_bytes
from snellen.core.request import Media
from snellen.data.media.sources import DataFile, SliceLocation, StoredCell
from snellen.models.remote.media import MediaCache

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def cell(folder: Path, text: bytes, data: bytes) -> StoredCell:
    path = folder / "cells.tsv"
    path.write_bytes(b"index\t" + text + b"\tend")
    location = SliceLocation(6, len(text), digest_bytes(data), len(data))
    return StoredCell(DataFile.from_path(str(path)), location, 1)


@pytest.mark.parametrize("data", [PNG, PNG[:-1], PNG[:-2], b"a", b""])
def test_usual_base64_is_kept(tmp_path: Path, data: bytes) -> None:
    text = base64.b64encode(data)
    source = cell(tmp_path, text, data).read_inline()
    assert (source.data, source.base64) == (data, text)


def unusual_end(text: bytes) -> bytes:
    """Other bits that no byte uses, which strict servers refuse."""
    return text[:-3] + bytes([text[-3] + 1]) + b"=="


@pytest.mark.parametrize(
    "text",
    [
        base64.encodebytes(PNG),
        base64.b64encode(PNG[:30]) + b"\n" + base64.b64encode(PNG[30:]),
        unusual_end(base64.b64encode(PNG)),
    ],
)
def test_other_forms_are_read_and_written_anew(tmp_path: Path, text: bytes) -> None:
    source = cell(tmp_path, text, PNG).read_inline()
    assert (source.data, source.base64) == (PNG, b"")
    [sent] = asyncio.run(_encoded(source)).values()
    assert sent.data == base64.b64encode(PNG)


async def _encoded(source: object) -> dict:  # type: ignore[type-arg]
    name = digest_bytes(PNG)
    return await MediaCache(["image/png"]).encode([Media("image", name)], {name: source})  # type: ignore[dict-item]


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    source = cell(tmp_path, base64.b64encode(PNG), PNG)
    (tmp_path / "cells.tsv").write_bytes(b"index\t" + base64.b64encode(PNG[::-1]) + b"\tend")
    with pytest.raises(MediaError, match="no longer where it was"):
        source.read_inline()
