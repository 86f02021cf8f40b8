"""What is kept of each item: some seventy bytes of numbers, never its texts, so that a million items
are summarised as one array in some 100 MB. Facts of images and videos come from their headers."""

from __future__ import annotations

import hashlib
import heapq
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from operator import ne
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import FileSource, ImageHeader, image_header
from snellen.core.sample import MediaRef, Sample, sampling_key
from snellen.data.media.sources import BrokenSource
from snellen.data.media.video import video_facts
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.data_sets.items import Item, item_kind
from snellen.settings import max_image_pixels
from snellen_curate.attribution import LICENCE_COLUMNS, own_licence
from snellen_curate.statistics.shortcut_rules import SHORTCUT_RULES, choice_texts, pick_options, sorted_orders
from snellen_curate.statistics.words import count_words, is_unspaced, split_all_terms

_HEADER_BYTES = 1 << 16
"""Enough for the header of nearly every image; a file whose header is longer is read whole."""


class ImageFacts(NamedTuple):
    """An image as it is stored: before its EXIF orientation."""

    width: int
    height: int
    format: str
    """Pillow's name, e.g. `JPEG`."""
    size: int
    """Bytes."""


class StoredVideo(NamedTuple):
    """A video by its header; of a folder of frames only the number and size of its files, and the
    width and height of the first."""

    seconds: float | None
    fps: float | None
    frames: int
    width: int
    height: int
    size: int
    """Bytes."""


