"""Importers of metadata by name. Packages add their own under the entry points
`snellen.metadata_importers`."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.media import FileSource
from snellen.core.sample import MediaRef
from snellen.data_sets.decisions import read_decisions
from snellen.data_sets.step import MediaWriter
from snellen_curate.attribution import licence_at
from snellen_curate.image_files import find_files
from snellen_curate.metadata.records import (
    Corners,
    MetadataHeader,
    MetadataRecord,
    ObjectBox,
    SourceFacts,
    record_problem,
    write_records,
)
from snellen_curate.open_data import open_items

GROUP = "snellen.metadata_importers"
SPLITS = frozenset({"train", "test", "val", "valid", "validation", "dev"})
"""Names of folders that are parts of a data set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What to import."""

    paths: tuple[str, ...]
    """Files or folders, or the name of a data set."""
    out: Path
    """The metadata file to write."""
    images: Path | None = None
    """Folder of the images that the files name; None: next to them."""
    kept: Path | None = None
    """Data set folder of images: records name its copies, and those of other images are left out.
    None: all are taken."""
    source: str = ""
    """Name of the data set; empty: after the first path."""
    license: str = ""
    """Of all that does not state its own."""
    url: str = ""
    subtask: str = ""
    task: str = ""
    image_types: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    """For tables: our field to their column."""

    @property
    def name(self) -> str:
        """The name of the source."""
        path = self.paths[0].rstrip("/").rpartition("/")[2].partition("?")[0]
        return self.source or path.partition(".")[0] or path

    def image_path(self, name: str, default_folder: Path) -> str:
        """A picture's path as a record has it: relative to the metadata file."""
        path = (self.images or default_folder) / name
        return os.path.relpath(path.absolute(), self.out.absolute().parent)


class ImportedMetadata(Struct):
    """What an importer returns: the header at once, the records as a stream."""

    records: Iterator[MetadataRecord]
    spaces: dict[str, dict[str, str]] = {}
    license: str = ""
    """That the data set states for all of it."""
    left_out: Counter[str] = Counter()
    """What the files say that no record has, counted while the records are read."""


Importer = Callable[[ImportRequest], ImportedMetadata]
"""Raises DataError for files of another layout."""


class ImportCounts(
    Struct, omit_defaults=True, rename={"missing_images": "missing_pictures", "missing_image": "missing_picture"}
):
    """What was imported."""

    path: str
    importer: str
    source: str
    records: int
    without_licence: int
    with_problems: int = 0
    """Records that a template will not take, because something is wrong with them."""
    problems: dict[str, str] = {}
    """The first of these, with the reason."""
    missing_images: int = 0
    missing_image: str = ""
    """The first of these, as the record has it."""
    left_out: dict[str, int] = {}
    """What the files say that no record has, e.g. boxes without an area."""


def clip_box(
    label: str,
    corners: Corners,
    size: tuple[int, int],
    left_out: Counter[str],
    *,
    expression: str = "",
    crowd: bool = False,
) -> Iterator[ObjectBox]:
    """A box, cut at the border of an image of known size; none if nothing is left of it, or if it
    has no name."""
    left, top, right, bottom = corners
    if size[0] and size[1]:
        left, top = max(0.0, left), max(0.0, top)
        right, bottom = min(float(size[0]), right), min(float(size[1]), bottom)
    if not (label or expression):
        left_out["a box without a label"] += 1
    elif left < right and top < bottom:
        rounded = (round(left, 2), round(top, 2), round(right, 2), round(bottom, 2))
        yield ObjectBox(label, rounded, expression=expression, crowd=crowd)
    else:
        left_out["a box without an area in the picture"] += 1


def only_label(labels: Iterable[str]) -> dict[str, Any]:
    """The fields of what an image shows: that is plain only if it shows objects of one kind."""
    distinct = tuple(dict.fromkeys(filter(None, labels)))
    return {"label": distinct[0]} if len(distinct) == 1 else {"labels": distinct}


