"""YOLO's text files: a line `class x y width height` for each object, as shares of the image, or
`class x1 y1 x2 y2 ...` around it (https://docs.ultralytics.com/datasets/detect/). The names of the
classes are in the data set's YAML file, `classes.txt` or `obj.names`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from snellen.core.errors import DataError
from snellen_curate.image_files import IMAGE_SUFFIXES, find_files
from snellen_curate.metadata.importers.box_files import box_record, file_name, image_size, label_space
from snellen_curate.metadata.importers.importer import SPLITS, ImportedMetadata, ImportRequest, clip_box, only_path
from snellen_curate.metadata.records import Corners, MetadataRecord, ObjectBox

_NAME_FILES = ("classes.txt", "obj.names", "labels.txt", "_darknet.labels")


def read_yolo(request: ImportRequest) -> ImportedMetadata:
    """Read a folder, or its YAML file. Raises DataError."""
    path = only_path(request)
    folder = path.parent if path.is_file() else path
    names, has_keypoints = _class_names(path)
    left_out: Counter[str] = Counter()
    return ImportedMetadata(
        _records(request, folder, names, left_out, has_keypoints=has_keypoints),
        label_space(request, names.values()),
        left_out=left_out,
    )


def _class_names(path: Path) -> tuple[dict[int, str], bool]:
    """The names of the classes by their numbers, and whether objects have keypoints. Raises
    DataError."""
    # labelImg writes the names to `labels`; those of a split are in the folder above.
    folders = [] if path.is_file() else [path, path / "labels"]
    folders += [path.absolute().parent] if path.absolute().name.lower() in SPLITS else []
    files = (
        [path]
        if path.is_file()
        else [
            file
            for folder in folders
            for file in (*sorted(folder.glob("*.y*ml")), *(folder / name for name in _NAME_FILES))
        ]
    )
    problem: DataError | None = None
    for file in filter(Path.is_file, files):
        try:
            names, has_keypoints = _names_in(file)
        except DataError as error:
            # Such as the settings of another tool, beside those of the data set.
            problem = problem or error
            continue
        if names:
            return names, has_keypoints
    raise problem or DataError(
        f"{path}: the names of the classes are nowhere; expected `names:` in a YAML file, or a "
        f"name a line in {', '.join(_NAME_FILES[:2])}"
    )


def _names_in(file: Path) -> tuple[dict[int, str], bool]:
    """The names of the classes that a file has, and whether it says that objects have keypoints.
    Raises DataError."""
    text, settings = file.read_text("utf-8", "replace"), {}
    if file.name in _NAME_FILES:
        listed: Any = text.split("\n")
    else:
        settings = _read_yaml(file, text)
        listed = settings.get("names") or []
    try:
        # A text is the name of a file, as Darknet writes it.
        pairs = enumerate(listed) if isinstance(listed, list) else listed.items()
        names = {int(number): name.strip() for number, name in pairs if name.strip()}
    except (ValueError, AttributeError):
        raise DataError(f"{file}: its `names:` are no list of names, nor numbers with names") from None
    return names, "kpt_shape" in settings


def _read_yaml(file: Path, text: str) -> dict[str, Any]:
    """The settings of a data set, each scalar as it stands: `no` is a name. Raises DataError."""
    try:
        settings = yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise DataError(f"{file} is no YAML: {' '.join(str(error).split())}") from error
    return settings if isinstance(settings, dict) else {}


def _records(
    request: ImportRequest, folder: Path, names: dict[int, str], left_out: Counter[str], *, has_keypoints: bool
) -> Iterator[MetadataRecord]:
    """A record for each image: without objects if its text file is empty or missing. Raises
    DataError if all are missing."""
    text_files: set[Path] = set()
    place = request.images or folder
    images = list(find_files(place, IMAGE_SUFFIXES, follow_links=True))
    if not images:
        raise DataError(f"{place} holds no pictures; name their folder with --media DIR")
    for image in images:
        size = image_size(image)
        boxes: list[ObjectBox] = []
        text_file = _text_file(image, folder)
        if text_file is None:
            left_out["the text file of a picture, which then has no objects"] += 1
        else:
            text_files.add(text_file.resolve())
            for label, (left, top, right, bottom) in _objects(text_file, names, left_out, has_keypoints):
                corners = (left * size[0], top * size[1], right * size[0], bottom * size[1])
                boxes += clip_box(label, corners, size, left_out)
        yield box_record(request, file_name(image, folder.absolute()), image, size, boxes)
    if not text_files:
        raise DataError(
            f"none of the {len(images)} pictures has a text file, e.g. {images[0]}; expected "
            "it beside the picture, or in `labels` where the picture is in `images`"
        )
    for path in (path for each in {file.parent for file in text_files} for path in each.glob("*.txt")):
        if path.resolve() not in text_files and path.name not in _NAME_FILES:
            left_out["a text file without a picture"] += 1


def _text_file(image: Path, folder: Path) -> Path | None:
    """The text file beside an image, or in `labels` where it is in `images`."""
    parts = image.parts
    candidates = [image.with_suffix(".txt")]
    for place in range(len(parts) - 2, -1, -1):
        if parts[place] == "images":
            other = Path(*parts[:place], "labels", *parts[place + 1 :])
            candidates.append(other.with_suffix(".txt"))
    candidates += [folder / "labels" / each / f"{image.stem}.txt" for each in (".", image.parent.name)]
    return next((path for path in candidates if path.is_file()), None)


def _objects(
    file: Path, names: dict[int, str], left_out: Counter[str], has_keypoints: bool
) -> Iterator[tuple[str, Corners]]:
    """Names and boxes of the objects of a file, as shares of the image. Raises DataError."""
    lines = [line for line in file.read_text("utf-8", "replace").splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        values = line.split()
        try:
            # The points of a pose follow its box.
            if has_keypoints and len(values) > 5:
                left_out["the keypoints of an object"] += 1
                values = values[:5]
            yield names[int(values[0])], _corners(list(map(float, values[1:])))
        except (KeyError, ValueError, IndexError) as error:
            raise DataError(
                f"{file}, line {number}: {line.strip()!r} is no object; "
                "expected a class that has a name, and its box or outline"
            ) from error


def _corners(points: list[float]) -> Corners:
    """Corners of a box given by its middle, or around an outline. Raises ValueError."""
    if len(points) == 4:
        x, y, width, height = points
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2
    if len(points) < 6 or len(points) % 2:
        raise ValueError("neither a box nor an outline")
    return min(points[::2]), min(points[1::2]), max(points[::2]), max(points[1::2])
