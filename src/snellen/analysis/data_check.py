"""Checks of a user's data before a model is asked; each issue names its rows."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

from snellen.benchmarks.declaration.golds import ColumnOfGolds
from snellen.benchmarks.declaration.rows import options_of, sample_of
from snellen.benchmarks.protocol.flows import count_missing_rotations
from snellen.core.benchmark import Benchmark, DataTable
from snellen.core.errors import DataError, MediaError
from snellen.core.grouping import group_by
from snellen.core.media import decode_image
from snellen.core.request import Generate
from snellen.core.sample import Row, Sample, is_own_data
from snellen.core.terminal_text import shorten
from snellen.data.columns import row_id
from snellen.data.tables.info import verify_images
from snellen.engine.offline.gold_check import describe_loss, lossy_golds
from snellen.settings import max_image_pixels

_MIN_SIMILARITY = 0.95
"""Similarity of two questions about one image from which they are near copies."""
_BITS = 64
_MAX_HASH_DISTANCE = 3
"""Bits of 64 in which the hashes of two near copies of an image may differ."""
_BANDS = _MAX_HASH_DISTANCE + 1
"""Two hashes that differ in at most `_BANDS - 1` bits are equal in at least one of the bands, so
that only images with an equal band have to be compared."""
_MAX_CELL_DIFFERENCE = 24
"""Maximum difference of a cell of two near copies, of 255: re-encoding changes an image a little
everywhere, another image of the same kind differs a lot somewhere."""
_MAX_ASPECT_DIFFERENCE = 0.02
"""Maximum relative difference of the aspect ratios of two near copies."""
_MIN_SET_BITS = 6
"""With fewer bits set, or unset, an image has too little structure to be compared."""
_MAX_BUCKET_SIZE = 400
_ROW_OF_PROBLEM = re.compile(r"^.*?, row \d+: ")
_QUOTED_NAME = re.compile(r"'[^']*'")
_MAX_ROWS = 20
"""Rows that one issue names."""
_MAX_REASON = 160
"""Characters of what a schema does not allow."""


class DataIssue(Struct, frozen=True):
    """One thing to look at. `rows` are counted from 1, as a table displays them under its
    header."""

    check: str
    rows: tuple[int, ...]
    message: str


def find_data_issues(
    benchmark: Benchmark,
    table: DataTable,
    *,
    read_media: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[DataIssue]:
    """All that is wrong or doubtful: duplicate ids, images that cannot be opened, rows that cannot
    be asked, equal options, gold answers that do not score full or that a `response_schema` does not
    allow, and questions and images that are near copies of others. Images are left alone without
    `read_media`; `progress` gets the steps done, of all."""
    rows = list(table)
    numbers = {row_id(row): row.index + 1 for row in reversed(rows)}
    issues = [*_duplicate_ids(rows)]
    similar: list[DataIssue] = []
    if read_media:
        # Each image is opened, then compared with the others.
        steps = 2 * len(rows)
        issues += _broken_images(table, lambda done, total: progress(done, steps))
        similar += find_similar_images(rows, lambda done: progress(len(rows) + done, steps))
    samples: list[Sample] = []
    try:
        samples.extend(benchmark.samples(table))
    except DataError as error:
        # A run ends with the first bad row; here each is named, where the rows are read as usual.
        bad_rows = [*_bad_rows(rows, table.path)] if is_own_data(table) else []
        if not bad_rows and not any(issue.check == "ids" for issue in issues):
            bad_rows = [DataIssue("rows", (), str(error))]
        issues += bad_rows
        return [*issues, *similar]
    issues += _missing_questions(samples, numbers, table)
    issues += _option_issues(samples, numbers)
    issues += _missing_rotations(samples, numbers)
    issues += _gold_issues(benchmark, samples, numbers)
    issues += _schema_issues(benchmark, samples, numbers)
    issues += _similar_questions(samples, numbers)
    return [*issues, *similar]


def _missing_rotations(samples: Sequence[Sample], numbers: Mapping[str, int]) -> Iterator[DataIssue]:
    for sample in samples:
        if missing := count_missing_rotations(sample):
            yield DataIssue(
                "rotations",
                (numbers[sample.id],) if sample.id in numbers else (),
                f"the question has {len(sample.options)} options, and "
                f"{'a rotation' if missing == 1 else f'{missing} rotations'} of them "
                f"{'is' if missing == 1 else 'are'} missing: the other rows count",
            )


def _duplicate_ids(rows: Sequence[Row]) -> Iterator[DataIssue]:
    for name, members in group_by(rows, row_id).items():
        if len(members) > 1:
            numbers = tuple(row.index + 1 for row in members)
            yield DataIssue("ids", numbers, f"the id {name!r} occurs more than once")


def _bad_rows(rows: Sequence[Row], path: str) -> Iterator[DataIssue]:
    """Rows that cannot be asked."""
    problems: list[tuple[int, str]] = []
    column = ColumnOfGolds(lambda: rows, options_of)
    for row in rows:
        try:
            sample_of(row, groups=(), path=path, column=column)
        except DataError as error:
            problems.append((row.index + 1, _ROW_OF_PROBLEM.sub("", str(error))))
    yield from _by_reason("rows", "rows", problems)


def _by_reason(check: str, noun: str, problems: Iterable[tuple[int, str]]) -> Iterator[DataIssue]:
    """One issue for each reason, of problems with their rows; names in quotes may differ."""
    for alike in group_by(problems, lambda problem: _QUOTED_NAME.sub("", problem[1])).values():
        _, example = alike[0]
        rows = tuple(dict.fromkeys(row for row, _ in alike))
        count = f"{len(alike)} {noun}, e.g. " if len(alike) > 1 else ""
        yield DataIssue(check, rows[:_MAX_ROWS], f"{count}{example}")


def _broken_images(table: DataTable, progress: Callable[[int, int], None]) -> Iterator[DataIssue]:
    """One issue for each reason: files that are missing share theirs."""
    problems = [(image.row, _ROW_OF_PROBLEM.sub("", image.problem)) for image in verify_images(table, progress).broken]
    yield from _by_reason("pictures", "pictures", problems)


def _missing_questions(samples: Sequence[Sample], numbers: dict[str, int], table: DataTable) -> Iterator[DataIssue]:
    """Rows without a question to ask: neither text nor media."""
    without_question = [sample for sample in samples if not sample.question]
    if len(without_question) < len(samples):
        without_question = [sample for sample in without_question if not sample.media]
    if without_question:
        rows = tuple(numbers.get(sample.id, 0) for sample in without_question[:_MAX_ROWS])
        columns = ", ".join(table.columns)
        yield DataIssue("questions", rows, f"there is no question to ask; the columns are {columns}")


def _option_issues(samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[DataIssue]:
    """Options with equal texts, single options, and rows without a gold answer."""
    for sample in samples:
        row = (numbers.get(sample.id, 0),)
        for same in group_by(sample.options.items(), lambda option: _normalise_text(option[1])).values():
            if len(same) > 1 and not any("<image" in text for _, text in same):
                labels = " and ".join(label for label, _ in same)
                yield DataIssue("options", row, f"{labels} are the same: {same[0][1]!r}")
        if sample.options and len(sample.options) < 2:
            yield DataIssue("options", row, "there is only one option")
        if not sample.gold:
            yield DataIssue("answers", row, "there is no answer: the row is asked and not scored")


def _gold_issues(benchmark: Benchmark, samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[DataIssue]:
    """Gold answers that do not score full when a model gives them as its reply."""
    for record in lossy_golds(benchmark, samples):
        yield DataIssue("gold", (numbers.get(record.id, 0),), describe_loss(record))


def _schema_issues(benchmark: Benchmark, samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[DataIssue]:
    """Fields of gold records that the `response_schema` of the requests does not allow, those of most
    records first: a server that holds replies to it lets no reply be right there."""
    records = [sample for sample in samples if sample.kind == "fields" and sample.gold]
    schema = _response_schema(benchmark, records[0]) if records else ""
    if not schema:
        return
    from snellen.scoring.json_schema import schema_violations

    rows: dict[str, list[int]] = defaultdict(list)
    reasons: dict[str, str] = {}
    for sample in records:
        # One of several golds is enough.
        found = min((schema_violations(json.loads(gold), schema) for gold in sample.gold), key=len)
        for path, reason in found.items():
            rows[path].append(numbers.get(sample.id, 0))
            reasons.setdefault(path, reason)
    for path, held in sorted(rows.items(), key=lambda item: -len(item[1])):
        field = f"field {path}" if path else "record as a whole"
        message = (
            f"response_schema contradicts {len(held)} of {len(records)} gold records in the {field}: "
            f"{shorten(reasons[path], _MAX_REASON)}; a server that obeys it allows no right reply there"
        )
        yield DataIssue("schema", tuple(held[:_MAX_ROWS]), message)


def _response_schema(benchmark: Benchmark, sample: Sample) -> str:
    """The schema of the first request about a sample; empty if it has none."""
    request = next(benchmark.flow(sample))
    return request.settings.response_schema if isinstance(request, Generate) else ""


def _similar_questions(samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[DataIssue]:
    """Questions about the same images, with the same options and almost the same wording."""
    from rapidfuzz.distance import Indel

    def bucket_of(sample: Sample) -> object:
        images = tuple(ref.digest for ref in sample.media)
        options = tuple(sorted(_normalise_text(text) for text in sample.options.values()))
        return images, options, "" if images else _normalise_text(sample.question)

    for bucket in group_by(samples, bucket_of).values():
        by_text = group_by(bucket, lambda sample: _normalise_text(sample.question))
        for text, same in by_text.items():
            # A question that is missing has an issue of its own.
            if len(same) > 1 and (text or same[0].media):
                rows = tuple(numbers.get(sample.id, 0) for sample in same[:_MAX_ROWS])
                named = "" if len(same) <= _MAX_ROWS else f", in {len(same)} rows"
                question = same[0].question[:80]
                yield DataIssue("questions", rows, f"the same question{named}: {question!r}")
        for (first_text, first), (second_text, second) in combinations(
            [(text, same[0]) for text, same in by_text.items()][:_MAX_BUCKET_SIZE], 2
        ):
            if first.gold == second.gold and Indel.normalized_similarity(
                first_text, second_text, score_cutoff=_MIN_SIMILARITY
            ):
                rows = (numbers.get(first.id, 0), numbers.get(second.id, 0))
                message = f"almost the same question: {first.question[:80]!r}"
                yield DataIssue("questions", rows, message)


def find_similar_images(
    rows: Sequence[Row], progress: Callable[[int], None] = lambda done: None
) -> Iterator[DataIssue]:
    """Images with different bytes that look alike, each paired with the first row it resembles;
    `progress` gets the rows done."""
    seen: set[str] = set()
    bands: dict[tuple[int, int], list[tuple[ImageFingerprint, int]]] = defaultdict(list)
    for done, row in enumerate(rows):
        progress(done)
        for ref in row.media:
            if ref.kind != "image" or ref.digest in seen:
                continue
            seen.add(ref.digest)
            try:
                fingerprint = image_fingerprint(ref.source.read())
            except MediaError:
                continue  # reported with the images that cannot be opened
            if fingerprint is None:
                continue
            band_keys = list(enumerate(_split_into_bands(fingerprint.bits)))
            candidates = [candidate for key in band_keys for candidate in bands[key][:_MAX_BUCKET_SIZE]]
            similar_rows = [number for other, number in candidates if other.is_similar(fingerprint)]
            if similar_rows:
                pair = (min(similar_rows), row.index + 1)
                yield DataIssue("near pictures", pair, "these images look alike")
            for key in band_keys:
                bands[key].append((fingerprint, row.index + 1))


class ImageFingerprint(NamedTuple):
    """A reduced image for comparison."""

    bits: int
    """Difference hash, used to find candidates: each of 64 bits says whether a cell of a grey image
    of 9 x 8 cells is brighter than the next."""
    cells: bytes
    """A grey image of 32 x 32 cells and a coloured one of 8 x 8, which distinguish images that
    differ in one region or in colour only."""
    aspect_ratio: float
    """Width / height."""

    def is_similar(self, other: ImageFingerprint) -> bool:
        return (
            (self.bits ^ other.bits).bit_count() <= _MAX_HASH_DISTANCE
            and abs(self.aspect_ratio / other.aspect_ratio - 1) <= _MAX_ASPECT_DIFFERENCE
            and all(abs(a - b) <= _MAX_CELL_DIFFERENCE for a, b in zip(self.cells, other.cells, strict=True))
        )


def image_fingerprint(data: bytes) -> ImageFingerprint | None:
    """Fingerprint of an encoded image; None if it has too little structure to be compared. Raises
    MediaError."""
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
    return [bits >> width * band & (1 << width) - 1 for band in range(_BANDS)]


def _normalise_text(text: str) -> str:
    """Fold case and white space, and strip final punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip(" .?!:;")
