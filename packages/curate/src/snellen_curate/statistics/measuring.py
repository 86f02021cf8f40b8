"""`measure_data`: the statistics of any data set and of its groups. Items are read, some
hundred at a time, into columns of numbers, which are summarised as arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy import float64
from numpy.typing import NDArray

from snellen.core.errors import UnknownName
from snellen.data_sets.items import ItemTable
from snellen.stats.exact_counts import EventGroup, count_tails
from snellen.stats.paired import holm
from snellen_curate.open_data import open_items
from snellen_curate.statistics.item_columns import KINDS, ItemColumns, ItemRows
from snellen_curate.statistics.positions import PositionBalance, balance_of_counts, guess_baselines
from snellen_curate.statistics.results import (
    QUANTILES,
    DatasetStatistics,
    Distribution,
    GroupStatistics,
    MediaCounts,
    MediaStatistics,
    OptionStatistics,
    WordStatistics,
    YesNoBalance,
)
from snellen_curate.statistics.shortcut_rules import SHORTCUT_RULES
from snellen_curate.statistics.shortcuts import PickTable, ShortcutTest, adjust_tests, measure_picks
from snellen_curate.statistics.text_probe import MIN_PROBED, probe_texts
from snellen_curate.statistics.words import UNSPACED_SCRIPTS

_BLOCK = 250
"""Items that are added at once: with more their words are more objects than the caches of a processor hold."""
_STEP = 4 * _BLOCK
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
    items = iter(table)
    while block := list(islice(items, _BLOCK)):
        columns.add(block)
        if progress is not None and len(columns) % _STEP == 0:
            progress(len(columns), total)
    for name in options.by or ():
        if not any(columns.groups[name]):
            raise UnknownName("column", name, _groupings(table))
    return _summarise(columns, table, options.probe)


def _summarise(columns: ItemColumns, table: ItemTable, probe: int) -> DatasetStatistics:
    """The statistics of the items that were added."""
    rows = columns.rows()
    groups = _measure_groups(columns, rows)
    chosen = _choices(rows)
    positions, shortcuts = _measure_positions(chosen), adjust_tests(_test_shortcuts(chosen))
    # A million items are 100 MB, of which what follows makes copies of its own.
    del chosen
    sample = columns.sample
    probed = probe_texts(sample, columns.closed) if probe and len(sample) >= MIN_PROBED else None
    kinds = np.bincount(rows["kind"], minlength=len(KINDS)).tolist()
    return DatasetStatistics(
        name=table.name,
        path=table.path,
        digest=table.digest,
        rows=len(table),
        items=len(columns),
        kinds={kind: count for kind, count in zip(KINDS, kinds, strict=True) if count},
        distinct_questions=len(columns.questions),
        distinct_words=len(columns.words),
        unspaced=columns.unspaced,
        missing=dict(columns.missing),
        words=_measure_words(rows, columns),
        options=_measure_options(rows, columns.equal_options),
        media=_count_media(rows, columns),
        images=_measure_images(rows, columns),
        videos=_measure_videos(rows, columns),
        positions=positions,
        yes_no=_balance_yes_no(rows),
        baselines=guess_baselines(rows),
        shortcuts=shortcuts,
        groups=groups,
        frequent_by_group={column: _mean_frequent(labels) for column, labels in groups.items()},
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
            f"{sampled} closed questions with an answer are too few for the text probe, which needs {MIN_PROBED}"
        )
    return notices


def _groupings(table: ItemTable) -> list[str]:
    """Columns that a data set can be grouped by: those that are no option, question or answer."""
    others = {"question", "answer", "image", "index", "hint", "type"}
    return [name for name in table.columns if name not in others and len(name) > 1]


MIN_IN_GROUP = 20
"""Questions below which a rule is not tested in a group: nothing could be found there, and every
test makes the others weaker."""


def _describe(values: Any) -> Distribution | None:
    """The distribution of numbers; None without any."""
    numbers: NDArray[float64] = np.asarray(values, dtype=np.float64)
    if not numbers.size:
        return None
    return Distribution(
        n=int(numbers.size),
        mean=float(numbers.mean()),
        deviation=float(numbers.std()),
        min=float(numbers.min()),
        max=float(numbers.max()),
        quantiles=tuple(float(value) for value in np.quantile(numbers, QUANTILES)),
    )


def _measure_words(rows: ItemRows, columns: ItemColumns) -> WordStatistics:
    """Words of the texts of these items."""
    counts = rows["options"]
    inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    option_words = np.asarray(columns.option_words)[np.repeat(rows["first_option"], counts) + inside]
    question, hint, answer = rows["question_words"], rows["hint_words"], rows["answer_words"]
    return WordStatistics(
        question=_describe(question[question > 0]),
        option=_describe(option_words),
        answer=_describe(answer[answer >= 0]),
        hint=_describe(hint[hint > 0]),
    )


def _choices(rows: ItemRows) -> ItemRows:
    """Items with one right option of several."""
    chosen: ItemRows = rows[(rows["kind"] == KINDS.index("choice")) & (rows["right"] >= 0) & (rows["options"] > 1)]
    return chosen


def _measure_positions(chosen: ItemRows) -> PositionBalance:
    """Where the right options of these items stand, which have one of several."""
    options, right = chosen["options"], chosen["right"]
    return balance_of_counts(
        {count: np.bincount(right[options == count], minlength=count).tolist() for count in np.unique(options).tolist()}
    )


def _test_shortcuts(chosen: ItemRows) -> list[ShortcutTest]:
    """Each rule on these items, which have one right option of several; not corrected for their number."""
    tests = []
    for number, rule in enumerate(SHORTCUT_RULES):
        picked, right = chosen["picked"][:, number].astype(np.int64), chosen["picks_right"][:, number]
        tests.append(measure_picks(rule, PickTable(chosen["options"], picked, right, chosen["cluster"])))
    return [test for test in tests if test.n]


def _balance_yes_no(rows: ItemRows) -> YesNoBalance | None:
    """None without yes/no questions that have an answer."""
    right = rows["right"][rows["kind"] == KINDS.index("yes_no")]
    yes, no = int((right == 0).sum()), int((right == 1).sum())
    if not yes + no:
        return None
    return YesNoBalance(yes, no, count_tails([EventGroup(0.5, yes + no)], yes).two_sided)


def _measure_options(rows: ItemRows, equal: int) -> OptionStatistics:
    """Numbers, lengths and order of the options of all items."""
    options, orders = rows["options"], rows["order"]
    numbers, items = np.unique(options[options > 0], return_counts=True)
    counts = dict(zip(numbers.tolist(), items.tolist(), strict=True))
    # Two options are always sorted, one way or the other.
    groups = [EventGroup(2 / math.factorial(k), n) for k, n in counts.items() if k > 2]
    in_order = int(np.abs(orders[options > 2]).sum())
    return OptionStatistics(
        counts=counts,
        length_ratio=_describe(rows["length_ratio"][options > 1]),
        equal=equal,
        ascending=int((orders == 1).sum()),
        descending=int((orders == -1).sum()),
        sorted_expected=counts.get(2, 0) + sum(group.probability * group.events for group in groups),
        sorted_p=count_tails(groups, in_order).two_sided,
    )


def _count_media(rows: ItemRows, columns: ItemColumns) -> MediaCounts:
    """Items by what they show."""
    images, videos = rows["images"], rows["videos"]
    several = (images > 1) & (videos == 0)
    return MediaCounts(
        none=int(((images == 0) & (videos == 0)).sum()),
        one_image=int(((images == 1) & (videos == 0)).sum()),
        several_images=int(several.sum()),
        images_of_several=int(images[several].sum()),
        video=int((videos > 0).sum()),
        frames=sum(video.frames for video in columns.videos) if columns.videos else None,
    )


def _measure_images(rows: ItemRows, columns: ItemColumns) -> MediaStatistics | None:
    """None without images."""
    facts = columns.images
    width, height = (np.array([getattr(one, side) for one in facts], np.float64) for side in ("width", "height"))
    measures = {
        "width": width,
        "height": height,
        "width / height": width / height.clip(1),
        "megapixels": width * height / 1e6,
        "bytes": [one.size for one in facts],
    }
    formats = Counter(one.format for one in facts)
    return _media_statistics("image", int(rows["images"].sum()), columns, measures, dict(formats.most_common()))


def _measure_videos(rows: ItemRows, columns: ItemColumns) -> MediaStatistics | None:
    """None without videos."""
    facts = columns.videos
    measures = {
        "seconds": [one.seconds for one in facts if one.seconds is not None],
        "frames a second": [one.fps for one in facts if one.fps],
        "frames": [one.frames for one in facts],
        "width": [one.width for one in facts],
        "height": [one.height for one in facts],
        "bytes": [one.size for one in facts],
    }
    return _media_statistics("video", int(rows["videos"].sum()), columns, measures, {})


def _media_statistics(
    kind: str, uses: int, columns: ItemColumns, measures: Mapping[str, Any], formats: Mapping[str, int]
) -> MediaStatistics | None:
    if not columns.distinct[kind]:
        return None
    described = {name: one for name, values in measures.items() if (one := _describe(values)) is not None}
    return MediaStatistics(uses, columns.distinct[kind], columns.unreadable[kind], described, formats)


def _measure_groups(columns: ItemColumns, rows: ItemRows) -> dict[str, list[GroupStatistics]]:
    """Statistics of each group of each column, the largest first; tests are corrected for all of
    them. Columns with a single label are left out, unless they were asked for."""
    measured = {}
    for name, labelled in columns.groups.items():
        labels = sorted(
            (label for label in labelled if labelled[label]), key=lambda label: (-len(labelled[label]), label)
        )
        if len(labels) > 1 or columns.by is not None:
            measured[name] = [_measure_group(label, rows[np.asarray(labelled[label])], columns) for label in labels]
    return _adjust_groups(measured)


def _measure_group(label: str, rows: ItemRows, columns: ItemColumns) -> GroupStatistics:
    options, chosen = rows["options"], _choices(rows)
    return GroupStatistics(
        label=label,
        items=len(rows),
        words=_measure_words(rows, columns),
        options=_describe(options[options > 0]),
        images=int(rows["images"].sum()),
        videos=int(rows["videos"].sum()),
        baselines=guess_baselines(rows),
        positions=_measure_positions(chosen),
        shortcuts=[test for test in _test_shortcuts(chosen) if test.n >= MIN_IN_GROUP],
    )


def _mean_frequent(groups: Sequence[GroupStatistics]) -> float:
    """Mean over groups of the most frequent place of each, in sample: MMT-Bench's `Frequency
    Guess`. 0 without answers."""
    scores = [group.baselines.frequent_in_sample for group in groups if group.baselines.n]
    return sum(scores) / len(scores) if scores else 0.0


def _adjust_groups(columns: Mapping[str, Sequence[GroupStatistics]]) -> dict[str, list[GroupStatistics]]:
    """Correct the tests of all groups together: positions among themselves, and shortcuts."""
    every = [group for groups in columns.values() for group in groups]
    places = iter(holm([group.positions.p for group in every if group.positions.freedom]))
    picks = iter(adjust_tests(test for group in every for test in group.shortcuts))

    def adjust(group: GroupStatistics) -> GroupStatistics:
        positions = group.positions
        if positions.freedom:
            positions = replace(positions, p_adjusted=next(places))
        return replace(group, positions=positions, shortcuts=[next(picks) for _ in group.shortcuts])

    return {name: [adjust(group) for group in groups] for name, groups in columns.items()}
