"""What `snellen curate statistics` measures, as values; JSON has the same fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from snellen.core.summary import Interval
from snellen_curate.statistics.positions import Baselines, PositionBalance
from snellen_curate.statistics.shortcuts import ShortcutTest

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Distribution(Struct, frozen=True):
    """A column of numbers. The standard deviation is that of these numbers (divided by n); the
    quantiles are those of `QUANTILES`, linear between values."""

    n: int
    mean: float
    deviation: float
    min: float
    max: float
    quantiles: tuple[float, ...]


class WordStatistics(Struct, frozen=True):
    """Words of the texts that exist; None where none does (MMT-Bench, Table A14)."""

    question: Distribution | None
    option: Distribution | None
    """Of each option."""
    answer: Distribution | None
    """Of the right option's text, or of the first accepted answer."""
    hint: Distribution | None = None


class MediaStatistics(Struct, frozen=True):
    """Images, or videos, of all items; what is measured counts each distinct one once."""

    uses: int
    """Each as often as an item has it."""
    distinct: int
    unreadable: int
    """Distinct ones that are missing, or whose header cannot be read."""
    measures: Mapping[str, Distribution]
    """Of images `width`, `height`, `width / height`, `megapixels` and `bytes`; of videos `seconds`
    (of the part that is asked about), `frames a second`, `frames` (duration times rate, or the
    files of a folder), `width`, `height` and `bytes`. Empty if headers were not read."""
    formats: Mapping[str, int] = {}


class MediaCounts(Struct, frozen=True):
    """Items by what they show (MMT-Bench, Table A15)."""

    none: int
    one_image: int
    several_images: int
    images_of_several: int
    """Images of the items with several."""
    video: int
    frames: int | None
    """Frames of the distinct videos; None if headers were not read."""


class YesNoBalance(Struct, frozen=True):
    """Right answers of yes/no questions, with the exact binomial test of equal shares."""

    yes: int
    no: int
    p: float


class OptionStatistics(Struct, frozen=True):
    """Options of the items that have some."""

    counts: Mapping[int, int]
    """Items by number of options."""
    length_ratio: Distribution | None
    """Longest option divided by the shortest of the same item, in characters."""
    equal: int
    """Items of which two options have the same text."""
    ascending: int
    """Items whose options ascend, as numbers or by alphabet."""
    descending: int
    sorted_expected: float
    """Items expected to ascend or descend if options were in random order."""
    sorted_p: float
    """Two-sided p-value of the number of sorted items, given that order."""


class GroupStatistics(Struct, frozen=True):
    """A value of a grouping column."""

    label: str
    """Empty for the items without one."""
    items: int
    words: WordStatistics
    options: Distribution | None
    """Number of options of the items that have some."""
    images: int
    videos: int
    baselines: Baselines
    positions: PositionBalance
    """Corrected for all groups of all columns."""
    shortcuts: Sequence[ShortcutTest]
    """Corrected for all rules and groups of all columns."""


class ProbeScore(Struct, frozen=True):
    """How many questions a classifier of texts answers that it was not trained on. Shares 0..1."""

    features: str
    """What it sees: `all`, or a part."""
    n: int
    right: int
    chance: float
    interval: Interval | None
    """Of the share that is right."""
    p: float
    """One-sided: as many by guessing."""

    @property
    def share(self) -> float:
        return self.right / self.n if self.n else 0.0


class TextProbe(Struct, frozen=True):
    """Cross-validated answers of a classifier that sees only question, options and their places."""

    folds: int
    items: int
    """Items it was trained and tested on: all, or a seeded sample."""
    of: int
    """Items that it could have been."""
    scores: Sequence[ProbeScore]
    """The whole classifier first, then what each part of its features reaches alone."""


class DatasetStatistics(Struct, frozen=True):
    """Everything that is measured about a data set."""

    name: str
    path: str
    digest: str
    rows: int
    items: int
    kinds: Mapping[str, int]
    distinct_questions: int
    distinct_words: int
    """In lower case and without punctuation, in questions, hints and options."""
    unspaced: int
    """Items with text in a script without spaces, of which each character counts as a word."""
    missing: Mapping[str, int]
    """What items lack, by what; zeros included."""
    words: WordStatistics
    options: OptionStatistics
    media: MediaCounts
    images: MediaStatistics | None
    videos: MediaStatistics | None
    positions: PositionBalance
    yes_no: YesNoBalance | None
    baselines: Baselines
    shortcuts: Sequence[ShortcutTest]
    groups: Mapping[str, Sequence[GroupStatistics]]
    """By column, the largest group first."""
    frequent_by_group: Mapping[str, float]
    """By column: the mean over groups of the most frequent place of each, as MMT-Bench's baseline
    `Frequency Guess`."""
    probe: TextProbe | None = None
    notices: Sequence[str] = ()
