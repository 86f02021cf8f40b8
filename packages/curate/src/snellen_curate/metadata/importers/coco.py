"""COCO's annotation files (Lin et al. 2014, https://cocodataset.org/#format-data): instances,
captions, person keypoints and panoptic segments, which name the same images; and LVIS's (Gupta et
al. 2019, https://www.lvisdataset.org), in which most categories were looked for in few images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct

from snellen.core.errors import DataError
from snellen.data.json_document import decode_document
from snellen_curate.attribution import licence_named
from snellen_curate.metadata.importers.importer import (
    ImportedMetadata,
    ImportRequest,
    annotation_files,
    clip_box,
    only_label,
)
from snellen_curate.metadata.records import Corners, Keypoints, MetadataRecord, ObjectBox


class _CocoImage(Struct, gc=False):
    id: int
    file_name: str = ""
    width: int = 0
    height: int = 0
    license: int | None = None
    flickr_url: str | None = ""
    coco_url: str | None = ""
    neg_category_ids: tuple[int, ...] | None = None
    """Of LVIS: categories that are not in the image."""
    not_exhaustive_category_ids: tuple[int, ...] = ()
    """Of LVIS: categories of which not all objects are annotated."""

    @property
    def path(self) -> str:
        """LVIS names files by their addresses: train2017/000000000001.jpg. Its first version also
        has names of 2014, which the same images have no more."""
        address = "/".join((self.coco_url or "").split("/")[-2:])
        return address if address and (self.neg_category_ids is not None or not self.file_name) else self.file_name


class _CocoCategory(Struct, gc=False):
    id: int
    name: str
    supercategory: str | None = ""
    keypoints: tuple[str, ...] = ()
    isthing: int = 1
    """0 for what cannot be counted, such as grass."""

    @property
    def label(self) -> str:
        if self.isthing:
            return self.name.replace("_", " ")
        return self.name.removesuffix("-merged").removesuffix("-other").removesuffix("-stuff")


class _CocoSegment(Struct, gc=False):
    category_id: int
    bbox: tuple[float, ...] | None = None
    iscrowd: int = 0


class _CocoAnnotation(Struct, gc=False):
    image_id: int
    category_id: int = -1
    bbox: tuple[float, ...] | None = None
    iscrowd: int = 0
    keypoints: tuple[float, ...] = ()
    caption: str = ""
    segments_info: tuple[_CocoSegment, ...] = ()
    """Of panoptic files, whose annotations have all segments of an image."""


class _CocoLicense(Struct, gc=False):
    id: int
    name: str | None = ""
    url: str | None = ""


class _CocoFile(Struct):
    images: list[_CocoImage]
    annotations: list[_CocoAnnotation] = []
    categories: list[_CocoCategory] = []
    licenses: list[_CocoLicense] = []


def read_coco(request: ImportRequest) -> ImportedMetadata:
    files = {
        path: decode_document(path, _CocoFile, "a COCO annotation file") for path in annotation_files(request, ".json")
    }
    _check_numbers(files)
    categories = {each.id: each for file in files.values() for each in file.categories}
    space = {each.label: each.supercategory or "" for each in categories.values()}
    left_out: Counter[str] = Counter()
    return ImportedMetadata(
        _records(request, files, categories, left_out), {request.name: space} if space else {}, left_out=left_out
    )


def _check_numbers(files: dict[Path, _CocoFile]) -> None:
    """Raise DataError if two files give one number to different images or categories."""
    seen: dict[tuple[str, int], tuple[str, Path]] = {}
    for path, file in files.items():
        images = (("image", each.id, Path(each.path).name) for each in file.images)
        categories = (("category", each.id, each.name) for each in file.categories)
        for kind, number, name in chain(images, categories):
            first, other = seen.setdefault((kind, number), (name, path))
            if first != name:
                raise DataError(
                    f"{kind} {number} is {first!r} in {other} and {name!r} in {path}; expected "
                    "files about the same images; import these one at a time"
                )


def _records(
    request: ImportRequest, files: dict[Path, _CocoFile], categories: dict[int, _CocoCategory], left_out: Counter[str]
) -> Iterator[MetadataRecord]:
    """A record for each image of any of the files, in the order of the first that names it."""
    images = {image.id: image for file in reversed(files.values()) for image in file.images}
    licenses = {
        each.id: licence_named(each.name or "", each.url or "") for file in files.values() for each in file.licenses
    }
    by_image: dict[int, list[_CocoAnnotation]] = {}
    for path, file in files.items():
        for annotation in file.annotations:
            if annotation.image_id not in images:
                raise DataError(f"{path}: an annotation is about image {annotation.image_id}, which is not listed")
            by_image.setdefault(annotation.image_id, []).append(annotation)
    folder = next(iter(files)).absolute().parent
    for image in images.values():
        annotations = by_image.pop(image.id, [])
        boxes, others = _objects(image, annotations, categories, left_out)
        labels = [*(box.label for box in boxes), *others]
        absent = image.neg_category_ids
        negative = [categories[each].label for each in absent or () if each in categories]
        yield MetadataRecord(
            id=f"{request.name}/{image.id}",
            source=request.name,
            images=(request.image_path(image.path, folder),),
            license=licenses.get(image.license, "") if image.license is not None else "",
            url=image.flickr_url or image.coco_url or "",
            width=image.width,
            height=image.height,
            **only_label(labels),
            space=request.name if categories and absent is None else "",
            categories=() if absent is None else tuple(dict.fromkeys([*labels, *negative])),
            boxes=boxes,
            keypoints=_keypoints(annotations, categories),
            captions=tuple(each.caption.strip() for each in annotations if each.caption.strip()),
        )


def _objects(
    image: _CocoImage, annotations: list[_CocoAnnotation], categories: dict[int, _CocoCategory], left_out: Counter[str]
) -> tuple[tuple[ObjectBox, ...], list[str]]:
    """The objects, each once though the instances and keypoints files both have a person, and the
    labels of what cannot be counted."""
    boxes: dict[tuple[str, Corners], ObjectBox] = {}
    others: list[str] = []
    found: Iterable[_CocoAnnotation | _CocoSegment] = chain.from_iterable(
        (one, *one.segments_info) for one in annotations
    )
    for each in found:
        category = categories.get(each.category_id)
        # Some tools write an empty list for no box.
        if not each.bbox or len(each.bbox) != 4 or category is None:
            if each.bbox:
                left_out["an object whose category is not listed"] += 1
            elif category is not None:
                left_out["an object without a box"] += 1
            continue
        if not category.isthing:
            others.append(category.label)
            continue
        x, y, width, height = each.bbox
        crowd = bool(each.iscrowd) or each.category_id in image.not_exhaustive_category_ids
        size = (image.width, image.height)
        corners = (x, y, x + width, y + height)
        for box in clip_box(category.label, corners, size, left_out, crowd=crowd):
            boxes[box.label, box.corners] = box
    return tuple(boxes.values()), others


def _keypoints(annotations: list[_CocoAnnotation], categories: dict[int, _CocoCategory]) -> tuple[Keypoints, ...]:
    """The visible points (v = 2) of each object that has any."""
    found = []
    for each in annotations:
        category = categories.get(each.category_id)
        names = category.keypoints if category else ()
        points = {
            name.replace("_", " "): (each.keypoints[3 * place], each.keypoints[3 * place + 1])
            for place, name in enumerate(names)
            if len(each.keypoints) >= 3 * (place + 1) and each.keypoints[3 * place + 2] == 2
        }
        if points and category:
            found.append(Keypoints(category.label, points))
    return tuple(found)
