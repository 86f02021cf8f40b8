"""Findings about data of one's own before a model is asked: each with the rows it is about."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

from snellen.benchmarks.protocol.flows import count_missing_rotations
from snellen.core.benchmark import Benchmark, Table
from snellen.core.errors import DataError, MediaError
from snellen.core.media import decode_image
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_id
from snellen.data.tables.info import verify_images
from snellen.engine.offline.gold_check import answer_samples, gold_reply
from snellen.settings import max_image_pixels

_MIN_SIMILARITY = 0.95
"""Share of a text that must be the same for two questions about one picture to be near copies."""
_BITS = 64
_MAX_HASH_DISTANCE = 3
"""Bits of 64 in which the hashes of two near copies of a picture may differ."""
_BANDS = _MAX_HASH_DISTANCE + 1
"""Two hashes that differ in so few bits are equal in at least one of so many bands."""
_MAX_CELL_DIFFERENCE = 24
"""Most that a cell of two near copies may differ, of 255: re-encoding changes a picture everywhere
a little, another picture of the same kind changes it somewhere a lot."""
_MAX_ASPECT_DIFFERENCE = 0.02
"""Most that width by height of two near copies may differ, as a share."""
_MIN_SET_BITS = 6
"""Fewer bits set, or unset, than this: the picture has too little in it to be compared."""
_MAX_BUCKET_SIZE = 400
_MAX_ROWS = 20
"""Rows that one finding names."""


class DataIssue(Struct, frozen=True):
    """One thing to look at. `rows` are counted from 1, as a table shows them under its header."""

    check: str
    rows: tuple[int, ...]
    message: str


def find_data_issues(benchmark: Benchmark, table: Table) -> list[DataIssue]:
    """All that is wrong or doubtful: ids held twice, pictures that cannot be opened, rows that
    cannot be asked, options that are alike, gold answers that do not score full, and questions and
    pictures that are near copies of others."""
    rows = list(table)
    numbers = {row_id(row): row.index + 1 for row in reversed(rows)}
    issues = [*_duplicate_ids(rows), *_broken_images(table)]
    samples: list[Sample] = []
    try:
        samples.extend(benchmark.samples(table))
    except DataError as error:
        if not any(one.check == "ids" for one in issues):
            issues.append(DataIssue("rows", (), str(error)))
        return [*issues, *find_similar_images(rows)]
    issues += _missing_questions(samples, numbers, table)
    issues += _option_issues(samples, numbers)
    issues += _missing_rotations(samples, numbers)
    issues += _gold_issues(benchmark, samples, numbers)
    issues += _similar_questions(samples, numbers)
    return [*issues, *find_similar_images(rows)]


def _missing_rotations(
    samples: Sequence[Sample], numbers: Mapping[str, int]
) -> Iterator[DataIssue]:
    for sample in samples:
        if missing := count_missing_rotations(sample):
            yield DataIssue(
                "rotations",
                (numbers[sample.id],) if sample.id in numbers else (),
                f"the question has {len(sample.options)} options, and "
                f"{'a rotation' if missing == 1 else f'{missing} rotations'} of them "
                f"{'is' if missing == 1 else 'are'} not there: it counts by the rows that are",
            )


def _duplicate_ids(rows: Sequence[Row]) -> Iterator[DataIssue]:
    rows_by_id: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        rows_by_id[row_id(row)].append(row.index + 1)
    for name, numbers in rows_by_id.items():
        if len(numbers) > 1:
            yield DataIssue("ids", tuple(numbers), f"the id {name!r} stands there more than once")


def _broken_images(table: Table) -> Iterator[DataIssue]:
    for one in verify_images(table).broken:
        yield DataIssue("pictures", (one.row,), one.problem)


def _missing_questions(
    samples: Sequence[Sample], numbers: dict[str, int], table: Table
) -> Iterator[DataIssue]:
    """Rows with nothing to ask: neither a question nor a picture or video."""
    without_question = [sample for sample in samples if not sample.question]
    if len(without_question) < len(samples):
        without_question = [sample for sample in without_question if not sample.media]
    if without_question:
        rows = tuple(numbers.get(sample.id, 0) for sample in without_question[:_MAX_ROWS])
        columns = ", ".join(table.columns)
        yield DataIssue(
            "questions", rows, f"there is no question to ask; the columns are {columns}"
        )


def _option_issues(samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[DataIssue]:
    for sample in samples:
        row = (numbers.get(sample.id, 0),)
        labels: dict[str, list[str]] = defaultdict(list)
        for label, text in sample.options.items():
            labels[_normalise_text(text)].append(label)
        for same in labels.values():
            if len(same) > 1 and not any("<image" in sample.options[label] for label in same):
                text = sample.options[same[0]]
                yield DataIssue("options", row, f"{' and '.join(same)} are the same: {text!r}")
        if sample.options and len(sample.options) < 2:
            yield DataIssue("options", row, "there is only one option")
        if not sample.gold:
            yield DataIssue("answers", row, "there is no answer: the row is asked and not scored")


def _gold_issues(
    benchmark: Benchmark, samples: Sequence[Sample], numbers: dict[str, int]
) -> Iterator[DataIssue]:
    """A perfect model's replies are sent through asking, reading and grading."""
    if benchmark.unscorable:
        return
    for record in answer_samples(benchmark, samples, gold_reply):
        if record.gold and record.score is not None and record.score < 1.0:
            row = (numbers.get(record.id, 0),)
            reply = record.gold[0]
            yield DataIssue(
                "gold",
                row,
                f"the answer {reply!r}, given as a reply, is read as {record.answer!r} and scores "
                f"{100 * record.score:.0f} of 100",
            )


