"""Members of ZIP archives, also of those packed with zstandard, which `zipfile` of Python 3.14
reads."""

from __future__ import annotations

import struct
import zlib
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo

ZSTANDARD = 93
"""Method of compression, as APPNOTE.TXT 4.4.5 numbers it."""
_ENCRYPTED = 0x1
_HEADER = struct.Struct("<4s22xHH")
"""Of a member's local header: its mark, and how long its name and its extra field are."""
_MARK = b"PK\x03\x04"


def read_member(archive: ZipFile, name: str) -> bytes:
    """The content of a member. Raises BadZipFile where it is damaged, NotImplementedError for a
    method that is not known."""
    info = archive.getinfo(name)
    if info.compress_type != ZSTANDARD or info.flag_bits & _ENCRYPTED or archive.fp is None:
        return archive.read(name)
    data = _unpacked(_packed_bytes(archive.fp, info), info)
    if zlib.crc32(data) != info.CRC:
        raise BadZipFile(f"Bad CRC-32 for file {name!r}")
    return data


def _packed_bytes(file: IO[bytes], info: ZipInfo) -> bytes:
    file.seek(info.header_offset)
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MARK):
        raise BadZipFile(f"Bad magic number for file header of {info.filename!r}")
    _, name, extra = _HEADER.unpack(header)
    file.seek(name + extra, 1)
    return file.read(info.compress_size)


def _unpacked(packed: bytes, info: ZipInfo) -> bytes:
    from pyarrow import ArrowException, BufferReader, CompressedInputStream

    try:
        with CompressedInputStream(BufferReader(packed), "zstd") as stream:
            return bytes(stream.read(info.file_size))
    except (ArrowException, OSError) as error:
        raise BadZipFile(f"{info.filename!r} cannot be unpacked: {error}") from None
