"""Findings about data of one's own before a model is asked: each with the rows it is about."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

from snellen.benchmarks.protocol.flows import lacking_rotations
from snellen.core.benchmark import Benchmark, Table
from snellen.core.errors import DataError, MediaError
from snellen.core.media import decode_image
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_id
from snellen.data.tables.info import verify
from snellen.engine.offline.gold_check import gold_reply, rehearsed
from snellen.settings import most_pixels

_ALIKE = 0.95
"""Share of a text that must be the same for two questions about one picture to be near copies."""
_BITS = 64
_NEAR = 3
"""Bits of 64 in which the hashes of two near copies of a picture may differ."""
_BANDS = _NEAR + 1
"""Two hashes that differ in so few bits are equal in at least one of so many bands."""
_CELL = 24
"""Most that a cell of two near copies may differ, of 255: re-encoding changes a picture everywhere
a little, another picture of the same kind changes it somewhere a lot."""
_SHAPE = 0.02
"""Most that width by height of two near copies may differ, as a share."""
_FLAT = 6
"""Fewer bits set, or unset, than this: the picture has too little in it to be compared."""
_MOST_IN_A_BUCKET = 400
_ROWS = 20
"""Rows that one finding names."""


class Finding(Struct, frozen=True):
    """One thing to look at. `rows` are counted from 1, as a table shows them under its header."""

    check: str
    rows: tuple[int, ...]
    message: str


def findings(benchmark: Benchmark, table: Table) -> list[Finding]:
    """All that is wrong or doubtful: ids held twice, pictures that cannot be opened, rows that
    cannot be asked, options that are alike, gold answers that do not score full, and questions and
    pictures that are near copies of others."""
    rows = list(table)
    numbers = {row_id(row): row.number + 1 for row in reversed(rows)}
    found = [*_same_ids(rows), *_broken_pictures(table)]
    samples: list[Sample] = []
    try:
        samples.extend(benchmark.samples(table))
    except DataError as error:
        if not any(one.check == "ids" for one in found):
            found.append(Finding("rows", (), str(error)))
        return [*found, *near_pictures(rows)]
    found += _questions(samples, numbers, table)
    found += _options(samples, numbers)
    found += _rotations(samples, numbers)
    found += _golds(benchmark, samples, numbers)
    found += _near_questions(samples, numbers)
    return [*found, *near_pictures(rows)]


def _rotations(samples: Sequence[Sample], numbers: Mapping[str, int]) -> Iterator[Finding]:
    for sample in samples:
        if lacking := lacking_rotations(sample):
            yield Finding(
                "rotations",
                (numbers[sample.id],) if sample.id in numbers else (),
                f"the question has {len(sample.options)} options, and "
                f"{'a rotation' if lacking == 1 else f'{lacking} rotations'} of them "
                f"{'is' if lacking == 1 else 'are'} not there: it counts by the rows that are",
            )


def _same_ids(rows: Sequence[Row]) -> Iterator[Finding]:
    held: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        held[row_id(row)].append(row.number + 1)
    for name, numbers in held.items():
        if len(numbers) > 1:
            yield Finding("ids", tuple(numbers), f"the id {name!r} stands there more than once")


def _broken_pictures(table: Table) -> Iterator[Finding]:
    for one in verify(table).broken:
        yield Finding("pictures", (one.row,), one.problem)


def _questions(
    samples: Sequence[Sample], numbers: dict[str, int], table: Table
) -> Iterator[Finding]:
    """Rows with nothing to ask: neither a question nor a picture or video."""
    silent = [sample for sample in samples if not sample.question]
    if len(silent) < len(samples):
        silent = [sample for sample in silent if not sample.media]
    if silent:
        rows = tuple(numbers.get(sample.id, 0) for sample in silent[:_ROWS])
        columns = ", ".join(table.columns)
        yield Finding("questions", rows, f"there is no question to ask; the columns are {columns}")


def _options(samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[Finding]:
    for sample in samples:
        row = (numbers.get(sample.id, 0),)
        labels: dict[str, list[str]] = defaultdict(list)
        for label, text in sample.options.items():
            labels[_plain(text)].append(label)
        for same in labels.values():
            if len(same) > 1 and not any("<image" in sample.options[label] for label in same):
                text = sample.options[same[0]]
                yield Finding("options", row, f"{' and '.join(same)} are the same: {text!r}")
        if sample.options and len(sample.options) < 2:
            yield Finding("options", row, "there is only one option")
        if not sample.gold:
            yield Finding("answers", row, "there is no answer: the row is asked and not scored")


def _golds(
    benchmark: Benchmark, samples: Sequence[Sample], numbers: dict[str, int]
) -> Iterator[Finding]:
    """A perfect model's replies are sent through asking, reading and grading."""
    if benchmark.unscorable:
        return
    for record in rehearsed(benchmark, samples, gold_reply):
        if record.gold and record.score is not None and record.score < 1.0:
            row = (numbers.get(record.id, 0),)
            reply = record.gold[0]
            yield Finding(
                "gold",
                row,
                f"the answer {reply!r}, given as a reply, is read as {record.answer!r} and scores "
                f"{100 * record.score:.0f} of 100",
            )


