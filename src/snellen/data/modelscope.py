"""Data sets of ModelScope: `modelscope://ORG/NAME`, or `hf://ORG/NAME` where it stands in for the
Hugging Face hub.

The tables of a data set are fetched into the folder for downloads and opened from there. The
requests are those of its public client, modelscope_hub 0.5: `datasets/ID/repo/tree` lists files by
pages, `datasets/ID/repo` sends one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from snellen.core.atomic_write import save
from snellen.core.errors import DataError, storage_errors
from snellen.data.download import RemoteFile, download
from snellen.settings import Settings

SCHEME = "modelscope://"
DEFAULT_REVISION = "master"
_HUB_FILE = re.compile(
    r"https://huggingface\.co/datasets/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/"
    r"(?P<path>[^?]+)"
)
_TABLES = (".parquet", ".jsonl", ".json", ".csv", ".tsv", ".arrow")
_DESCRIPTIONS = ("README.md", "eval.yaml", "dataset_infos.json")
_PAGE = 200
_MAX_PAGES = 500
_MAX_LISTING = 64 << 20
"""Bytes of one page of a listing; published ones have some thousand."""
_TIMEOUT = 30.0
_LISTING = ".listing.json"
"""File of a fetched data set: the digests of its files, written when all are there."""


class RepositoryFile(NamedTuple):
    """A file of a data set."""

    path: str
    sha256: str
    """Empty if the server does not say."""


def with_modelscope(remote: RemoteFile, settings: Settings) -> RemoteFile:
    """The file with ModelScope's address first, where it is published on the Hugging Face hub and
    ModelScope stands in for it. A checksum holds for both."""
    if not settings.use_modelscope:
        return remote
    mirrored = [
        file_url(match["name"], match["path"], _revision(match["revision"]), settings)
        for url in remote.urls
        if (match := _HUB_FILE.fullmatch(url))
    ]
    return replace(remote, urls=(*mirrored, *remote.urls))


def file_url(name: str, path: str, revision: str | None, settings: Settings) -> str:
    """The address of a file of a data set."""
    query = urlencode({"Revision": _revision(revision), "FilePath": path})
    return f"{settings.modelscope_endpoint}/api/v1/datasets/{quote(name)}/repo?{query}"


def _revision(revision: str | None) -> str:
    """A revision by ModelScope's names: its first branch is called master."""
    return DEFAULT_REVISION if revision in (None, "main") else str(revision)


def fetch_dataset(name: str, revision: str | None, settings: Settings) -> Path:
    """Fetch the tables of a data set and return their folder; files that are there with the same
    digest are kept.

    If ModelScope cannot be asked, what was fetched earlier is used. Raises DataError if nothing
    was, or if there is no such data set, and StorageError.
    """
    folder = settings.datasets / "modelscope" / name.replace("/", "--") / _revision(revision)
    is_there = (folder / _LISTING).is_file()
    if settings.offline:
        if is_there:
            return folder
        raise DataError(f"{SCHEME}{name} is not in {folder}, and nothing is fetched (HF_HUB_OFFLINE is set)")
    try:
        files = list_files(name, revision, settings)
    except _UnreachableError as error:
        if is_there:
            return folder
        raise DataError(f"{SCHEME}{name} cannot be fetched: {error}") from error
    # Data, or their description at the top.
    tables = [file for file in files if file.path.lower().endswith(_TABLES) or file.path in _DESCRIPTIONS]
    if not any(file.path.lower().endswith(_TABLES) for file in tables):
        raise DataError(
            f"{SCHEME}{name} holds no tables: expected files with {', '.join(_TABLES)}, and it has {len(files)} others"
        )
    _fetch_files(name, revision, tables, folder, settings)
    return folder


def _fetch_files(
    name: str, revision: str | None, files: list[RepositoryFile], folder: Path, settings: Settings
) -> None:
    """Download the files that are missing or were changed, and note what is there."""
    from filelock import FileLock

    with storage_errors("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
        # Hidden, like the list: files beside the tables are taken for tables.
        with FileLock(folder / ".lock"):
            before = _known_digests(folder)
            for file in files:
                target = folder / file.path
                if target.exists() and before.get(file.path) != file.sha256:
                    target.unlink()
                remote = RemoteFile(urls=(file_url(name, file.path, revision, settings),), sha256=file.sha256 or None)
                download(remote, target, cache=settings.cache)
                # Only this process downloads here, and the lock of the file would be read as a table.
                target.with_name(f"{target.name}.lock").unlink(missing_ok=True)
            save(folder / _LISTING, json.dumps({file.path: file.sha256 for file in files}, indent=1))


def _known_digests(folder: Path) -> Mapping[str, str]:
    """The digests of the files of the last complete fetch, by path."""
    try:
        known = json.loads((folder / _LISTING).read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


class _UnreachableError(Exception):
    """ModelScope did not answer."""


def list_files(name: str, revision: str | None, settings: Settings) -> list[RepositoryFile]:
    """All files of a data set, page by page. Raises DataError if there is none of the name."""
    files: list[RepositoryFile] = []
    for page in range(1, _MAX_PAGES + 1):
        query = {"Revision": _revision(revision), "Recursive": "True", "PageNumber": page, "PageSize": _PAGE}
        address = f"{settings.modelscope_endpoint}/api/v1/datasets/{quote(name)}/repo/tree"
        entries = _entries(_read_json(f"{address}?{urlencode(query)}", name), name)
        files += [_file(entry, name) for entry in entries if entry.get("Type") != "tree"]
        if len(entries) < _PAGE:
            return files
    raise DataError(f"{SCHEME}{name} has more than {_MAX_PAGES * _PAGE:,} files")


def _read_json(url: str, name: str) -> Any:
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    request = urllib.request.Request(url, headers={"User-Agent": "snellen"})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            body = response.read(_MAX_LISTING + 1)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (401, 403, 404):
                raise DataError(
                    f"there is no data set {name} on ModelScope that anybody may read (the server "
                    f"answered {error.code} {error.reason})"
                ) from error
        raise _UnreachableError(f"the server answered {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _UnreachableError(f"no connection ({reason})") from error
    if len(body) > _MAX_LISTING:
        raise DataError(f"{SCHEME}{name}: its list of files has more than {_MAX_LISTING:,} bytes")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{SCHEME}{name}: its list of files is no JSON ({error})") from error


def _entries(reply: Any, name: str) -> list[Mapping[str, Any]]:
    """The entries of a listing: `Data` is the list, or an object that has it."""
    data = reply.get("Data") if isinstance(reply, dict) else None
    if isinstance(data, dict):
        data = data.get("Files")
    if isinstance(reply, dict) and reply.get("Success") is False:
        raise DataError(f"{SCHEME}{name}: ModelScope says {str(reply.get('Message'))[:200]!r}")
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise DataError(f"{SCHEME}{name}: its list of files is none that ModelScope documents")
    return data


def _file(entry: Mapping[str, Any], name: str) -> RepositoryFile:
    """A file of a listing. Raises DataError for a path that leads out of the data set."""
    path = str(entry.get("Path") or "")
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or ".." in parts or "\0" in path:
        raise DataError(f"{SCHEME}{name}: {path!r} is no path of a file in a data set")
    digest = str(entry.get("Sha256") or "")
    return RepositoryFile(path, digest if re.fullmatch(r"[0-9a-fA-F]{64}", digest) else "")