def _similar_questions(samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[DataIssue]:
    """Questions about the same pictures, with the same options, in almost the same words."""
    from rapidfuzz.distance import Indel

    buckets: dict[tuple[object, ...], list[tuple[str, Sample]]] = defaultdict(list)
    for sample in samples:
        images = tuple(ref.digest for ref in sample.media)
        options = tuple(sorted(_normalise_text(text) for text in sample.options.values()))
        exact = () if images else (_normalise_text(sample.question),)
        buckets[(images, options, exact)].append((_normalise_text(sample.question), sample))
    for bucket in buckets.values():
        for (one, first), (other, second) in combinations(bucket[:_MAX_BUCKET_SIZE], 2):
            if Indel.normalized_similarity(one, other, score_cutoff=_MIN_SIMILARITY) and (
                one == other or first.gold == second.gold
            ):
                rows = (numbers.get(first.id, 0), numbers.get(second.id, 0))
                same = "the same question" if one == other else "almost the same question"
                yield DataIssue("questions", rows, f"{same}: {first.question[:80]!r}")


def find_similar_images(rows: Sequence[Row]) -> Iterator[DataIssue]:
    """Pictures with other bytes that look alike: each is told with the first that it is like."""
    seen: set[str] = set()
    bands: dict[tuple[int, int], list[tuple[ImageFingerprint, int]]] = defaultdict(list)
    for row in rows:
        for ref in row.media:
            if ref.kind != "image" or ref.digest in seen:
                continue
            seen.add(ref.digest)
            try:
                fingerprint = image_fingerprint(ref.source.read())
            except MediaError:
                continue  # told already
            if fingerprint is None:
                continue
            band_keys = list(enumerate(_split_into_bands(fingerprint.bits)))
            candidates = [one for place in band_keys for one in bands[place][:_MAX_BUCKET_SIZE]]
            similar_rows = [number for other, number in candidates if other.is_similar(fingerprint)]
            if similar_rows:
                pair = (min(similar_rows), row.index + 1)
                yield DataIssue("near pictures", pair, "these pictures look alike")
            for place in band_keys:
                bands[place].append((fingerprint, row.index + 1))


class ImageFingerprint(NamedTuple):
    """What a picture looks like, made small."""

    bits: int
    """Difference hash: each of 64 bits tells whether a cell of a grey picture of 9 x 8 cells is
    brighter than the next. It finds candidates."""
    cells: bytes
    """A grey picture of 32 x 32 cells and a coloured one of 8 x 8, which tell pictures apart that
    differ in one place or in colour only."""
    aspect_ratio: float
    """Width by height."""

    def is_similar(self, other: ImageFingerprint) -> bool:
        return (
            (self.bits ^ other.bits).bit_count() <= _MAX_HASH_DISTANCE
            and abs(self.aspect_ratio / other.aspect_ratio - 1) <= _MAX_ASPECT_DIFFERENCE
            and all(
                abs(a - b) <= _MAX_CELL_DIFFERENCE
                for a, b in zip(self.cells, other.cells, strict=True)
            )
        )


def image_fingerprint(data: bytes) -> ImageFingerprint | None:
    """None for a picture with too little in it to be compared. Raises MediaError."""
    from PIL import Image

    image = decode_image(data, max_image_pixels())
    grey = image.convert("L")
    cells = grey.resize((9, 8), Image.Resampling.LANCZOS).tobytes()
    bits = 0
    for y in range(8):
        for x in range(8):
            bits = bits << 1 | (cells[9 * y + x] > cells[9 * y + x + 1])
    if not _MIN_SET_BITS <= bits.bit_count() <= _BITS - _MIN_SET_BITS:
        return None
    fine = grey.resize((32, 32), Image.Resampling.BOX).tobytes()
    fine += image.resize((8, 8), Image.Resampling.BOX).tobytes()
    return ImageFingerprint(bits, fine, image.width / image.height)


def _split_into_bands(bits: int) -> list[int]:
    width = _BITS // _BANDS
    return [bits >> width * place & (1 << width) - 1 for place in range(_BANDS)]


def _normalise_text(text: str) -> str:
    """Upper and lower case, white space and final marks taken away."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip(" .?!:;")
