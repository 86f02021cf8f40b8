"""Visual Genome's JSON files (Krishna et al. 2017, https://homes.cs.washington.edu/~ranjay/
visualgenome): image data, objects, region descriptions and relationships."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct

from snellen.core.errors import DataError
from snellen.data.json_document import decode_document
from snellen_curate.metadata.importers.importer import ImportedMetadata, ImportRequest, clip_box
from snellen_curate.metadata.records import Corners, MetadataRecord, ObjectRelation


class _GenomeObject(Struct, gc=False):
    x: float = 0
    y: float = 0
    w: float = 0
    h: float = 0
    name: str = ""
    names: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return (self.name or (self.names[0] if self.names else "")).strip()

    @property
    def corners(self) -> Corners:
        return self.x, self.y, self.x + self.w, self.y + self.h


class _GenomeRegion(Struct, gc=False):
    phrase: str
    x: float
    y: float
    width: float
    height: float

    @property
    def corners(self) -> Corners:
        return self.x, self.y, self.x + self.width, self.y + self.height


class _GenomeRelation(Struct):
    predicate: str
    subject: _GenomeObject
    object: _GenomeObject


class _GenomeImage(Struct):
    """An entry of any of the files; which lists it has says which file it is from."""

    image_id: int | None = None
    id: int | None = None
    width: int = 0
    height: int = 0
    url: str = ""
    objects: list[_GenomeObject] = []
    regions: list[_GenomeRegion] = []
    relationships: list[_GenomeRelation] = []

    @property
    def number(self) -> int | None:
        return self.image_id if self.image_id is not None else self.id


def read_visual_genome(request: ImportRequest) -> ImportedMetadata:
    files = [
        decode_document(Path(path).expanduser(), list[_GenomeImage], "a Visual Genome file") for path in request.paths
    ]
    # The data set is published under this licence as a whole.
    left_out: Counter[str] = Counter()
    records = _records(request, files, left_out)
    return ImportedMetadata(records, license="CC-BY-4.0", left_out=left_out)


def _join(request: ImportRequest, files: list[list[_GenomeImage]]) -> dict[int, _GenomeImage]:
    """What all files say of each image. Raises DataError."""
    images: dict[int, _GenomeImage] = {}
    for entry in chain.from_iterable(files):
        if entry.number is None:
            raise DataError(
                f"{', '.join(request.paths)}: an entry has neither image_id nor id; expected Visual Genome's files"
            )
        image = images.setdefault(entry.number, _GenomeImage())
        image.width, image.height = max(image.width, entry.width), max(image.height, entry.height)
        image.url = image.url or entry.url
        image.objects += entry.objects
        image.regions += entry.regions
        image.relationships += entry.relationships
    return images


def _records(
    request: ImportRequest, files: list[list[_GenomeImage]], left_out: Counter[str]
) -> Iterator[MetadataRecord]:
    """A record for each image: its objects as boxes, regions as boxes with an expression.

    People named what they liked, an object by several names: what has no name in an image may be
    there, and nobody counted what has.
    """
    folder = Path(request.paths[0]).expanduser().absolute().parent
    for number, image in _join(request, files).items():
        size = (image.width, image.height)
        boxes = [
            box for each in image.objects for box in clip_box(each.label, each.corners, size, left_out, crowd=True)
        ]
        # Regions first: `expression` is what a template asks for.
        spellings = Counter(region.phrase.strip().lower() for region in image.regions)
        expressions = [
            box
            for region in image.regions
            if spellings[region.phrase.strip().lower()] == 1
            for box in clip_box("", region.corners, size, left_out, expression=region.phrase.strip())
        ]
        name = "/".join(image.url.split("/")[-2:]) if image.url else f"{number}.jpg"
        yield MetadataRecord(
            id=f"{request.name}/{number}",
            source=request.name,
            images=(request.image_path(name, folder),),
            width=image.width,
            height=image.height,
            categories=tuple(dict.fromkeys(box.label for box in boxes)),
            boxes=(*expressions, *boxes),
            relations=tuple(
                ObjectRelation(each.subject.label, each.predicate.strip().lower(), each.object.label)
                for each in image.relationships
                if each.subject.label and each.object.label and each.predicate.strip()
            ),
        )
