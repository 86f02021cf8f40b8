"""Tables: Parquet, JSON Lines, CSV, TSV, and Hugging Face data sets, saved or on the hub; and
images in folders that are named by their label, as torchvision's ImageFolder and the Hugging Face
library read them, or with a `metadata.csv` or `metadata.jsonl` beside them.

Columns become fields by name; `columns` names others. What is no field becomes an annotation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError, UnknownName
from snellen.core.sample import Row
from snellen.data.columns import is_image_column, is_video_column, parse_list
from snellen.data.tables.hub import open_arrow
from snellen.data.tables.open_table import IndexedTable, open_table
from snellen_curate.image_files import IMAGE_SUFFIXES, find_files
from snellen_curate.metadata.importers.importer import SPLITS, ImageWriter, ImportedMetadata, ImportRequest, only_path
from snellen_curate.metadata.records import Corners, MetadataRecord, ObjectBox

_TEXT_FIELDS = (
    "license",
    "author",
    "url",
    "subtask",
    "task",
    "question",
    "label",
    "space",
    "number",
    "text",
    "expression",
    "answer",
    "source",
)
_LIST_FIELDS = ("labels", "categories", "captions", "sequence", "wrong_answers", "image_types", "capabilities")
_NUMBER_FIELDS = ("width", "height")
FIELDS = ("id", "image", *_TEXT_FIELDS, *_LIST_FIELDS, *_NUMBER_FIELDS, "boxes", "box_labels")
"""What `--columns` may map a column to."""
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "index", "image_id", "file_name"),
    "label": ("label", "class", "class_name", "fine_label"),
    "captions": ("captions", "caption", "sentences"),
    "text": ("text", "ocr", "transcription"),
    "license": ("license", "licence", "License"),
    "author": ("author", "Author", "creator", "photographer"),
    "url": ("url", "picture_url", "flickr_url", "OriginalLandingURL", "OriginalURL"),
    "subtask": ("subtask", "category"),
    "task": ("task", "l2-category"),
    "boxes": ("boxes", "objects.bbox", "bboxes"),
    "box_labels": ("box_labels", "objects.category", "objects.label", "objects.categories"),
}


def read_one_table(request: ImportRequest) -> ImportedMetadata:
    """The records of the table that is named. Raises DataError."""
    if len(request.paths) != 1:
        raise DataError(f"one table at a time; got {', '.join(request.paths)}")
    return read_table(request, request.paths[0])


def read_table(request: ImportRequest, spec: str, image_column: str | None = None) -> ImportedMetadata:
    """The records of a table. Raises DataError, and UnknownName for a field or a column that there
    is not."""
    for name in request.columns:
        if name not in FIELDS:
            raise UnknownName("field of a metadata record", name, FIELDS)
    image = request.columns.get("image", image_column)
    table = open_table(spec, columns={"image": image} if image else {})
    label_names = read_label_names(table)
    spaces = {}
    names = label_names.get(_column_of("label", request.columns, label_names))
    box_names = label_names.get(_column_of("box_labels", request.columns, label_names))
    if names or box_names:
        spaces[request.name] = dict.fromkeys(names or box_names or (), "")
    return ImportedMetadata(_records(request, table, label_names, bool(spaces)), spaces)


def _records(
    request: ImportRequest, table: DataTable, label_names: Mapping[str, list[str]], has_space: bool
) -> Iterator[MetadataRecord]:
    images = ImageWriter(request.out)
    missing = dict(request.columns)
    missing.pop("image", None)
    for row in table:
        missing = {name: column for name, column in missing.items() if column not in row.cells}
        yield _record(request, row, label_names, has_space, images)
    if missing:
        name, column = next(iter(missing.items()))
        raise UnknownName(f"column (for {name})", column, table.columns or ())


def _record(
    request: ImportRequest, row: Row, label_names: Mapping[str, list[str]], has_space: bool, images: ImageWriter
) -> MetadataRecord:
    """The record of a row. Columns that are no field become its annotation."""
    cells = {
        name: _named_labels(cell, label_names[name]) if name in label_names else cell
        for name, cell in row.cells.items()
    }
    used: set[str] = set()

    def take(field: str) -> str:
        column = _column_of(field, request.columns, cells)
        used.add(column)
        return cells.get(column, "").strip()

    texts = {field: text for field in _TEXT_FIELDS if (text := take(field))}
    lists = {field: tuple(_items(text)) for field in _LIST_FIELDS if (text := take(field))}
    numbers = {
        field: int(float(text)) for field in _NUMBER_FIELDS if (text := take(field)).replace(".", "", 1).isdecimal()
    }
    boxes = _boxes(take("boxes"), take("box_labels"))
    # A table that names its images names its records by them.
    name = take("id") or cells.get("image", "") or str(row.index)
    texts["source"] = texts.get("source") or request.name
    if has_space and (texts.get("label") or boxes):
        texts.setdefault("space", request.name)
    fields: dict[str, Any] = {**texts, **lists, **numbers}
    videos = [ref for ref in row.media if ref.kind == "video"]
    return MetadataRecord(
        id=f"{request.name}/{name}",
        images=tuple(images.path(ref) for ref in row.media if ref.kind == "image"),
        video=images.path(videos[0]) if videos else "",
        boxes=boxes,
        annotation={
            column: cell
            for column, cell in cells.items()
            if column not in used and not (is_image_column(column) or is_video_column(column))
        },
        **fields,
    )


def _column_of(field: str, columns: Mapping[str, str], existing: Iterable[str]) -> str:
    """The column of a field: the user's, else the first of its names that there is."""
    if field in columns:
        return columns[field]
    present = existing if isinstance(existing, Mapping) else set(existing)
    return next((name for name in _SYNONYMS.get(field, (field,)) if name in present), field)