def only_path(request: ImportRequest) -> Path:
    """The file or folder to read. Raises DataError for several, and if it is not there."""
    if len(request.paths) != 1:
        raise DataError(f"one folder or file at a time; got {', '.join(request.paths)}")
    path = Path(request.paths[0]).expanduser()
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    return path


def annotation_files(request: ImportRequest, *suffixes: str) -> list[Path]:
    """The annotation files that were named, and those in the folders that were. Raises
    DataError."""
    files: list[Path] = []
    for path in (Path(name).expanduser() for name in request.paths):
        files += find_files(path, suffixes, follow_links=True) if path.is_dir() else [path]
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        raise DataError(f"{', '.join(missing)}: there is no such file or folder")
    if not files:
        raise DataError(f"{', '.join(request.paths)}: there is no {' or '.join(suffixes)} file")
    return files


IMPORTERS = {
    "coco": "coco:read_coco",
    "labelme": "box_files:read_labelme",
    "open-images": "open_images:read_open_images",
    "voc": "box_files:read_voc",
    "yolo": "yolo:read_yolo",
    "image-folder": "table:read_image_folder",
    "table": "table:read_one_table",
    "visual-genome": "visual_genome:read_visual_genome",
}
"""Names, and where each `Importer` is."""


def find_importer(name: str) -> Importer:
    """The importer of that name, Snellen's or a plug-in's. Raises UnknownName."""
    if name in IMPORTERS:
        module, _, function = IMPORTERS[name].partition(":")
        importer = getattr(import_module(f"{__package__}.{module}"), function)
    elif (entry := plugin_entry_points(GROUP).get(name)) is not None:
        importer = load_entry_point(entry)
    else:
        known = (*IMPORTERS, *plugin_entry_points(GROUP))
        raise UnknownName("importer of metadata", name, known)
    if not callable(importer):
        raise UsageError(f"the plug-in {name!r} is no function; see docs/curate/metadata.md")
    found: Importer = importer
    return found


def import_metadata(name: str, request: ImportRequest) -> ImportCounts:
    """Import a data set and write its records to `request.out`.

    Raises UsageError for an unknown importer, files of another layout, and a target that is one of
    the files that are read.
    """
    if any(Path(path).absolute() == request.out.absolute() for path in request.paths):
        raise UsageError(f"{request.out} is what is read; choose another file to write")
    folder = request.out.absolute().parent
    with _removed_if_empty(folder):
        return _import_into(folder, name, request)


def _import_into(folder: Path, name: str, request: ImportRequest) -> ImportCounts:
    """Import a data set; `folder` is that of `request.out`."""
    imported = find_importer(name)(request)
    facts = SourceFacts(request.license or imported.license, request.url)
    header = MetadataHeader(sources={request.name: facts}, spaces=imported.spaces)
    counts = ImportCounts(str(request.out), name, request.name, 0, 0)
    kept = _KeptImages(request.kept, folder) if request.kept else None
    records = (_fill(record, request) for record in imported.records)
    chosen = records if kept is None else filter(None, map(kept.find_images, records))
    counted = _count(chosen, counts, header, folder)
    write_records(request.out, header, _refuse_unusable(counted, counts, kept, request))
    counts.left_out = dict(imported.left_out)
    if kept is not None and kept.left_out:
        counts.left_out[f"pictures that are not in {request.kept}"] = kept.left_out
    return counts


def _refuse_unusable(
    records: Iterable[MetadataRecord], counts: ImportCounts, kept: _KeptImages | None, request: ImportRequest
) -> Iterator[MetadataRecord]:
    """The records, before whose end an error keeps a file without usable ones from being written.
    Raises DataError."""
    yield from records
    paths = ", ".join(request.paths)
    if not counts.records:
        if kept is not None and kept.left_out:
            kept.refuse_none()
        raise DataError(f"{paths}: no pictures were found by importer {counts.importer}")
    if counts.with_problems == counts.records:
        record, reason = next(iter(counts.problems.items()))
        raise DataError(f"{paths}: none of {counts.records} records can be used; {record}: {reason}")


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """After an error, remove a folder that was made meanwhile and in which nothing is."""
    was_there = folder.exists()
    try:
        yield
    except UsageError:
        if not was_there:
            with suppress(OSError):
                folder.rmdir()
        raise


