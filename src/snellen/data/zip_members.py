"""Members of ZIP archives, including zstandard, which `zipfile` reads only from Python 3.14 on."""

from __future__ import annotations

import lzma
import struct
import zlib
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo

from snellen.core.errors import DataError
from snellen.core.limits import GB, MB, Limits, check_ratio, check_size, raising_advice

ZSTANDARD = 93
"""Compression method, APPNOTE.TXT 4.4.5."""
_ENCRYPTED = 0x1
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""A member's local header: signature, length of the name and of the extra field."""
_SIGNATURE = b"PK\x03\x04"


def check_members(archive: ZipFile, limits: Limits, where: str) -> None:
    """Raises DataError if the members of an archive, one or all together, exceed the limits.

    The sizes in the archive's directory can be relied on: no more bytes than that are unpacked, and
    then the checksum of a longer member does not match.
    """
    members = archive.infolist()
    if sum(info.file_size for info in members) > limits.unpacked_gb * GB:
        raise DataError(f"{where} holds more than {limits.unpacked_gb} GB; {raising_advice('unpacked_gb')}")
    for info in members:
        about = f"{where}, {info.filename[:80]},"
        check_size(info.file_size, limits.member_mb * MB, "member_mb", about)
        check_ratio(info.file_size, info.compress_size, limits, about)


def read_member(archive: ZipFile, name: str) -> bytes:
    """The content of a member. Raises BadZipFile if it is damaged or encrypted,
    NotImplementedError for an unknown compression method."""
    info = archive.getinfo(name)
    if info.flag_bits & _ENCRYPTED:
        raise BadZipFile(f"{info.filename!r} is encrypted")
    if info.compress_type != ZSTANDARD or archive.fp is None:
        try:
            return archive.read(name)
        except (zlib.error, lzma.LZMAError, EOFError, OSError) as error:
            raise BadZipFile(f"{info.filename!r} cannot be unpacked: {error}") from None
    data = _unpack_zstandard(_read_packed(archive.fp, info), info)
    if zlib.crc32(data) != info.CRC:
        raise BadZipFile(f"Bad CRC-32 for file {name!r}")
    return data


def _read_packed(file: IO[bytes], info: ZipInfo) -> bytes:
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(_SIGNATURE):
        raise BadZipFile(f"Bad magic number for file header of {info.filename!r}")
    _, name, extra = _LOCAL_HEADER.unpack(header)
    file.seek(name + extra, 1)
    # At most the rest of the file is read, whatever size the directory gives.
    return file.read(info.compress_size)


def _unpack_zstandard(packed: bytes, info: ZipInfo) -> bytes:
    from pyarrow import ArrowException, BufferReader, CompressedInputStream

    try:
        with CompressedInputStream(BufferReader(packed), "zstd") as stream:
            return bytes(stream.read(info.file_size))
    except (ArrowException, OSError) as error:
        raise BadZipFile(f"{info.filename!r} cannot be unpacked: {error}") from None
