"""How the data of a benchmark get into the storage, and out of it again.

Workers get text alone: what scoring needs, with names in place of pictures and videos, since
questions that share one count together in an interval. Pictures and videos of public data are
stored once by their digest; those of hidden data are not stored at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from secrets import randbits
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.data_file import ITEMS_FILE
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.parsers import check_rule
from snellen.core.benchmark import COORDINATES, Benchmark, DataTable, Variant
from snellen.core.errors import DataError, SnellenError, StorageError, UsageError
from snellen.core.sample import Sample
from snellen.data.columns import is_image_column, is_video_column
from snellen.data.media.sources import BrokenSource
from snellen.engine.anytime.sample_order import SampleLinks
from snellen.engine.offline.gold_check import check_golds
from snellen.scoring.accuracy import cluster_samples
from snellen_hub.clear_copies import clear_copy_folder
from snellen_hub.config import PUBLIC_SHARE
from snellen_hub.database.tables import HostedBenchmark, HostedMedium
from snellen_hub.question_parts import PartDraw, draw_parts, read_draw
from snellen_hub.samples.content import IndexedItem, index_sample
from snellen_hub.samples.media import MediaStore, named_media
from snellen_hub.samples.sealed_answers import find_held_out, join_answers
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import QuestionRows, decode_questions, question_rows


class Protocol(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a hosted benchmark is scored."""

    rule: str | None = None
    """The tool whose parsing rules apply; None: the benchmark's default."""
    columns: dict[str, str] = {}
    """Columns of the data: our name to theirs."""
    failures: str = "count-wrong"
    """What missing replies do: a board must not reward leaving out what is hard."""
    circular: str | None = None

    def variant(self, data: Path | None) -> Variant:
        settings = msgspec.structs.asdict(self)
        return Variant(data=None if data is None else str(data), **settings)


class NewBenchmark(Struct, frozen=True, kw_only=True):
    """What an owner says of a benchmark."""

    name: str
    title: str
    data: Path | None
    """The complete data, with answers: a file, or a data set folder of `snellen curate`. None: a
    board of reported numbers, until data are added."""
    description: str = ""
    spec: str = ""
    """How Snellen opens it, such as `mmbench:split=test`; empty: the data file alone."""
    protocol: Protocol = Protocol()
    is_hidden: bool = False
    public_data: Path | None = None
    """The data without answers, for download."""
    answers: Path | None = None
    """Answers that `snellen curate publish` kept back; then `data` are the questions, and public,
    and the answers hidden."""
    seal_key: Path | None = None
    """File of the key of `answers`; None: the key of the environment."""
    layout: str = ""
    """How its board is laid out; empty: by `spec`."""
    public_share: float = PUBLIC_SHARE
    """Of the questions of a hidden split, how many are public."""
    private_parts: int = 1
    """Parts that the other ones are drawn into, each for a reveal."""


class StoredData(NamedTuple):
    """Data that were checked and put into the storage, but belong to no benchmark yet."""

    columns: dict[str, Any]
    """Values of the columns of `benchmarks` that describe them."""
    items: Sequence[IndexedItem]
    """Of a public split."""
    media: MediaStore


def store_data(storage: Storage, new: NewBenchmark, held: HostedBenchmark | None = None) -> StoredData:
    """Check the data and store them. They are read once, so that a mistake shows here and not in a
    score. Questions of a hidden split that the benchmark `held` before keep their part.

    Raises UsageError and DataError for data that cannot be scored, StorageError.
    """
    if new.data is None:
        return _without_data(storage, new)
    if new.public_data is not None and not new.is_hidden:
        raise UsageError(
            "public data beside the complete ones are for a split whose answers are hidden: add "
            "--hidden, or leave them out"
        )
    if new.answers is None:
        return _store_complete(storage, new, data_file(new.data), new.public_data, held)
    if new.spec or new.protocol.columns or new.public_data:
        raise UsageError(
            "answers that were kept back belong to a published file in Snellen's own columns: "
            "leave out --benchmark, --columns and public="
        )
    questions = find_held_out(new.data)
    with clear_copy_folder() as folder:
        complete = folder / ITEMS_FILE
        complete.write_bytes(join_answers(questions, new.answers, new.seal_key))
        new = msgspec.structs.replace(new, is_hidden=True)
        return _store_complete(storage, new, complete, questions, held)