def read_image_facts(ref: MediaRef) -> ImageFacts:
    """Read an image's header. Raises MediaError."""
    source = ref.source
    if not isinstance(source, FileSource):
        data = source.read()
        return ImageFacts(*image_header(data, max_image_pixels()), len(data))
    path = Path(source.path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(_HEADER_BYTES)
    except OSError as error:
        raise MediaError(f"cannot read {path}: {error.strerror or error}") from error
    return ImageFacts(*_header_of_part(source, data, size), size)


def _header_of_part(source: FileSource, data: bytes, size: int) -> ImageHeader:
    if size > len(data):
        try:
            return image_header(data, max_image_pixels())
        except MediaError:
            # Some formats keep their header at the end, and some are only read whole.
            data = source.read()
    return image_header(data, max_image_pixels())


def read_video_facts(ref: MediaRef) -> StoredVideo:
    """Read a video's header. Raises MediaError, MissingExtra."""
    source = ref.source
    if isinstance(source, FrameFolder):
        sizes = [read_image_facts(frame) for frame in source.frames[:1]]
        total = sum(_file_size(frame) for frame in source.frames)
        width, height = (sizes[0].width, sizes[0].height) if sizes else (0, 0)
        return StoredVideo(None, None, len(source.frames), width, height, total)
    if isinstance(source, VideoFile | FileSource):
        facts = video_facts(source.path, source.path)
        size = _file_size(ref)
    else:
        data = source.read()
        facts, size = video_facts(data, "a video inside the data file"), len(data)
    seconds = facts.duration
    if isinstance(source, VideoFile):
        end = min(seconds, seconds if source.end is None else source.end)
        seconds = max(0.0, end - (source.start or 0.0))
    frames = round(seconds * facts.fps)
    return StoredVideo(seconds, facts.fps, frames, facts.width, facts.height, size)


def _file_size(ref: MediaRef) -> int:
    source = ref.source
    if not isinstance(source, VideoFile | FileSource):
        return len(source.read())
    try:
        return Path(source.path).stat().st_size
    except OSError as error:
        raise MediaError(f"cannot read {source.path}: {error.strerror or error}") from error


KINDS = ("choice", "multi", "yes_no", "open", "place", "fields", "page")
"""Kinds of questions; their index is their code."""
SOURCE_COLUMN = "source"
MAX_LABELS = 10_000
"""Groups of a column above which it is no grouping."""

ITEM = np.dtype(
    [
        ("kind", "i1"),  # Index in `KINDS`.
        ("question_words", "i4"),
        ("hint_words", "i4"),
        ("answer_words", "i4"),  # -1 without an answer.
        ("options", "i4"),  # Number of options.
        ("first_option", "i8"),  # Where its options begin in `ItemColumns.option_words`.
        ("length_ratio", "f4"),  # Longest option divided by the shortest; NaN without options.
        ("order", "i1"),  # See `sorted_orders`.
        ("guessed", "i4"),  # Answers to guess among: 2 of yes/no questions, 0 of open ones.
        ("accepted", "i4"),  # How many of these are accepted; 0 without an answer.
        ("right", "i4"),  # Index of the right one, of yes/no questions 0 for yes; -1 if not one.
        ("images", "i4"),
        ("videos", "i4"),
        ("cluster", "u8"),  # Equal for items of one unit, or with the same images and videos.
        ("picked", "i2", len(SHORTCUT_RULES)),  # Options that each rule picks; 0 where it does not apply.
        ("picks_right", "?", len(SHORTCUT_RULES)),
    ]
)
"""What is kept of each item."""

_YES_NO = ("Yes", "No")

ItemRows = NDArray[Any]
"""An array of `ITEM`, (items,)."""


class SampledQuestion(NamedTuple):
    """A closed question for the text probe."""

    id: str
    question: str
    options: Sequence[str]
    right: int
    cluster: int


class ItemColumns:
    """Numbers of each item, appended some hundred items at a time; see `add`."""

    def __init__(self, by: Sequence[str] | None = None, read_media: bool = True, sample_size: int = 0) -> None:
        """`by`: columns to group by; None takes the groups of the samples, sources and licences.
        `read_media`: whether the headers of images and videos are read. `sample_size`: closed
        questions to keep for the text probe, drawn by their ids."""
        self.by, self.read_media, self.sample_size = by, read_media, sample_size
        self.option_words = array("i")
        """Of every option of every item, one after the other."""
        self.groups: dict[str, dict[str, array[int]]] = {name: _new_groups() for name in by or ()}
        """By column and label: the numbers of the items."""
        self.missing: Counter[str] = Counter()
        """What items lack, zeros included."""
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
        self._rows: list[ItemRows] = [np.zeros(0, ITEM)]
        self._count = 0
        self._too_fine: set[str] = set()
        """Columns that nobody asked for, with too many labels."""
        self._seen_media: dict[int, bool] = {}
        self._sample: list[tuple[int, int, SampledQuestion]] = []

    def __len__(self) -> int:
        return self._count

    def rows(self) -> ItemRows:
        """All items so far."""
        self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    @property
    def sample(self) -> list[SampledQuestion]:
        """The closed questions that were kept, in the order of the data."""
        return [question for _, _, question in sorted(self._sample, key=lambda kept: -kept[1])]

    def add(self, items: Sequence[Item]) -> None:
        """Append items, column by column. Raises UsageError for a grouping with too many groups."""
        self._add_groups(items)
        samples = [item.sample for item in items]
        # A row whose answer is none of its options stays a choice.
        kinds = ["choice" if item.problem and item.sample.options else item_kind(item) for item in items]
        options = [list(sample.options.values()) for sample in samples]
        rows = np.zeros(len(items), ITEM)
        rows["kind"] = list(map(KINDS.index, kinds))
        rows["options"] = sizes = np.array(list(map(len, options)), np.int64)
        rows["first_option"] = len(self.option_words) + np.cumsum(sizes) - sizes
        self._count_words(samples, options, rows)
        self._add_missing(items, rows)
        labels = [
            _YES_NO if kind == "yes_no" else sample.options if kind == "choice" else ()
            for kind, sample in zip(kinds, samples, strict=True)
        ]
        accepted = [
            [list(own).index(answer) for answer in sample.gold if answer in own]
            for own, sample in zip(labels, samples, strict=True)
        ]
        rows["guessed"] = list(map(len, labels))
        rows["accepted"] = list(map(len, accepted))
        rows["right"] = [places[0] if len(places) == 1 else -1 for places in accepted]
        rows["cluster"] = [
            _cluster(sample, number) if sample.media or sample.unit else 2 * number
            for number, sample in enumerate(samples, self._count)
        ]
        self._add_texts(samples, options, rows)
        for number in np.flatnonzero((rows["right"] >= 0) & (rows["guessed"] > 1)) if self.sample_size else ():
            shown = options[number] if kinds[number] == "choice" else _YES_NO
            self._draw(samples[number], shown, int(rows["right"][number]), int(rows["cluster"][number]))
        self._rows.append(rows)
        self._count += len(items)

    def _count_words(self, samples: Sequence[Sample], options: Sequence[Sequence[str]], rows: ItemRows) -> None:
        golds = [sample.gold[0] if sample.gold else "" for sample in samples]
        answers = [sample.options.get(gold, gold) for sample, gold in zip(samples, golds, strict=True)]
        rows["question_words"] = count_words([sample.question for sample in samples])
        rows["hint_words"] = count_words([sample.hint for sample in samples])
        rows["answer_words"] = np.where([bool(sample.gold) for sample in samples], count_words(answers), -1)
        self.option_words.extend(count_words(list(chain.from_iterable(options))))

    def _add_texts(self, samples: Sequence[Sample], options: Sequence[Sequence[str]], rows: ItemRows) -> None:
        """Set what is seen in the options, and add the words and texts that are counted over all items."""
        questions = [sample.question for sample in samples]
        texts = choice_texts(questions, options)
        picks = pick_options(texts)
        rows["order"] = sorted_orders(texts, options)
        rows["length_ratio"] = math.nan
        if len(starts := picks.starts[texts.sizes > 0]):
            lengths = texts.lengths.clip(1)
            longest, shortest = np.maximum.reduceat(lengths, starts), np.minimum.reduceat(lengths, starts)
            rows["length_ratio"][texts.sizes > 0] = longest / shortest
        ruled = np.flatnonzero((rows["kind"] == KINDS.index("choice")) & (rows["right"] >= 0) & (rows["guessed"] > 1))
        rows["picked"][ruled] = picks.counts.T[ruled]
        rows["picks_right"][ruled] = picks.options[:, picks.starts[ruled] + rows["right"][ruled]].T
        self.equal_options += sum(map(ne, map(len, map(set, options)), map(len, options)))
        if not "".join(chain(questions, *options)).isascii():
            self.unspaced += sum(
                [any(map(is_unspaced, (each, *own))) for each, own in zip(questions, options, strict=True)]
            )
        self.questions.update(map(hash, questions))
        hints = split_all_terms([sample.hint for sample in samples if sample.hint])
        terms = set(chain.from_iterable(chain(texts.question_terms, texts.option_terms, hints)))
        self.words.update(map(hash, terms))

    def _add_groups(self, items: Sequence[Item]) -> None:
        """Add the labels of the items. Raises UsageError for a column of `by` with more than
        `MAX_LABELS` labels."""
        first = self._new_columns(items) if self.by is None else {}
        for name, labelled in list(self.groups.items()):
            begin = first.get(name, self._count)
            for number, item in enumerate(items[begin - self._count :], begin):
                labelled[item.label(name)].append(number)
            if len(labelled) > MAX_LABELS:
                if self.by is not None:
                    raise UsageError(
                        f"--group {name}: the column has more than {MAX_LABELS:,} different "
                        "values; expected a column that groups items, such as category"
                    )
                del self.groups[name]
                self._too_fine.add(name)

    def _new_columns(self, items: Sequence[Item]) -> dict[str, int]:
        """Add the groups, sources and licences that no item before had: to each the number of its first item."""
        known = self.groups.keys() | self._too_fine
        cells = set[str]().union(*[item.cells for item in items])
        stated = [name for name in (SOURCE_COLUMN, *LICENCE_COLUMNS) if name in cells]
        first: dict[str, int] = {}
        if known.issuperset(chain(stated, *[item.sample.groups for item in items])):
            return first
        for number, item in enumerate(items, self._count):
            for name in (*item.sample.groups, *(name for name in stated if name in item.cells)):
                if name not in known:
                    known.add(name)
                    first[name] = number
                    self.groups[name] = _new_groups()
                    self.groups[name][""].extend(range(number))
        return first

    def _add_missing(self, items: Sequence[Item], rows: ItemRows) -> None:
        """Count what items lack, and set their numbers of media; each distinct medium is looked at."""
        samples = [item.sample for item in items]
        unreadable = 0
        for number, sample in enumerate(samples):
            if sample.media:
                kinds = [ref.kind for ref in sample.media]
                rows["images"][number], rows["videos"][number] = kinds.count("image"), kinds.count("video")
                unreadable += False in [self._is_readable(ref) for ref in sample.media]
        lacking = {
            "question": sum([not sample.question for sample in samples]),
            "options": int(((rows["kind"] == KINDS.index("choice")) & (rows["options"] == 0)).sum()),
            "option text": sum([not all(sample.options.values()) for sample in samples]),
            "answer": sum([not sample.gold for sample in samples]),
            "image or video": sum([not sample.media for sample in samples]),
            "source": sum([not item.label(SOURCE_COLUMN) for item in items]),
            "licence": sum([not item.cells or not own_licence(item.cells) for item in items]),
            "readable image or video": unreadable,
            "valid row": sum([bool(item.problem) for item in items]),
        }
        for what, count in lacking.items():
            self.missing[what] += count

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
        text = f"{sample.hint}\n{sample.question}" if sample.hint else sample.question
        entry = (key, -self.closed, SampledQuestion(sample.id, text, options, right, cluster))
        if len(self._sample) < self.sample_size:
            heapq.heappush(self._sample, entry)
        else:
            heapq.heappushpop(self._sample, entry)


def _new_groups() -> dict[str, array[int]]:
    return defaultdict(lambda: array("I"))


def _cluster(sample: Sample, number: int) -> int:
    """Cluster id: shared by items of one unit, or else with the same media (odd), or unique
    (even)."""
    if len(sample.media) == 1 and not sample.unit:
        return int(sample.media[0].digest[:16], 16) | 1
    if not (sample.unit or sample.media):
        return 2 * number
    shared = sample.unit or " ".join(sorted({ref.digest for ref in sample.media}))
    # Not `hash`, which is another in each process.
    digest = hashlib.blake2b(shared.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) | 1
