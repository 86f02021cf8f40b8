"""What VLMEvalKit's scorers read beside replies, by benchmark: columns and forms of the gold answer
that a run's records do not hold as such."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.core.record import Record

SPLIT = "split"
CATEGORY = "category"
IMAGE_PATH = "image_path"


class Layout(NamedTuple):
    """How the file of one benchmark differs from the common one."""

    listed_gold: bool = False
    """Whether the gold answers are always a list, also a lone one."""
    pictured: bool = False
    """Whether questions about one picture are put together by the column `image_path`."""
    gold_list: str = ""
    """A further column for the gold answers, always as a list."""
    columns: Mapping[str, str] = {}
    """Groups of ours by the column they have there; ours stay beside it."""
    splits: Mapping[str, str] = {}
    """What the column `split` says, which the records do not hold, by our name of the split."""


COMMON = Layout()
LAYOUTS: Mapping[str, Layout] = {
    "mme": Layout(pictured=True),
    "amber": Layout(pictured=True),
    "ocrbench": Layout(listed_gold=True, columns={CATEGORY: "type"}),
    "coco-caption": Layout(listed_gold=True),
    "blink": Layout(columns={CATEGORY: "task"}),
    "vizwiz": Layout(gold_list="answers"),
    "mmmu": Layout(splits={"val": "validation", "dev": "dev", "test": "test"}),
}


def layout_of(benchmark: str) -> Layout:
    return LAYOUTS.get(benchmark, COMMON)


def gold_cell(gold: Sequence[str], layout: Layout) -> str:
    """One answer as it is, several as a JSON list."""
    if len(gold) == 1 and not layout.listed_gold:
        return gold[0]
    return json.dumps(list(gold), ensure_ascii=False)


def more_cells(record: Record, layout: Layout, split: str) -> dict[str, str]:
    """The record's groups, and the cells that only VLMEvalKit's file has. `split` is the run's, by
    our name; empty where it has none."""
    found = dict(record.groups)
    for theirs, ours in layout.columns.items():
        if theirs not in found and ours in found:
            found[theirs] = found[ours]
    if layout.pictured:
        found[IMAGE_PATH] = record.unit or ",".join(record.media) or record.id
    if layout.gold_list and record.gold:
        found[layout.gold_list] = json.dumps(list(record.gold), ensure_ascii=False)
    if split in layout.splits and SPLIT not in found:
        found[SPLIT] = layout.splits[split]
    return found
