"""Open Images' CSV files (Kuznetsova et al. 2020, https://storage.googleapis.com/openimages/web):
boxes, labels that people verified, names of labels, and the images' licences and authors. Most
labels were looked for in few images; a parent of a label in the hierarchy has no box of its own."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from snellen.core.errors import DataError
from snellen.data.json_document import decode_document
from snellen_curate.attribution import licence_at
from snellen_curate.image_files import IMAGE_SUFFIXES, find_files
from snellen_curate.metadata.importers.box_files import image_size
from snellen_curate.metadata.importers.importer import (
    ImportedMetadata,
    ImportRequest,
    annotation_files,
    clip_box,
    only_label,
)
from snellen_curate.metadata.records import MetadataRecord, ObjectBox

_SIDES = ("XMin", "YMin", "XMax", "YMax")
_Rows = dict[str, list[dict[str, str]]]


def read_open_images(request: ImportRequest) -> ImportedMetadata:
    """Read the files that are named, or a folder of them, of the images that are there: boxes are
    shares of an image. Raises DataError."""
    named = annotation_files(request, ".csv", ".json")
    files = [path for path in named if path.suffix == ".csv"]
    place = request.images or files[0].absolute().parent
    images = {path.stem: path for path in find_files(place, IMAGE_SUFFIXES, follow_links=True)}
    names: dict[str, str] = {}
    kinds = {"XMin": (boxes := _Rows()), "Confidence": (verified := _Rows()), "License": (facts := _Rows())}
    left_out: Counter[str] = Counter()
    for path in files:
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            header = next(csv.reader(file), [])
            if "ImageID" not in header:
                names |= _read_names([header, *csv.reader(file)])
                continue
            kind = next((rows for column, rows in kinds.items() if column in header), None)
            if kind is None:
                left_out[f"a file of another kind, {path.name}"] += 1
                continue
            for row in csv.DictReader(file, header):
                if row["ImageID"] in images:
                    kind.setdefault(row["ImageID"], []).append(row)
                elif kind is boxes:
                    left_out["a box of a picture that is not there"] += 1
    if not boxes and not verified:
        raise DataError(
            f"{', '.join(request.paths)}: no row is about one of the {len(images)} pictures of {place}; expected "
            "Open Images' CSV files, and its pictures, named by ImageID, there or in --media DIR"
        )
    places = {
        label: place
        for path in named
        if path not in files
        for label, place in decode_document(path, _Label, "Open Images' hierarchy").places(names)
    }
    space = {name: places.get(name, "") for name in names.values()}
    records = _records(request, images, boxes, verified, facts, names, left_out)
    return ImportedMetadata(records, {request.name: space}, left_out=left_out)


def _read_names(rows: Iterable[list[str]]) -> dict[str, str]:
    """Names of labels by their ids, without the header of later versions. A capital would stand in
    the middle of questions."""
    pairs = (row for row in rows if len(row) == 2 and row[0] != "LabelName")
    return {label: name[:1].lower() + name[1:] for label, name in pairs}


class _Label(Struct, rename="pascal"):
    """A label of the hierarchy with its kinds; those that it has as parts are none."""

    label_name: str
    subcategory: list[_Label] = []

    def places(self, names: Mapping[str, str], above: str = "") -> Iterator[tuple[str, str]]:
        """The names below it, each with those above: Dog, `Animal/Mammal`."""
        for label in self.subcategory:
            name = names.get(label.label_name, label.label_name)
            yield name, above
            yield from label.places(names, f"{above}/{name}".strip("/"))


def _records(
    request: ImportRequest,
    images: Mapping[str, Path],
    boxes: _Rows,
    verified: _Rows,
    facts: _Rows,
    names: Mapping[str, str],
    left_out: Counter[str],
) -> Iterator[MetadataRecord]:
    """A record for each image with boxes or verified labels. What nobody looked for in it is no
    category of it."""
    for name in sorted(boxes.keys() | verified.keys()):
        image, size = images[name], image_size(images[name])
        objects = [box for row in boxes.get(name, ()) for box in _box(row, size, names, left_out)]
        sure = {_label(row, names): float(row["Confidence"] or 0) for row in verified.get(name, ())}
        labels = [*(box.label for box in objects), *(label for label, share in sure.items() if share == 1)]
        absent = [label for label, share in sure.items() if share == 0]
        about = facts.get(name, [{}])[0]
        licence = about.get("License") or ""
        yield MetadataRecord(
            id=f"{request.name}/{name}",
            source=request.name,
            images=(request.image_path(str(image.absolute()), image.parent),),
            license=licence_at(licence) or licence,
            author=about.get("Author") or "",
            url=about.get("OriginalLandingURL") or about.get("OriginalURL") or "",
            width=size[0],
            height=size[1],
            **only_label(labels),
            space=request.name,
            categories=tuple(dict.fromkeys([*labels, *absent])),
            boxes=tuple(objects),
        )


def _label(row: Mapping[str, str], names: Mapping[str, str]) -> str:
    return names.get(row["LabelName"], row["LabelName"])


def _box(
    row: Mapping[str, str], size: tuple[int, int], names: Mapping[str, str], left_out: Counter[str]
) -> Iterator[ObjectBox]:
    """The box of a row; one around a group, or of what the image was taken in, is a crowd."""
    try:
        left, top, right, bottom = (float(row[side]) * size[axis % 2] for axis, side in enumerate(_SIDES))
    except (TypeError, ValueError):
        left_out["a box whose corners are no numbers"] += 1
        return
    is_crowd = "1" in (row.get("IsGroupOf"), row.get("IsInside"))
    yield from clip_box(_label(row, names), (left, top, right, bottom), size, left_out, crowd=is_crowd)
