"""What is kept of each item: a few dozen bytes of numbers, never its texts, so that a million items
are summarised as arrays in some 100 MB."""

from __future__ import annotations

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from snellen.core.errors import MediaError, UsageError
from snellen.core.sample import MediaRef, Sample, sampling_key
from snellen.data.media.sources import BrokenSource
from snellen.data_sets.items import Item, item_kind
from snellen_curate.attribution import LICENCE_COLUMNS, own_licence
from snellen_curate.statistics.media_facts import ImageFacts, StoredVideo, read_image_facts, read_video_facts
from snellen_curate.statistics.shortcut_rules import SHORTCUT_RULES, ChoiceTexts, choice_texts, sorted_order
from snellen_curate.statistics.words import count_words, is_unspaced, split_terms

KINDS = ("choice", "multi", "yes_no", "open")
"""Kinds of questions; their index is their code."""
SOURCE_COLUMN = "source"
MISSING = (
    "question",
    "options",
    "option text",
    "answer",
    "image or video",
    "source",
    "licence",
    "readable image or video",
    "valid row",
)
"""What an item may lack."""
MAX_LABELS = 10_000
"""Groups of a column above which it is no grouping."""
_NOTHING = 255


class GroupLabels:
    """The label of each item in one column, as codes."""

    def __init__(self, items_before: int = 0) -> None:
        self.labels: dict[str, int] = {"": 0}
        self.codes = array("I", bytes(4 * items_before))

    def add(self, label: str) -> None:
        self.codes.append(self.labels.setdefault(label, len(self.labels)))


class SampledQuestion(NamedTuple):
    """A closed question for the text probe."""

    id: str
    question: str
    options: Sequence[str]
    right: int
    cluster: int


_NUMBERS = {
    "kinds": "B",  # Index in `KINDS`.
    "question_words": "I",
    "hint_words": "I",
    "answer_words": "i",  # -1 without an answer.
    "options": "B",  # Number of options.
    "length_ratios": "f",  # NaN without options.
    "orders": "b",  # See `sorted_order`.
    "accepted": "B",  # Number of accepted options; 0 without an answer.
    "right": "B",  # Index of the right option, of yes/no questions 0 for yes; 255 if not one.
    "images": "H",
    "videos": "H",
    "clusters": "Q",  # Equal for items of one unit, or with the same images and videos.
}
"""What is kept of each item, and the type code of its array."""