def _without_data(storage: Storage, new: NewBenchmark) -> StoredData:
    """Of a benchmark that has no data yet. Raises UsageError for what only data can have, and for
    a `spec` that is no benchmark."""
    if new.is_hidden or new.public_data is not None or new.answers is not None:
        raise UsageError(f"{new.name} has no data, so none of it can be hidden or public; give --data DATA")
    if new.spec:
        open_benchmark(new.spec, new.protocol.variant(None))
    return StoredData({}, [], MediaStore(storage, Path()))


def data_file(path: Path) -> Path:
    """The data file of what an owner names. Raises UsageError if there is none."""
    if path.is_dir():
        if not (path / ITEMS_FILE).is_file():
            raise UsageError(
                f"{path} is no data set folder: it has no {ITEMS_FILE}; give a folder that a step "
                "of snellen curate wrote, or a data file"
            )
        return path / ITEMS_FILE
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    return path


def open_hosted(spec: str, protocol: Protocol, data: Path) -> Benchmark:
    """A hosted benchmark on a file of its data."""
    benchmark = open_benchmark(spec or str(data), protocol.variant(data if spec else None))
    if protocol.rule is not None:
        check_rule(benchmark, protocol.rule)
    return benchmark


def scoring_file(storage: Storage, row: HostedBenchmark, folder: Path) -> Path:
    """Write what workers score with into a folder; returns the file. Raises StorageError."""
    if row.scoring_data is not None:
        path = folder / "data.jsonl"
        path.write_bytes(storage.get(row.scoring_data))
        return path
    path = folder / f"data{''.join(Path(row.data_name).suffixes[-2:])}"
    path.write_bytes(storage.get(row.data))
    return path


def unpack_data(storage: Storage, row: HostedBenchmark, media: Sequence[HostedMedium], folder: Path) -> Path:
    """Write the complete data with their pictures into a folder; returns the data file. Raises
    StorageError."""
    path = folder / Path(row.data_name).name
    path.write_bytes(storage.get(row.data))
    root = folder.resolve()
    for medium in media:
        for place in medium.paths:
            target = (root / place).resolve()
            if not target.is_relative_to(root):
                raise StorageError(f"the path {place!r} of a medium of {row.name} leads elsewhere")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(storage.get(medium.digest))
    return path


def _store_complete(
    storage: Storage, new: NewBenchmark, data: Path, public: Path | None, held: HostedBenchmark | None
) -> StoredData:
    """Check and store complete data, and the public data of a hidden split."""
    benchmark = open_hosted(new.spec, new.protocol, data)
    table = benchmark.open()
    if not new.spec:
        check_golds(benchmark, table)
    if not benchmark.parameters.get(COORDINATES, "pixels").startswith("pixels"):
        _check_sizes(new, data)
    media = MediaStore(storage, data.parent)
    items, questions, samples = list[IndexedItem](), list[QuestionRows](), list[Sample]()
    for sample in _check_answers(benchmark.samples(table), data):
        questions.append(question_rows(benchmark, sample))
        if new.is_hidden:
            samples.append(sample)
        else:
            items.append(index_sample(sample, media.link))
    if not questions:
        raise DataError(f"{data} holds no items")
    columns: dict[str, Any] = {"data_name": data.name, "rows": len(questions), "scoring_data": None, "draw": {}}
    text = _without_media(new, table, benchmark)
    if new.is_hidden:
        questions, columns["draw"] = divide_questions(storage, new, samples, questions, held)
        columns["data"] = storage.put(data.read_bytes() if text is None else text, seal=True)
        columns["data_name"] = data.name if text is None else ITEMS_FILE
    else:
        columns["data"] = storage.put(data.read_bytes())
        columns["scoring_data"] = None if text is None else storage.put(text)
    columns |= {"ids": storage.put(msgspec.json.encode(questions)), "public_data": None, "public_name": ""}
    if public is not None:
        public = data_file(public)
        media = _link_public(storage, new, public)
        columns |= {"public_data": storage.put(public.read_bytes()), "public_name": public.name}
    return StoredData(columns, items, media)


