"""Columns and gold formats that VLMEvalKit's scorers require, by benchmark, besides the replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.core.record import Record

SPLIT = "split"
CATEGORY = "category"
IMAGE_PATH = "image_path"


class FileLayout(NamedTuple):
    """How the file of one benchmark differs from the common layout."""

    listed_gold: bool = False
    """Whether the gold answers are always a list, even a single one."""
    by_image: bool = False
    """Whether the scorer groups questions about one image by the column `image_path`."""
    gold_list: str = ""
    """Name of an additional column with the gold answers as a list."""
    columns: Mapping[str, str] = {}
    """Our group columns by the name that VLMEvalKit gives them; ours are written too."""
    splits: Mapping[str, str] = {}
    """Values of the column `split`, which records do not have, by our name of the split."""


COMMON_LAYOUT = FileLayout()
LAYOUTS: Mapping[str, FileLayout] = {
    "mme": FileLayout(by_image=True),
    "amber": FileLayout(by_image=True),
    "ocrbench": FileLayout(listed_gold=True, columns={CATEGORY: "type"}),
    "coco-caption": FileLayout(listed_gold=True),
    "blink": FileLayout(columns={CATEGORY: "task"}),
    "vizwiz": FileLayout(gold_list="answers"),
    "mmmu": FileLayout(splits={"val": "validation", "dev": "dev", "test": "test"}),
}


def benchmark_layout(benchmark: str) -> FileLayout:
    return LAYOUTS.get(benchmark, COMMON_LAYOUT)


def gold_cell(gold: Sequence[str], layout: FileLayout) -> str:
    """A single answer as it is, several as a JSON list."""
    if len(gold) == 1 and not layout.listed_gold:
        return gold[0]
    return json.dumps(list(gold), ensure_ascii=False)


def extra_cells(record: Record, layout: FileLayout, split: str) -> dict[str, str]:
    """The record's groups, and cells that only VLMEvalKit's file has. `split` is our name of the
    run's split; "" if it has none."""
    cells = dict(record.groups)
    for theirs, ours in layout.columns.items():
        if theirs not in cells and ours in cells:
            cells[theirs] = cells[ours]
    if layout.by_image:
        cells[IMAGE_PATH] = record.unit or ",".join(record.media) or record.id
    if layout.gold_list and record.gold:
        cells[layout.gold_list] = json.dumps(list(record.gold), ensure_ascii=False)
    if split in layout.splits and SPLIT not in cells:
        cells[SPLIT] = layout.splits[split]
    return cells