def _items(text: str) -> list[str]:
    """The items of a list, or the text as the only one."""
    items = parse_list(text)
    return [text] if items is None else [str(item).strip() for item in items if str(item).strip()]


def _boxes(text: str, labels: str) -> tuple[ObjectBox, ...]:
    """Boxes [x, y, width, height] with their labels, as COCO and data sets of the hub have them."""
    if not text or not labels:
        return ()
    try:
        values, names = json.loads(text), json.loads(labels)
        pairs = list(zip(values, names, strict=True))
        boxes = []
        for (x, y, width, height), label in pairs:
            corners: Corners = (float(x), float(y), float(x + width), float(y + height))
            boxes.append(ObjectBox(str(label), corners))
    except (ValueError, TypeError) as error:
        raise DataError(
            f"boxes {text[:80]!r} with labels {labels[:80]!r} cannot be read: {error}; expected a "
            "list of [x, y, width, height] and a list of as many labels"
        ) from error
    return tuple(boxes)


def _named_labels(cell: str, names: list[str]) -> str:
    """Names for numbers of a ClassLabel column, also in a list; names stay as they are."""
    if cell.isdecimal() and int(cell) < len(names):
        return names[int(cell)]
    items = parse_list(cell) if cell.startswith("[") else None
    if items is None:
        return cell
    return json.dumps(
        [names[item] if isinstance(item, int) and 0 <= item < len(names) else item for item in items],
        ensure_ascii=False,
    )


def read_label_names(table: DataTable) -> dict[str, list[str]]:
    """The names of the ClassLabel columns of a Hugging Face data set, or of a Parquet file that one
    was written to, by column (`outer.inner` for nested ones)."""
    if not isinstance(table, IndexedTable):
        return {}
    if table.dataset is not None:
        return dict(_label_names("", open_arrow(table.dataset).features.to_dict()))
    if Path(table.data.path).suffix != ".parquet":
        return {}
    from pyarrow.parquet import read_schema

    metadata = read_schema(table.data.path).metadata or {}
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, LookupError, TypeError):
        return {}
    return dict(_label_names("", features))


def _label_names(name: str, features: Any) -> Iterator[tuple[str, list[str]]]:
    """ClassLabel features in the JSON form that the `datasets` library stores."""
    if isinstance(features, list):
        features = features[0] if features else {}
    if not isinstance(features, Mapping):
        return
    if features.get("_type") == "ClassLabel" and isinstance(features.get("names"), list):
        yield name, features["names"]
        return
    inner = features.get("feature")
    if "_type" in features and inner is not None:
        yield from _label_names(name, inner)
        return
    for key, value in features.items():
        if key != "_type":
            yield from _label_names(f"{name}.{key}" if name else key, value)


_LISTINGS = ("metadata.jsonl", "metadata.csv")


def read_image_folder(request: ImportRequest) -> ImportedMetadata:
    """Read a folder of images; one with a `metadata.csv` or `metadata.jsonl` is read as a table.
    Raises DataError."""
    folder = only_path(request)
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; expected a folder of pictures")
    for name in _LISTINGS:
        if (folder / name).is_file():
            return read_table(request, str(folder / name), image_column="file_name")
    # Names alone are held in memory.
    files = list(find_files(folder, IMAGE_SUFFIXES))
    space = dict(_folder_label(path, folder) for path in files)
    space.pop("", None)
    return ImportedMetadata(_folder_records(request, folder, files), {request.name: space} if space else {})


def _folder_records(request: ImportRequest, folder: Path, files: list[Path]) -> Iterator[MetadataRecord]:
    for path in files:
        label, _ = _folder_label(path, folder)
        relative = path.relative_to(folder)
        yield MetadataRecord(
            id=f"{request.name}/{relative.as_posix()}",
            source=request.name,
            images=(request.image_path(relative.as_posix(), folder),),
            label=label,
            space=request.name if label else "",
        )


def _folder_label(path: Path, folder: Path) -> tuple[str, str]:
    """The name of the innermost folder with those above it as its place in a hierarchy; a folder
    that is named as a split is no label."""
    parts = [part for part in path.relative_to(folder).parts[:-1] if part.lower() not in SPLITS]
    names = [part.replace("_", " ") for part in parts]
    return (names[-1], "/".join(names[:-1])) if names else ("", "")