def _count(
    records: Iterable[MetadataRecord], counts: ImportCounts, header: MetadataHeader, folder: Path
) -> Iterator[MetadataRecord]:
    """The records, counting what they lack; their paths are relative to `folder`."""
    for record in records:
        counts.records += 1
        counts.without_licence += not header.license_of(record)
        missing = [image for image in record.images if not Path(folder, image).is_file()]
        counts.missing_images += len(missing)
        counts.missing_image = counts.missing_image or "".join(missing[:1])
        problem = record_problem(record, header)
        if problem is not None:
            counts.with_problems += 1
            if len(counts.problems) < 5:
                counts.problems[record.id] = problem.reason
        yield record


class _KeptImages:
    """The images of a data set folder. A file is the one of the longest id or path that its own
    path ends with: sub/a.png is not a.png. File names that stand once in the folder count too."""

    def __init__(self, folder: Path, records: Path) -> None:
        """`records`: the folder that the paths of records are relative to."""
        from snellen_curate.images.check import TABLE_FILE

        self.left_out = 0
        self._folder, self._records = folder, records
        self._last_left_out = ""
        self._copies: dict[str, str] = {each.item: "" for each in read_decisions(folder)}
        """Paths of the copies by id and by file, as records have them; of what was dropped, none."""
        for item in open_items(folder):
            for medium in item.sample.media[:1]:
                if isinstance(medium.source, FileSource):
                    self._copies[item.id] = os.path.relpath(Path(medium.source.path).absolute(), records)
        if (folder / TABLE_FILE).is_file():
            with (folder / TABLE_FILE).open(newline="", encoding="utf-8") as table:
                rows = [row for row in csv.DictReader(table, delimiter="\t") if row["file"]]
            files = [Path(row["file"]) for row in rows]
            names = Counter(file.name for file in files)
            for row, file in zip(rows, files, strict=True):
                keys = ["/".join(file.parts), *([file.name] if names[file.name] == 1 else [])]
                for key in keys:
                    self._copies.setdefault(key, self._copies.get(row["picture"], ""))

    def refuse_none(self) -> None:
        """Raises DataError, as no image was found."""
        there = ", ".join([*self._copies][:3])
        raise DataError(
            f"0 of {self.left_out} pictures are in {self._folder} and kept: it has {there}; here "
            f"they are like {self._last_left_out}"
        )

    def find_images(self, record: MetadataRecord) -> MetadataRecord | None:
        """The record with the copies of its images; None, which is counted, if one is not kept."""
        copies = [self._find_copy(Path(self._records, image)) for image in record.images]
        if all(copies):
            return replace(record, images=tuple(copies))
        self.left_out += 1
        self._last_left_out = ", ".join(record.images)
        return None

    def _find_copy(self, path: Path) -> str:
        ends = ("/".join(path.parts[start:]) for start in range(len(path.parts)))
        return next((self._copies[end] for end in ends if end in self._copies), "")


def _fill(record: MetadataRecord, request: ImportRequest) -> MetadataRecord:
    """The record with what the user says of all records, where it does not say otherwise."""
    return replace(
        record,
        source=record.source or request.name,
        license=licence_at(record.license) or record.license,
        subtask=record.subtask or request.subtask,
        task=record.task or request.task,
        image_types=record.image_types or request.image_types,
        capabilities=record.capabilities or request.capabilities,
    )


class ImageWriter:
    """Images that are inside a data file become files next to the metadata file; those that are
    files already stay where they are."""

    def __init__(self, out: Path) -> None:
        self._folder = out.absolute().parent
        self._writer = MediaWriter(self._folder)

    def path(self, ref: MediaRef) -> str:
        """The picture's path as a record has it. Raises OSError."""
        if isinstance(ref.source, FileSource):
            return os.path.relpath(Path(ref.source.path).absolute(), self._folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._writer.copy(ref)
