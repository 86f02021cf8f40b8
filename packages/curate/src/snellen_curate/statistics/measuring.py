"""`measure_data`: the statistics of any data set and of its groups. Items are read one by one into
columns of numbers, which are summarised as arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy import bool_, float64, int64, uint64
from numpy.typing import NDArray

from snellen.core.errors import UnknownName
from snellen.data_sets.items import ItemTable
from snellen.stats.exact_counts import EventGroup, count_tails
from snellen.stats.paired import holm
from snellen_curate.open_data import open_items
from snellen_curate.statistics.item_columns import KINDS, MISSING, ItemColumns
from snellen_curate.statistics.positions import (
    AnswerArrays,
    Baselines,
    PositionBalance,
    balance_of_counts,
    guess_baselines,
)
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
_NOTHING = 255


def describe(values: Any) -> Distribution | None:
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


@dataclass
class ItemArrays:
    """The columns of all items as arrays, and statistics of any part of them."""

    columns: ItemColumns

    def integers(self, name: str) -> NDArray[int64]:
        return _integers(self.columns.numbers[name])

    @cached_property
    def kinds(self) -> NDArray[int64]:
        return self.integers("kinds")

    @cached_property
    def options(self) -> NDArray[int64]:
        return self.integers("options")

    @cached_property
    def right(self) -> NDArray[int64]:
        """Index of the right option; -1 if there is not exactly one."""
        right = self.integers("right")
        return np.where(right == _NOTHING, -1, right)

    @cached_property
    def clusters(self) -> NDArray[uint64]:
        return np.frombuffer(self.columns.numbers["clusters"], dtype=np.uint64)

    @cached_property
    def option_starts(self) -> NDArray[int64]:
        """Where the options of each item begin in `option_words`, and the end of the last."""
        return np.concatenate(([0], np.cumsum(self.options)))

    @cached_property
    def choices(self) -> NDArray[bool_]:
        """Items with one right option of several."""
        is_choice = self.kinds == KINDS.index("choice")
        both: NDArray[bool_] = is_choice & (self.right >= 0) & (self.options > 1)
        return both

    def every(self) -> NDArray[int64]:
        """Indices of all items."""
        return np.arange(len(self.columns))

    def words(self, items: NDArray[int64]) -> WordStatistics:
        """Words of the texts of these items, given by their indices."""
        question = self.integers("question_words")[items]
        hint = self.integers("hint_words")[items]
        answer = self.integers("answer_words")[items]
        counts, starts = self.options[items], self.option_starts[items]
        inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        option_words = _integers(self.columns.option_words)[np.repeat(starts, counts) + inside]
        return WordStatistics(
            question=describe(question[question > 0]),
            option=describe(option_words),
            answer=describe(answer[answer >= 0]),
            hint=describe(hint[hint > 0]),
        )

    def answers(self, items: NDArray[int64]) -> AnswerArrays:
        """The items with an answer, for guessing."""
        items = items[self.integers("answer_words")[items] >= 0]
        yes_no = self.kinds[items] == KINDS.index("yes_no")
        closed = yes_no | ((self.kinds[items] == KINDS.index("choice")) & (self.options[items] > 0))
        return AnswerArrays(
            yes_no=yes_no,
            options=np.where(yes_no, 2, np.where(closed, self.options[items], 0)),
            accepted=self.integers("accepted")[items],
            right=np.where(closed, self.right[items], -1),
            clusters=self.clusters[items],
        )

    def baselines(self, items: NDArray[int64]) -> Baselines:
        return guess_baselines(self.answers(items))

    def positions(self, items: NDArray[int64]) -> PositionBalance:
        """Where the right options of these items stand."""
        chosen = items[self.choices[items]]
        options, right = self.options[chosen], self.right[chosen]
        return balance_of_counts(
            {
                count: np.bincount(right[options == count], minlength=count).tolist()
                for count in np.unique(options).tolist()
            }
        )

    def shortcuts(self, items: NDArray[int64]) -> list[ShortcutTest]:
        """Each rule on these items, not corrected for their number."""
        chosen = items[self.choices[items]]
        options, clusters = self.options[chosen], self.clusters[chosen]
        tests = (
            measure_picks(
                rule,
                PickTable(
                    options,
                    _integers(self.columns.picked[rule])[chosen],
                    _integers(self.columns.picks_right[rule])[chosen] > 0,
                    clusters,
                ),
            )
            for rule in SHORTCUT_RULES
        )
        return [test for test in tests if test.n]

    def yes_no(self) -> YesNoBalance | None:
        """None without yes/no questions that have an answer."""
        right = self.right[self.kinds == KINDS.index("yes_no")]
        yes, no = int((right == 0).sum()), int((right == 1).sum())
        if not yes + no:
            return None
        return YesNoBalance(yes, no, count_tails([EventGroup(0.5, yes + no)], yes).two_sided)

    def option_statistics(self) -> OptionStatistics:
        """Numbers, lengths and order of the options of all items."""
        every = np.unique(self.options[self.options > 0], return_counts=True)
        counts = dict(zip(*(part.tolist() for part in every), strict=True))
        ratios = np.frombuffer(self.columns.numbers["length_ratios"], dtype=np.float32)
        orders = np.frombuffer(self.columns.numbers["orders"], dtype=np.int8)
        ascending, descending = int((orders == 1).sum()), int((orders == -1).sum())
        # Two options are always sorted, one way or the other.
        groups = [EventGroup(2 / math.factorial(k), n) for k, n in counts.items() if k > 2]
        of_two = counts.get(2, 0)
        sorted_ = int((np.abs(orders[self.options > 2])).sum())
        return OptionStatistics(
            counts=counts,
            length_ratio=describe(ratios[(self.options > 1) & ~np.isnan(ratios)]),
            equal=self.columns.equal_options,
            ascending=ascending,
            descending=descending,
            sorted_expected=of_two + sum(group.probability * group.events for group in groups),
            sorted_p=count_tails(groups, sorted_).two_sided,
        )

    def media(self) -> MediaCounts:
        """Items by what they show."""
        images, videos = self.integers("images"), self.integers("videos")
        several = (images > 1) & (videos == 0)
        facts = self.columns.videos
        return MediaCounts(
            none=int(((images == 0) & (videos == 0)).sum()),
            one_image=int(((images == 1) & (videos == 0)).sum()),
            several_images=int(several.sum()),
            images_of_several=int(images[several].sum()),
            video=int((videos > 0).sum()),
            frames=sum(video.frames for video in facts) if facts else None,
        )

    def image_statistics(self) -> MediaStatistics | None:
        """None without images."""
        facts = self.columns.images
        width, height = (np.array([getattr(one, side) for one in facts], np.float64) for side in ("width", "height"))
        measures = {
            "width": width,
            "height": height,
            "width / height": width / height.clip(1),
            "megapixels": width * height / 1e6,
            "bytes": [one.size for one in facts],
        }
        formats = Counter(one.format for one in facts)
        return self._media_statistics("image", measures, dict(formats.most_common()))

    def video_statistics(self) -> MediaStatistics | None:
        """None without videos."""
        facts = self.columns.videos
        measures = {
            "seconds": [one.seconds for one in facts if one.seconds is not None],
            "frames a second": [one.fps for one in facts if one.fps],
            "frames": [one.frames for one in facts],
            "width": [one.width for one in facts],
            "height": [one.height for one in facts],
            "bytes": [one.size for one in facts],
        }
        return self._media_statistics("video", measures, {})

    def _media_statistics(
        self, kind: str, measures: Mapping[str, Any], formats: Mapping[str, int]
    ) -> MediaStatistics | None:
        columns = self.columns
        if not columns.distinct[kind]:
            return None
        described = {name: describe(values) for name, values in measures.items()}
        return MediaStatistics(
            int(self.integers(f"{kind}s").sum()),
            columns.distinct[kind],
            columns.unreadable[kind],
            {name: one for name, one in described.items() if one is not None},
            formats,
        )

    def groups(self) -> dict[str, list[GroupStatistics]]:
        """Statistics of each group of each column, the largest first; tests are corrected for all
        of them. Columns with a single label are left out."""
        columns = {}
        for name, column in self.columns.groups.items():
            labels = _label_items(column)
            if len(labels) > 1 or self.columns.by is not None:
                columns[name] = [self._group(label, items) for label, items in labels]
        return _adjust_groups(columns)

    def _group(self, label: str, items: NDArray[int64]) -> GroupStatistics:
        options = self.options[items]
        return GroupStatistics(
            label=label,
            items=len(items),
            words=self.words(items),
            options=describe(options[options > 0]),
            images=int(self.integers("images")[items].sum()),
            videos=int(self.integers("videos")[items].sum()),
            baselines=self.baselines(items),
            positions=self.positions(items),
            shortcuts=[test for test in self.shortcuts(items) if test.n >= MIN_IN_GROUP],
        )

    def kind_counts(self) -> dict[str, int]:
        """Items by kind, the kinds that occur."""
        counts = np.bincount(self.kinds, minlength=len(KINDS)).tolist()
        return {kind: count for kind, count in zip(KINDS, counts, strict=True) if count}

    def missing_counts(self) -> dict[str, int]:
        return {what: self.columns.missing[what] for what in MISSING}


def mean_frequent(groups: Sequence[GroupStatistics]) -> float:
    """Mean over groups of the most frequent place of each, in sample: MMT-Bench's `Frequency
    Guess`. 0 without answers."""
    scores = [group.baselines.frequent_in_sample for group in groups if group.baselines.n]
    return sum(scores) / len(scores) if scores else 0.0


def _label_items(column: Any) -> list[tuple[str, NDArray[int64]]]:
    """Each label that occurs with the indices of its items, the largest first."""
    codes = np.frombuffer(column.codes, dtype=np.uint32)
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=len(column.labels))
    parts = np.split(order, np.cumsum(sizes)[:-1])
    labelled = [(label, parts[code]) for label, code in column.labels.items() if sizes[code]]
    return sorted(labelled, key=lambda part: (-len(part[1]), part[0]))


def _adjust_groups(columns: Mapping[str, Sequence[GroupStatistics]]) -> dict[str, list[GroupStatistics]]:
    """Correct the tests of all groups together: positions among themselves, and shortcuts."""
    every = [group for groups in columns.values() for group in groups]
    places = iter(holm([group.positions.p for group in every if group.positions.freedom]))
    picks = iter(adjust_tests(test for group in every for test in group.shortcuts))
    return {
        name: [
            replace(
                group,
                positions=replace(group.positions, p_adjusted=next(places))
                if group.positions.freedom
                else group.positions,
                shortcuts=[next(picks) for _ in group.shortcuts],
            )
            for group in groups
        ]
        for name, groups in columns.items()
    }


def _integers(column: Any) -> NDArray[int64]:
    """An array of integers, from any of the compact types."""
    return np.asarray(column).astype(np.int64)
