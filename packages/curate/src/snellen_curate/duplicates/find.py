"""Find the duplicates of a data set: within it, in other benchmarks, in lists of images."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from snellen.data_sets.items import ITEMS_FILE, ItemTable
from snellen.settings import Settings
from snellen_curate.duplicates.build_index import SHARD_SIZE, IndexProgress, ListChanged, build_index
from snellen_curate.duplicates.compare_items import ReadItems, read_items
from snellen_curate.duplicates.hash_index import VERSION, HashIndex
from snellen_curate.duplicates.item_matches import OtherData, find_item_pairs, find_overlap, image_pairs, make_clusters
from snellen_curate.duplicates.listing import MANIFEST_SUFFIXES, Listing, find_columns, manifest_columns, open_listing
from snellen_curate.duplicates.match_images import ImageGraph, Matches, match_images
from snellen_curate.duplicates.report import BrokenMedium, DuplicateReport, DuplicateSettings
from snellen_curate.open_data import open_items

_QUESTION_COLUMNS = frozenset({"question", "prompt", "query", "instruction"})
"""A file with one of these columns is a benchmark, not a list of images."""

_ITEMS_SHARD = 1_000
_HUB_DATA = "hf://"

OnPhase = Callable[[str, IndexProgress], None]
"""Called with the name of what is hashed and how far it is."""


@dataclass(frozen=True)
class DuplicateSearchResult:
    """The report, and the items that it is about."""

    report: DuplicateReport
    read: ReadItems


class _Indexes:
    """Makes indexes of data sets and lists in the cache, or opens those that are there."""

    def __init__(self, processes: int | None, on_phase: OnPhase | None) -> None:
        self._processes, self._on_phase = processes, on_phase
        self._cache = Settings.from_environment().cache / "picture-hashes"

    def of_items(self, read: ReadItems) -> HashIndex | None:
        """An index of a data set's images; None if it has none."""
        if not read.images:
            return None
        key = f"items {read.table.spec} {read.table.digest}"
        # Of a benchmark's thousands a kill is to lose little.
        return self._open(read.listing(), key, read.table.name, True, _ITEMS_SHARD)

    def of_list(self, listing: Listing) -> HashIndex:
        path = Path(listing.spec).expanduser()
        stat = path.stat()
        stamp = f"{stat.st_size} {stat.st_mtime_ns}" if path.is_file() else ""
        key = f"list {path.absolute()} {stamp}"
        return self._open(listing, key, listing.spec, False, SHARD_SIZE)

    def _open(self, listing: Listing, key: str, name: str, has_turned: bool, shard_size: int) -> HashIndex:
        # Whatever `build_index` refuses to find changed: a cache never stands in the way.
        facts = f"{VERSION} {has_turned} {shard_size} {key}"
        folder = self._cache / hashlib.sha256(facts.encode()).hexdigest()[:24]
        settings: dict[str, Any] = {"shard_size": shard_size, "has_turned": has_turned, "processes": self._processes}
        settings["on_progress"] = partial(self._on_phase, name) if self._on_phase else None
        try:
            build_index(listing, folder, **settings)
        except ListChanged:
            # The cache is of another state of the same files.
            shutil.rmtree(folder, ignore_errors=True)
            build_index(listing, folder, **settings)
        return HashIndex(folder)


def find_duplicates(
    data: str | Path,
    settings: DuplicateSettings = DuplicateSettings(),  # noqa: B008  (frozen)
    *,
    columns: Mapping[str, str] | None = None,
    processes: int | None = None,
    on_phase: OnPhase | None = None,
) -> DuplicateSearchResult:
    """Compare the items of a data set with each other and with what `settings.against` names:
    benchmarks, data files, data set folders, lists of images.

    Hashes are kept in the cache, so that a second start computes none again. Raises UsageError.
    """
    indexes = _Indexes(processes, on_phase)
    # All are opened before anything is hashed: a misspelt name is not noticed after an hour.
    opened = {spec: open_items(spec) if is_benchmark(spec) else open_listing(spec) for spec in settings.against}
    read = read_items(open_items(data, columns))
    index = indexes.of_items(read)
    others: dict[str, OtherData] = {}
    for spec, other in opened.items():
        if isinstance(other, ItemTable):
            theirs = read_items(other)
            others[spec] = OtherData(spec, indexes.of_items(theirs), theirs)
        else:
            others[spec] = OtherData(spec, indexes.of_list(other))
    report = _report(read, index, settings)
    reports = tuple(find_overlap(read, index, one, settings) for one in others.values())
    return DuplicateSearchResult(replace(report, against=reports), read)


def is_benchmark(spec: str | Path) -> bool:
    """Whether a name or path means items, and not a list of images: a data set folder, a file
    with questions, or no path at all but a benchmark's name. Raises DataError."""
    if str(spec).startswith(_HUB_DATA):
        return True
    path = Path(spec).expanduser()
    if path.is_dir():
        return (path / ITEMS_FILE).is_file()
    if not path.is_file():
        return path.suffix not in (*MANIFEST_SUFFIXES, ".tar") and "/" not in str(spec)
    if path.suffix == ".tar":
        return False
    if path.suffix not in MANIFEST_SUFFIXES:
        return True
    columns = {name.lower() for name in manifest_columns(path)}
    return bool(columns & _QUESTION_COLUMNS) or not find_columns(list(columns))


def _report(read: ReadItems, index: HashIndex | None, settings: DuplicateSettings) -> DuplicateReport:
    """The duplicates within the data set; `against` is still empty."""
    digests = list(read.images)
    sizes: dict[str, int] = {}
    broken: list[BrokenMedium] = []
    matches: Matches = {}
    if index is not None:
        sizes = dict(zip(digests, index.column("size").astype(int).prod(axis=1), strict=True))
        for digest, reason in index.broken():
            names = tuple(item.id for item in read.users[digest])
            broken.append(BrokenMedium(names, reason, digest))
        matches = match_images(index, index, settings, read.images)
    graph = ImageGraph(digests, matches, read.missing)
    pairs = find_item_pairs(read.items, graph, settings.texts)
    contradictions = [pair for pair in pairs if "contradiction" in pair.kind]
    contradictions.sort(key=lambda pair: pair.kind != "contradiction")
    clusters = make_clusters(read, pairs, settings.keep, sizes)
    broken += [BrokenMedium((name,), reason) for name, reason in read.problems.items()]
    return DuplicateReport(
        data=read.table.name,
        path=read.table.path,
        digest=read.table.digest,
        items=len(read.items),
        images=len(digests),
        settings=settings,
        contradictions=tuple(contradictions),
        duplicates=tuple(pair for pair in pairs if pair.kind == "duplicate"),
        possible=tuple(pair for pair in pairs if pair.kind == "possible duplicate"),
        clusters=tuple(clusters),
        image_pairs=tuple(image_pairs(read, graph)),
        broken=tuple(broken),
        flat=index.info.flat if index is not None else 0,
    )