def _near_questions(samples: Sequence[Sample], numbers: dict[str, int]) -> Iterator[Finding]:
    """Questions about the same pictures, with the same options, in almost the same words."""
    from rapidfuzz.distance import Indel

    buckets: dict[tuple[object, ...], list[tuple[str, Sample]]] = defaultdict(list)
    for sample in samples:
        pictures = tuple(ref.digest for ref in sample.media)
        options = tuple(sorted(_plain(text) for text in sample.options.values()))
        exact = () if pictures else (_plain(sample.question),)
        buckets[(pictures, options, exact)].append((_plain(sample.question), sample))
    for bucket in buckets.values():
        for (one, first), (other, second) in combinations(bucket[:_MOST_IN_A_BUCKET], 2):
            if Indel.normalized_similarity(one, other, score_cutoff=_ALIKE) and (
                one == other or first.gold == second.gold
            ):
                rows = (numbers.get(first.id, 0), numbers.get(second.id, 0))
                same = "the same question" if one == other else "almost the same question"
                yield Finding("questions", rows, f"{same}: {first.question[:80]!r}")


def near_pictures(rows: Sequence[Row]) -> Iterator[Finding]:
    """Pictures with other bytes that look alike: each is told with the first that it is like."""
    seen: set[str] = set()
    bands: dict[tuple[int, int], list[tuple[Look, int]]] = defaultdict(list)
    for row in rows:
        for ref in row.media:
            if ref.kind != "image" or ref.digest in seen:
                continue
            seen.add(ref.digest)
            try:
                look = look_of(ref.source.read())
            except MediaError:
                continue  # told already
            if look is None:
                continue
            places = list(enumerate(_in_bands(look.bits)))
            candidates = [one for place in places for one in bands[place][:_MOST_IN_A_BUCKET]]
            alike = [number for other, number in candidates if other.like(look)]
            if alike:
                pair = (min(alike), row.number + 1)
                yield Finding("near pictures", pair, "these pictures look alike")
            for place in places:
                bands[place].append((look, row.number + 1))


class Look(NamedTuple):
    """What a picture looks like, made small."""

    bits: int
    """Difference hash: each of 64 bits tells whether a cell of a grey picture of 9 x 8 cells is
    brighter than the next. It finds candidates."""
    cells: bytes
    """A grey picture of 32 x 32 cells and a coloured one of 8 x 8, which tell pictures apart that
    differ in one place or in colour only."""
    shape: float
    """Width by height."""

    def like(self, other: Look) -> bool:
        return (
            (self.bits ^ other.bits).bit_count() <= _NEAR
            and abs(self.shape / other.shape - 1) <= _SHAPE
            and all(abs(a - b) <= _CELL for a, b in zip(self.cells, other.cells, strict=True))
        )


def look_of(data: bytes) -> Look | None:
    """None for a picture with too little in it to be compared. Raises MediaError."""
    from PIL import Image

    picture = decode_image(data, most_pixels())
    grey = picture.convert("L")
    cells = grey.resize((9, 8), Image.Resampling.LANCZOS).tobytes()
    bits = 0
    for y in range(8):
        for x in range(8):
            bits = bits << 1 | (cells[9 * y + x] > cells[9 * y + x + 1])
    if not _FLAT <= bits.bit_count() <= _BITS - _FLAT:
        return None
    fine = grey.resize((32, 32), Image.Resampling.BOX).tobytes()
    fine += picture.resize((8, 8), Image.Resampling.BOX).tobytes()
    return Look(bits, fine, picture.width / picture.height)


def _in_bands(bits: int) -> list[int]:
    width = _BITS // _BANDS
    return [bits >> width * place & (1 << width) - 1 for place in range(_BANDS)]


def _plain(text: str) -> str:
    """Upper and lower case, white space and final marks taken away."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip(" .?!:;")