def _check_sizes(new: NewBenchmark, data: Path) -> None:
    """Raises DataError for a place in a picture whose size the data file alone does not say: workers
    get no pictures."""
    with clear_copy_folder() as folder:
        copy = folder / data.name
        copy.write_bytes(data.read_bytes())
        benchmark = open_hosted(new.spec, new.protocol, copy)
        for sample in benchmark.samples(benchmark.open()):
            if sample.kind == "place" and not sample.extent:
                raise DataError(
                    f"{data}: item {sample.id} does not say how large its picture is, and a hub scores without "
                    "pictures; add the columns width and height, in pixels"
                )


def _check_answers(samples: Iterable[Sample], data: Path) -> Iterator[Sample]:
    """Raises DataError for a sample that could not be scored."""
    for sample in samples:
        if not sample.gold:
            raise DataError(
                f"{data}: item {sample.id} has no answer, so it could not be scored; give the complete data"
            )
        yield sample


def divide_questions(
    storage: Storage,
    new: NewBenchmark,
    samples: Sequence[Sample],
    questions: Sequence[QuestionRows],
    held: HostedBenchmark | None,
) -> tuple[list[QuestionRows], dict[str, Any]]:
    """The questions of a hidden split with their parts, and the draw as JSON. Raises UsageError."""
    known: dict[str, int] = {}
    revealed = 0
    if held is not None and held.draw:
        known = dict(read_draw(held).removed)
        known |= {each.name: each.part for each in decode_questions(storage.get(held.ids))}
        revealed = held.revealed
    seed = randbits(32)
    private = range(revealed + 1, revealed + 1 + new.private_parts)
    parts = draw_parts(samples, seed, new.public_share, private, known)
    counts = Counter(parts.values())
    # Also of parts that have none.
    sizes = tuple(counts[part] for part in range(max(counts, default=0) + 1))
    removed = {name: part for name, part in known.items() if name not in parts}
    draw = PartDraw(seed, new.public_share, sizes, removed)
    divided = [msgspec.structs.replace(each, part=parts[each.name]) for each in questions]
    return divided, msgspec.to_builtins(draw)


def _link_public(storage: Storage, new: NewBenchmark, public: Path) -> MediaStore:
    """Store the media beside public data. Raises DataError if the public data of a hidden split
    have answers."""
    media = MediaStore(storage, public.parent, with_inner=False)
    benchmark = open_hosted(new.spec, new.protocol, public)
    for sample in benchmark.samples(benchmark.open()):
        if new.is_hidden and sample.gold:
            raise DataError(
                f"{public}: item {sample.id} has an answer, and the answers of {new.name} are "
                "hidden; take them out (snellen curate publish --hold-out does)"
            )
        media.link(sample.media)
        media.link(sample.option_images.values())
    return media


def _without_media(new: NewBenchmark, table: DataTable, benchmark: Benchmark) -> bytes | None:
    """The data as JSON Lines with the names of their media, which follow from their bytes.

    None if there are none, if the benchmark knows its data by their checksum, or if the copy is not
    read as the same questions.
    """
    if new.spec or all(isinstance(ref.source, BrokenSource) for row in table for ref in row.media):
        return None
    lines = b"".join(
        _encode({name: cell for name, cell in row.cells.items() if not _is_medium(name)} | named_media(row.media))
        + b"\n"
        for row in table
    )
    with clear_copy_folder() as folder:
        copy = folder / "data.jsonl"
        copy.write_bytes(lines)
        try:
            other = open_hosted("", new.protocol, copy)
            copied, original = [], []
            is_same = True
            for one, two in zip(benchmark.samples(table), other.samples(other.open()), strict=True):
                is_same = is_same and _scored_parts(one) == _scored_parts(two)
                original.append(_links(one))
                copied.append(_links(two))
            is_same = is_same and cluster_samples(original) == cluster_samples(copied)
        except (SnellenError, ValueError):
            return None
    return lines if is_same else None


def _scored_parts(sample: Sample) -> tuple[object, ...]:
    """What of a sample decides its score."""
    return (
        sample.id,
        sample.kind,
        sample.question,
        sample.gold,
        dict(sample.options),
        dict(sample.groups),
        sample.rotations,
        sample.unit,
        sample.hint,
    )


def _links(sample: Sample) -> SampleLinks:
    return SampleLinks(sample.unit, tuple(ref.digest for ref in sample.media))


def _is_medium(column: str) -> bool:
    return is_image_column(column) or is_video_column(column)


_encode = msgspec.json.Encoder().encode
