"""`measure_data`: the statistics of any data set, read item by item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import UnknownName
from snellen.curate.items import ItemTable, open_items
from snellen.curate.statistics.item_columns import ItemColumns
from snellen.curate.statistics.results import DatasetStatistics
from snellen.curate.statistics.shortcuts import adjust_tests
from snellen.curate.statistics.summarising import ItemArrays, mean_frequent
from snellen.curate.statistics.text_probe import MIN_PROBED, probe_texts
from snellen.curate.statistics.words import UNSPACED_SCRIPTS

_STEP = 1_000
"""Items after which progress is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOptions:
    """What is measured."""

    by: Sequence[str] | None = None
    """Columns to group by; None takes the data's groups, sources and licences."""
    columns: Mapping[str, str] | None = None
    """Columns of the data file: our name to theirs."""
    read_media: bool = True
    """Whether the headers of images and videos are read."""
    probe: int = 20_000
    """Most closed questions that the text probe is trained and tested on; 0 for no probe."""


def measure_data(
    data: str | Path | ItemTable,
    options: StatisticsOptions = StatisticsOptions(),
    progress: Callable[[int, int], None] | None = None,
) -> DatasetStatistics:
    """Measure a benchmark, a data file or a data set folder.

    `progress` is called with the rows read and their number. Raises UsageError: no such data, or
    an unknown column.
    """
    table = data if isinstance(data, ItemTable) else open_items(data, options.columns)
    for name in options.by or () if table.is_own else ():
        # Seen before a million rows are read; the groups of a benchmark may be no columns.
        if name not in table.columns:
            raise UnknownName("column", name, _groupings(table))
    columns = ItemColumns(options.by, options.read_media, options.probe)
    total = len(table)
    for number, item in enumerate(table, 1):
        columns.add(item)
        if progress is not None and number % _STEP == 0:
            progress(number, total)
    for name in options.by or ():
        if set(columns.groups[name].codes) <= {0}:
            raise UnknownName("column", name, _groupings(table))
    return _summarise(columns, table, options.probe)


def _summarise(columns: ItemColumns, table: ItemTable, probe: int) -> DatasetStatistics:
    """The statistics of the items that were added."""
    arrays = ItemArrays(columns)
    every = arrays.every()
    groups = arrays.groups()
    sample = columns.sample
    probed = probe_texts(sample, columns.closed) if probe and len(sample) >= MIN_PROBED else None
    return DatasetStatistics(
        name=table.name,
        path=table.path,
        digest=table.digest,
        rows=len(table),
        items=len(columns),
        kinds=arrays.kind_counts(),
        distinct_questions=len(columns.questions),
        distinct_words=len(columns.words),
        unspaced=columns.unspaced,
        missing=arrays.missing_counts(),
        words=arrays.words(every),
        options=arrays.option_statistics(),
        media=arrays.media(),
        images=arrays.image_statistics(),
        videos=arrays.video_statistics(),
        positions=arrays.positions(every),
        yes_no=arrays.yes_no(),
        baselines=arrays.baselines(every),
        shortcuts=adjust_tests(arrays.shortcuts(every)),
        groups=groups,
        frequent_by_group={column: mean_frequent(labels) for column, labels in groups.items()},
        probe=probed,
        notices=_notices(columns, probe, len(sample)),
    )


def _notices(columns: ItemColumns, probe: int, sampled: int) -> list[str]:
    """What a reader must know before the numbers."""
    notices = []
    if columns.unspaced:
        notices.append(
            f"{columns.unspaced:,} of the items have text in {UNSPACED_SCRIPTS} script, of which "
            "each character counts as a word"
        )
    if probe and 0 < sampled < MIN_PROBED:
        notices.append(
            f"{sampled} closed questions with an answer are too few for the text probe, which "
            f"needs {MIN_PROBED}"
        )
    return notices


def _groupings(table: ItemTable) -> list[str]:
    """Columns that a data set can be grouped by: those that are no option, question or answer."""
    others = {"question", "answer", "image", "index", "hint", "type"}
    return [name for name in table.columns if name not in others and len(name) > 1]
