"""How old a measurement is: its commit and day, and digests of its bars and of the files that it
measures, so that a clone without history can tell, too."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.perf.machine import processor
from msgspec import Struct

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "snellen"
CURATE = ROOT / "packages" / "curate" / "src" / "snellen_curate"
FILES = {
    "startup": "startup",
    "engine": "engine",
    "scoring": "scoring",
    "page": "report_page",
    "memory": "memory",
    "local": "local_models",
    "tsv": "large_tsv",
    "remote": "remote",
    "ray": "ray_replicas",
    "remote-memory": "remote_memory",
    "compare": "compare",
    "view": "view_pages",
    "home": "home_page",
    "hashes": "image_hashes",
    "statistics": "item_statistics",
    "gpu": "gpu",
    "faults": "faults",
    "year": "year",
    "store-size": "store_size",
}
"""Name of a part to the file that measures it."""
_LOOP = ("core", "engine/limits", "engine/loop", "store")
ROOMS: dict[str, tuple[str, ...]] = {
    "startup": ("__init__.py", "cli"),
    "engine": (*_LOOP, "benchmarks/protocol", "prompts"),
    "scoring": ("api", "benchmarks", "data", "extract", "scoring"),
    "page": ("report", "store"),
    "memory": (*_LOOP, "benchmarks/protocol"),
    "local": ("engine/loop", "models/hf"),
    "tsv": ("data/media", "data/tables"),
    "remote": (*_LOOP, "data/media", "models/remote"),
    "ray": ("engine/ray",),
    "remote-memory": (*_LOOP, "models/remote"),
    "compare": ("analysis/comparison", "store"),
    "view": ("view",),
    "home": ("view",),
    "hashes": ("snellen_curate/duplicates",),
    "statistics": ("snellen_curate/statistics",),
    "gpu": ("models/hf",),
    "faults": ("engine/limits", "models/remote"),
    "year": ("analysis/comparison", "stats", "store", "view"),
    "store-size": ("store",),
}
"""Name of a part to the folders of the source whose speed it measures."""


class Origin(Struct, frozen=True):
    """When and of which files a part was measured."""

    commit: str
    day: str
    size: str
    load: float
    bars: str
    """Digest of the bars in the file that measures it."""
    rooms: dict[str, str]
    """Digest of each folder that it measures."""
    processor: str = ""
    """Empty if it was not recorded."""


def origin_of(part: str, size: str) -> Origin:
    """The origin of a measurement that is made now."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=HERE, text=True, stdout=subprocess.PIPE
    ).stdout.strip()
    return Origin(
        commit=commit or "unknown",
        day=datetime.now(UTC).date().isoformat(),
        size=size,
        load=round(os.getloadavg()[0], 1),
        bars=bars_digest(part),
        rooms={room: room_digest(room) for room in ROOMS[part]},
        processor=processor(),
    )


def bars_digest(part: str) -> str:
    """Digest of what a file says of its bars: constants named so, and arguments."""
    tree = ast.parse((HERE / f"{FILES[part]}.py").read_text(encoding="utf-8"))
    return _digest("\n".join(_bars(tree)).encode())


def _bars(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in ("bar", "ratio_bar", "at_least"):
            yield f"{node.arg}={ast.unparse(node.value)}"
        elif isinstance(node, ast.Assign) and "BAR" in ast.unparse(node.targets[0]):
            yield ast.unparse(node)


def room_path(room: str) -> Path:
    """Where a room is: a folder or a file of Snellen, or one below the folder of `curate`."""
    return (CURATE.parent if room.startswith(CURATE.name) else SOURCE) / room


def room_digest(room: str) -> str:
    """Digest of a folder's source files, or of a file."""
    path = room_path(room)
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return _digest(b"".join(file.name.encode() + file.read_bytes() for file in files))


def changed_rooms(part: str, origin: Origin) -> list[str]:
    """Folders that are not as they were when the part was measured."""
    return [room for room in ROOMS[part] if origin.rooms.get(room) != room_digest(room)]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