class ItemColumns:
    """Numbers of each item, appended one by one; see `add`."""

    def __init__(self, by: Sequence[str] | None = None, read_media: bool = True, sample_size: int = 0) -> None:
        """`by`: columns to group by; None takes the groups of the samples, sources and licences.
        `read_media`: whether the headers of images and videos are read. `sample_size`: closed
        questions to keep for the text probe, drawn by their ids."""
        self.by, self.read_media, self.sample_size = by, read_media, sample_size
        self.numbers: dict[str, array[Any]] = {name: array(code) for name, code in _NUMBERS.items()}
        self.option_words = array("I")
        """Of every option of every item, one after the other."""
        self.picked = {rule: array("B") for rule in SHORTCUT_RULES}
        """By rule: number of options that it picks; 0 where it does not apply."""
        self.picks_right = {rule: array("B") for rule in SHORTCUT_RULES}
        self.groups: dict[str, GroupLabels] = {name: GroupLabels() for name in by or ()}
        self.missing: Counter[str] = Counter()
        self.equal_options = self.unspaced = self.closed = 0
        """`closed`: questions with one right option, from which the sample is drawn."""
        self.images: list[ImageFacts] = []
        self.videos: list[StoredVideo] = []
        """Facts of each distinct image and video."""
        self.distinct: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()
        """Distinct images and videos by kind."""
        self.words: set[int] = set()
        self.questions: set[int] = set()
        """Hashes of 64 bits: two of a million are equal with a probability of 3 in 100 million."""
        self._rules = [
            (function, self.picked[rule].append, self.picks_right[rule].append)
            for rule, function in SHORTCUT_RULES.items()
        ]
        self._seen_media: dict[int, bool] = {}
        self._sample: list[tuple[int, int, SampledQuestion]] = []

    def __len__(self) -> int:
        return len(self.numbers["kinds"])

    @property
    def sample(self) -> list[SampledQuestion]:
        """The closed questions that were kept, in the order of the data."""
        return [question for _, _, question in sorted(self._sample, key=lambda kept: -kept[1])]

    def add(self, item: Item) -> None:
        """Append an item. Raises UsageError for a grouping with too many groups."""
        sample, number = item.sample, len(self)
        self._add_groups(item, number)
        # A row whose answer is none of its options stays a choice.
        kind = "choice" if item.problem and sample.options else item_kind(item)
        options = list(sample.options.values())
        texts = choice_texts(sample.question, options)
        self._add_texts(sample, texts)
        self._add_missing(item, kind, options)
        right, accepted = _right_option(sample, kind)
        cluster = _cluster(sample, number)
        gold = sample.gold[0] if sample.gold else ""
        media = [ref.kind for ref in sample.media]
        lengths = texts.lengths
        values = {
            "kinds": KINDS.index(kind),
            "question_words": count_words(sample.question),
            "hint_words": count_words(sample.hint) if sample.hint else 0,
            "answer_words": count_words(sample.options.get(gold, gold)) if sample.gold else -1,
            "options": min(len(options), _NOTHING),
            "length_ratios": max(1, *lengths) / max(1, min(lengths)) if options else math.nan,
            "orders": sorted_order(texts),
            "accepted": accepted,
            "right": right,
            "images": media.count("image"),
            "videos": media.count("video"),
            "clusters": cluster,
        }
        for name, value in values.items():
            self.numbers[name].append(value)
        applies = kind == "choice" and right != _NOTHING and len(options) > 1
        for function, add_picked, add_right in self._rules:
            picks = function(texts) if applies else ()
            add_picked(len(picks))
            add_right(1 if right in picks else 0)
        if self.sample_size and (applies or (kind == "yes_no" and right != _NOTHING)):
            self._draw(sample, options if applies else ["Yes", "No"], right, cluster)

    def _add_texts(self, sample: Sample, texts: ChoiceTexts) -> None:
        """Add the words and texts that are counted over all items."""
        self.option_words.extend(map(count_words, texts.options))
        self.equal_options += len(set(texts.options)) < len(texts.options)
        self.unspaced += is_unspaced(sample.question) or is_unspaced(texts.lines)
        self.questions.add(hash(sample.question))
        self.words.update(map(hash, chain(texts.question_terms, *texts.option_terms)))
        if sample.hint:
            self.words.update(map(hash, split_terms(sample.hint)))

    def _add_groups(self, item: Item, number: int) -> None:
        """Add the labels of item `number`, counted from 0. Raises UsageError for a column of `by`
        with more than `MAX_LABELS` labels."""
        groups = self.groups
        if self.by is None:
            for name in item.sample.groups:
                if name not in groups:
                    groups[name] = GroupLabels(number)
            for name in (SOURCE_COLUMN, *LICENCE_COLUMNS):
                if name not in groups and name in item.cells:
                    groups[name] = GroupLabels(number)
        for name, column in list(groups.items()):
            column.add(item.label(name))
            if len(column.labels) > MAX_LABELS:
                if self.by is not None:
                    raise UsageError(
                        f"--group {name}: the column has more than {MAX_LABELS:,} different "
                        "values; expected a column that groups items, such as category"
                    )
                # Of a column that nobody asked for only the first value is remembered.
                column.labels = {"": 0}
                column.codes = array("I", bytes(4 * (number + 1)))

    def _add_missing(self, item: Item, kind: str, options: Sequence[str]) -> None:
        sample = item.sample
        # All are looked at: each distinct medium is counted.
        readable = [self._is_readable(ref) for ref in sample.media]
        lacking = {
            "question": not sample.question,
            "options": kind == "choice" and not options,
            "option text": bool(options) and not all(options),
            "answer": not sample.gold,
            "image or video": not sample.media,
            "source": not item.label(SOURCE_COLUMN),
            "licence": not own_licence(item.cells),
            "readable image or video": not all(readable),
            "valid row": bool(item.problem),
        }
        self.missing.update(what for what, lacks in lacking.items() if lacks)

    def _is_readable(self, ref: MediaRef) -> bool:
        """Whether a medium can be read, as far as that is known; a new one is added."""
        key = int(ref.digest[:16], 16)
        if key not in self._seen_media:
            self.distinct[ref.kind] += 1
            self._seen_media[key] = self._add_facts(ref)
            self.unreadable[ref.kind] += not self._seen_media[key]
        return self._seen_media[key]

    def _add_facts(self, ref: MediaRef) -> bool:
        try:
            if isinstance(ref.source, BrokenSource):
                raise MediaError(ref.source.reason)
            if self.read_media and ref.kind == "video":
                self.videos.append(read_video_facts(ref))
            elif self.read_media and ref.kind == "image":
                self.images.append(read_image_facts(ref))
        except MediaError:
            return False
        return True

    def _draw(self, sample: Sample, options: Sequence[str], right: int, cluster: int) -> None:
        """Keep the questions whose keys are the smallest, on a heap with the greatest on top."""
        self.closed += 1
        key = -int.from_bytes(sampling_key(0, sample.id)[:8])
        kept = self._sample
        if len(kept) >= self.sample_size and key <= kept[0][0]:
            return
        question = SampledQuestion(sample.id, _with_hint(sample), options, right, cluster)
        entry = (key, -self.closed, question)
        if len(kept) < self.sample_size:
            heapq.heappush(kept, entry)
        else:
            heapq.heapreplace(kept, entry)


def _with_hint(sample: Sample) -> str:
    return f"{sample.hint}\n{sample.question}" if sample.hint else sample.question


def _cluster(sample: Sample, number: int) -> int:
    """Cluster id: shared by items of one unit, or else with the same media (odd), or unique
    (even)."""
    if sample.unit:
        shared = hash(sample.unit)
    elif len(sample.media) == 1:
        shared = int(sample.media[0].digest[:16], 16)
    elif sample.media:
        shared = hash(frozenset(ref.digest for ref in sample.media))
    else:
        return 2 * number
    return shared & 0xFFFF_FFFF_FFFF_FFFF | 1


def _right_option(sample: Sample, kind: str) -> tuple[int, int]:
    """Index of the right option, 255 if there is not exactly one, and the number of accepted
    ones."""
    gold = sample.gold
    if kind == "yes_no":
        labels: Sequence[str] = ("Yes", "No")
    elif kind == "choice":
        labels = tuple(sample.options)
    else:
        return _NOTHING, 0
    indices = [labels.index(answer) for answer in gold if answer in labels]
    return (indices[0] if len(indices) == 1 else _NOTHING), len(indices)
