"""Questions that are published as several JSON files: fetched and merged into one JSON Lines
file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from snellen.core.atomic_write import atomic_file
from snellen.core.errors import DataError, storage_errors
from snellen.data.download import DownloadProgress, RemoteFile, download
from snellen.settings import Settings

Records = Iterable[Mapping[str, Any]]


def list_records(document: Any) -> Records:
    """The records of a document that is a list; empty for other documents."""
    return document if isinstance(document, list) else ()


@dataclass(frozen=True, slots=True)
class JsonPart:
    """A JSON file; `cells` are added to each of its records, such as the name of the task."""

    url: str
    cells: Mapping[str, str] = field(default_factory=dict)
    records: Callable[[Any], Records] = list_records


@dataclass(frozen=True, slots=True)
class JsonParts:
    """Files that are merged into the table `name` (JSON Lines); rows are numbered across the
    files."""

    name: str
    about: str
    parts: tuple[JsonPart, ...]

    def fetch(self, settings: Settings, progress: DownloadProgress | None = None) -> str:
        """The path of the table, built if it does not exist. Raises DataError, StorageError."""
        target = settings.datasets / self.name
        if target.is_file():
            return str(target)
        lines: list[bytes] = []
        for part in self.parts:
            path = target.parent / target.stem / part.url.rsplit("/", 1)[-1]
            download(
                RemoteFile(urls=(part.url,)), path, cache=settings.cache, progress=progress, offline=settings.offline
            )
            try:
                records = [dict(record) for record in part.records(msgspec.json.decode(path.read_bytes()))]
            except (msgspec.DecodeError, AttributeError, LookupError, TypeError) as error:
                raise DataError(f"{path} is not the published form of {self.about}: {error}") from None
            if not records:
                raise DataError(f"{path} is not the published form of {self.about}: no records")
            for record in records:
                lines.append(msgspec.json.encode({"index": len(lines), **part.cells, **record}))
        with storage_errors("write", target), atomic_file(target) as file:
            file.write_bytes(b"\n".join(lines) + b"\n")
        return str(target)
