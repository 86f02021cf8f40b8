"""COCO's annotations of boxes, `{"images": [...], "annotations": [...], "categories": [...]}`
(https://cocodataset.org/#format-data), as rows: each picture is asked for every box of every kind.

A box `[x, y, width, height]` becomes two corners. A crowd region (`iscrowd`) is no gold box: it goes
to the column `crowd_boxes`, within which replies are neither right nor wrong. Segmentations are not
asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from snellen.core.errors import DataError

CROWD_COLUMN = "crowd_boxes"
"""Column of the boxes that are no gold, as objects with their labels."""
_LISTS = ("images", "annotations", "categories")
_TABLE = "expected boxes; write a table with the columns image_path, question and bbox for other questions"


def is_coco(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object holds COCO's annotations of pictures."""
    return "images" in value and "annotations" in value and all(isinstance(value.get(key, []), list) for key in _LISTS)


def coco_records(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A record for each picture, those without annotations as well. Raises DataError for annotations
    that have no boxes, name no picture or kind of the file, or cover only some kinds of a picture."""
    _refuse_other_tasks(value, name)
    if not value["images"]:
        raise DataError(f"{name} holds no pictures")
    kinds = {kind["id"]: str(kind["name"]) for kind in value["categories"]}
    places: dict[Any, list[tuple[list[float], str, bool]]] = defaultdict(list)
    for number, annotation in enumerate(value["annotations"], 1):
        where = f"{name}, annotation {annotation.get('id', number)}"
        if annotation.get("category_id") not in kinds:
            raise DataError(f"{where}: no category has the id {annotation.get('category_id')!r}")
        box = _corners(annotation.get("bbox"), where)
        places[annotation.get("image_id")].append(
            (box, kinds[annotation["category_id"]], bool(annotation.get("iscrowd")))
        )
    unknown = places.keys() - {picture["id"] for picture in value["images"]}
    if unknown:
        raise DataError(f"{name}: annotations are of image_id {min(map(str, unknown))!r}, which no picture has")
    question = _question(value, {label for held in places.values() for _, label, _ in held})
    return [_record(picture, places[picture["id"]], question) for picture in value["images"]]


def _refuse_other_tasks(value: Mapping[str, Any], name: str) -> None:
    first = value["annotations"][0] if value["annotations"] else {}
    if "caption" in first:
        raise DataError(f"{name} holds COCO's captions of pictures; {_TABLE}")
    if "segments_info" in first:
        raise DataError(f"{name} holds COCO's panoptic segments; {_TABLE}")
    if not value.get("categories"):
        raise DataError(f"{name} holds COCO's pictures without the names of their kinds (categories); {_TABLE}")
    if any("not_exhaustive_category_ids" in picture for picture in value["images"][:1]):
        raise DataError(
            f"{name} holds LVIS's annotations, in which some kinds of a picture are not marked, so that a box of "
            f"them cannot be judged; {_TABLE}"
        )


def _corners(box: Any, where: str) -> list[float]:
    numbers = isinstance(box, list) and len(box) == 4 and all(isinstance(side, int | float) for side in box)
    if not numbers or not box[2] >= 0 or not box[3] >= 0:
        raise DataError(f"{where}: its bbox is {str(box)[:60]}; expected [x, y, width, height] in pixels")
    left, top, width, height = box
    return [left, top, left + width, top + height]


def _question(value: Mapping[str, Any], used: set[str]) -> str:
    """The question of every picture, with the names of the kinds in the order of the file. A kind that
    has no box and stands above the others (Roboflow's) is left out."""
    named = [kind for kind in value["categories"] if kind["name"] in used or kind.get("supercategory") != "none"]
    names = dict.fromkeys(str(kind["name"]) for kind in named or value["categories"])
    return f"Find every object of these kinds: {', '.join(names)}. Label each with its kind."


def _record(picture: Mapping[str, Any], held: list[tuple[list[float], str, bool]], question: str) -> dict[str, Any]:
    file = picture.get("file_name") or "/".join(str(picture.get("coco_url", "")).split("/")[-2:])
    record = {"id": picture["id"], "image_path": file, "question": question}
    record |= {side: picture[side] for side in ("width", "height") if picture.get(side)}
    record["bbox"] = [box for box, _, crowd in held if not crowd]
    record["labels"] = [label for _, label, crowd in held if not crowd]
    crowds = [{"bbox": box, "label": label} for box, label, crowd in held if crowd]
    return record | ({CROWD_COLUMN: crowds} if crowds else {})
