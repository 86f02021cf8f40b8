"""Named views of the first page: the state in its address, in a small file next to the runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct

from snellen.core.atomic_write import save
from snellen.core.errors import DataError, UsageError
from snellen.store.runs import RUN_FILE

VIEWS_FILE = "snellen-views.json"
_MAX_NAME, _MAX_ADDRESS, _MAX_VIEWS = 80, 2_000, 200


class SavedView(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    address: str
    """The state of the page as in its address: `view=list&text=qwen`."""


class SavedViews:
    """The named views of a folder of runs. Thread-safe."""

    def __init__(self, roots: Sequence[Path]) -> None:
        """The views lie in the first folder; beside a run, if that is one itself."""
        first = roots[0].resolve()
        self.file = (first.parent if (first / RUN_FILE).is_file() else first) / VIEWS_FILE
        self._lock = Lock()

    @property
    def is_writable(self) -> bool:
        return os.access(self.file.parent, os.W_OK)

    def read(self) -> list[SavedView]:
        """The views by name. Raises DataError if the file is not what Snellen writes."""
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=list[SavedView])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise DataError(f"{self.file} cannot be read as saved views ({error}); mend or delete it") from error

    def put(self, view: SavedView) -> list[SavedView]:
        """Store a view, in place of one of the same name. Returns all. Raises UsageError for a name
        or address that cannot be stored, StorageError if the file cannot be written."""
        name = view.name.strip()
        if not name or len(name) > _MAX_NAME or not name.isprintable():
            raise UsageError(f"a view has a name of 1 to {_MAX_NAME} characters")
        if len(view.address) > _MAX_ADDRESS or not view.address.isprintable():
            raise UsageError(f"the address of a view has at most {_MAX_ADDRESS} characters")
        with self._lock:
            others = [each for each in self.read() if each.name != name]
            if len(others) >= _MAX_VIEWS:
                raise UsageError(f"{_MAX_VIEWS} views are stored already; delete one first")
            return self._write([*others, SavedView(name, view.address)])

    def remove(self, name: str) -> list[SavedView]:
        """Remove the view of a name, if there is one. Returns the others."""
        with self._lock:
            return self._write([each for each in self.read() if each.name != name])

    def _write(self, views: list[SavedView]) -> list[SavedView]:
        views.sort(key=lambda view: view.name.lower())
        save(self.file, msgspec.json.format(msgspec.json.encode(views), indent=2) + b"\n")
        return views
