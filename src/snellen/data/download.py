"""Downloads that are resumed, verified by checksum and published atomically."""

from __future__ import annotations

import http
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from snellen.core.errors import DataError, StorageError
from snellen.data.media.image_files import Algorithm, FileDigests

DownloadProgress = Callable[[int, int | None], None]
"""Called with the bytes received so far and the total, if it is known."""

_CHUNK = 1 << 20
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_SCHEMES = frozenset({"http", "https", "file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file on the network. `urls` are tried in turn; if a checksum is set, the content must have
    it."""

    urls: tuple[str, ...]
    md5: str | None = None
    sha256: str | None = None

    def checksum(self) -> tuple[Algorithm, str] | None:
        """The strongest checksum that is set, as algorithm and hex digest."""
        if self.sha256:
            return "sha256", self.sha256.lower()
        return ("md5", self.md5.lower()) if self.md5 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRetries:
    """How often a cut or refused connection is tried again. Times in seconds."""

    attempts: int = 5
    """Consecutive attempts, over all addresses, that may receive nothing."""
    first_wait: float = 1.0
    """Doubled after every such attempt."""
    timeout: float = 30.0


class _TransientError(Exception):
    """An attempt failed in a way that may pass."""


class _PermanentError(Exception):
    """This address will not serve the file."""


def download(
    remote: RemoteFile,
    target: Path,
    *,
    cache: Path,
    progress: DownloadProgress | None = None,
    offline: bool = False,
    retries: DownloadRetries | None = None,
) -> Path:
    """Fetch a file to `target`, unless it exists with the right checksum.

    A second process that requests the same file waits for the first. A partial download is kept
    next to `target` and resumed by the next call. Raises DataError if the file cannot be fetched or
    has another checksum, StorageError if it cannot be written.
    """
    from filelock import FileLock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if target.exists():
                if wrong := wrong_checksum(target, remote, cache):
                    message = _mismatch_message(remote, target, wrong)
                    raise DataError(f"{message}; delete {target} to fetch it again")
                return target
            if offline:
                raise DataError(
                    f"{target.name} is not here and Snellen is offline; " + manual_instructions(remote, target)
                )
            return _fetch(remote, target, cache, progress, retries or DownloadRetries())
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error


def wrong_checksum(path: Path, remote: RemoteFile, cache: Path) -> str | None:
    """The checksum of a file if it is not the expected one, else None.

    Digests are cached by size and modification time, so that a large file is read once.
    """
    expected = remote.checksum()
    if expected is None:
        return None
    with FileDigests(cache) as files:
        actual = files.digest(path, expected[0])
    return None if actual == expected[1] else actual


def manual_instructions(remote: RemoteFile, target: Path) -> str:
    """A clause that tells the user where to put the file by hand."""
    expected = remote.checksum()
    check = f" ({expected[0]} {expected[1]})" if expected else ""
    return f"fetch {' or '.join(remote.urls)}{check} elsewhere and put it at {target}"


def _mismatch_message(remote: RemoteFile, target: Path, checksum: str) -> str:
    expected = remote.checksum()
    assert expected is not None
    return f"{target.name} has the {expected[0]} {checksum}, but {expected[1]} was expected"


def _fetch(
    remote: RemoteFile, target: Path, cache: Path, progress: DownloadProgress | None, retries: DownloadRetries
) -> Path:
    """Download to a partial file, verify its checksum and rename it to `target`.

    If a resumed download has a wrong checksum, it is repeated once from the start.
    """
    part = target.with_name(target.name + ".part")
    resumed = _part_size(part) > 0
    _download_part(remote, target, part, progress, retries)
    wrong = wrong_checksum(part, remote, cache)
    if wrong and resumed:
        # The first part may come from an older version of the file: start over once.
        part.unlink()
        _download_part(remote, target, part, progress, retries)
        wrong = wrong_checksum(part, remote, cache)
    if wrong:
        part.unlink()
        _etag_file(part).unlink(missing_ok=True)
        raise DataError(_mismatch_message(remote, target, wrong) + "; it was not kept, the file there may have changed")
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(target)
    _etag_file(part).unlink(missing_ok=True)
    return target


def _download_part(
    remote: RemoteFile, target: Path, part: Path, progress: DownloadProgress | None, retries: DownloadRetries
) -> None:
    """Fill `part`: try each address, then wait and try again as `retries` allow."""
    problems: dict[str, str] = {}
    failures = 0
    while failures < retries.attempts:
        may_succeed = progressed = False
        for url in remote.urls:
            size_before = _part_size(part)
            try:
                _attempt_download(url, part, progress, retries.timeout)
                return
            except _PermanentError as error:
                problems[url] = str(error)
            except _TransientError as error:
                problems[url] = str(error)
                may_succeed = True
                progressed = _part_size(part) > size_before
            if progressed:
                # Some bytes came: wait, then start again with the first address.
                break
        if not may_succeed:
            break
        failures = 0 if progressed else failures + 1
        if failures < retries.attempts:
            time.sleep(retries.first_wait * 2 ** max(0, failures - 1))
    details = "; ".join(f"{url}: {problem}" for url, problem in problems.items())
    raise DataError(f"{target.name} cannot be fetched ({details}); " + manual_instructions(remote, target))


def _part_size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _attempt_download(url: str, part: Path, progress: DownloadProgress | None, timeout: float) -> None:
    """One attempt, resuming at the end of `part`. Raises _TransientError or _PermanentError."""
    if urlsplit(url).scheme not in _SCHEMES:
        raise _PermanentError("only http, https and file addresses are fetched")
    offset = _part_size(part)
    with _translate_errors(part), _open_url(url, part, offset, timeout) as response:
        resumed = getattr(response, "status", 200) == http.HTTPStatus.PARTIAL_CONTENT
        if offset and not resumed:
            offset = 0  # The server cannot resume, or has another version of the file.
        remaining = response.headers.get("Content-Length")
        total = offset + int(remaining) if remaining else None
        _check_free_space(part, total, offset)
        validator = response.headers.get("ETag")
        if validator:
            _etag_file(part).write_text(validator)
        with part.open("ab" if offset else "wb") as file:
            while chunk := _read_chunk(response):
                file.write(chunk)
                offset += len(chunk)
                if progress:
                    progress(offset, total)
    if total is not None and offset < total:
        raise _TransientError(f"the connection was cut after {offset:,} of {total:,} bytes")


def _open_url(url: str, part: Path, offset: int, timeout: float) -> Any:
    headers = {"User-Agent": "snellen", "Accept-Encoding": "identity"}
    if offset and url.startswith("http"):
        headers["Range"] = f"bytes={offset}-"
        if _etag_file(part).exists():
            headers["If-Range"] = _etag_file(part).read_text()
    import urllib.request

    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout)


def _read_chunk(response: Any) -> bytes:
    """The next bytes. Raises _TransientError for connection errors, which are thus separate from
    disk errors."""
    from http.client import HTTPException

    try:
        chunk: bytes = response.read(_CHUNK)
    except (HTTPException, OSError) as error:
        raise _TransientError(f"the connection broke: {error}") from error
    return chunk


@contextmanager
def _translate_errors(part: Path) -> Iterator[None]:
    # Here, because reading a file that is on this machine needs no client.
    import urllib.error
    from http.client import HTTPException

    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        problem = f"the server answered {error.code} {error.reason}"
        if error.code in _TRANSIENT_STATUSES:
            raise _TransientError(problem) from error
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)  # Longer than the file there: another version.
            raise _TransientError(problem) from error
        raise _PermanentError(problem) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, FileNotFoundError):
            raise _PermanentError("there is no such file") from error
        raise _TransientError(f"no connection ({error.reason})") from error
    except (HTTPException, TimeoutError, ConnectionError) as error:
        raise _TransientError(f"no connection ({error!r})") from error


def _check_free_space(part: Path, total: int | None, offset: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - offset > free:
        raise StorageError(
            f"{part.parent} has {free / 1e9:.1f} GB free, but {(total - offset) / 1e9:.1f} GB are "
            "needed; make room, or set SNELLEN_CACHE to a folder on another disk"
        )


def _etag_file(part: Path) -> Path:
    return part.with_name(part.name + ".etag")
