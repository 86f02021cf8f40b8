"""Items that models can be asked, of data some of whose rows cannot: a run refuses such a file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from snellen.core.atomic_write import atomic_file
from snellen.curate.items import ItemTable, item_record
from snellen.curate.step import MediaWriter

ASKED_FILE = "asked.jsonl"
"""The items that can be asked, in the folder of a step."""


def write_askable(table: ItemTable, folder: Path) -> Path:
    """Write the items that can be asked, with their media, into a folder; returns the data file."""
    folder.mkdir(parents=True, exist_ok=True)
    media = MediaWriter(folder)
    path = folder / ASKED_FILE
    with atomic_file(path) as part, part.open("wb") as file:
        for item in table:
            if not item.problem:
                cells = {**item_record(item), **media.cells(item.sample.media)}
                file.write(msgspec.json.encode(cells) + b"\n")
    return path
