"""Benchmarks whose answers are places, by their authors' scorers and those of other tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.differential.oracle_list import LMMS_EVAL, VLMEVALKIT
from tests.differential.sets import Case, Oracle, Spec
from tests.differential.styles_places import TARGETS, box_cases, mask_png, place_cases, span_cases

Numbers = Sequence[float]
_SMALL = ((64, 48), (48, 64), (100, 80))


def _oracle(repository: str, commit: str, licence: str) -> Oracle:
    return Oracle("places", repository, commit, licence, repository.partition("/")[2])


_LMMS = Oracle("places", LMMS_EVAL.repository, LMMS_EVAL.commit, LMMS_EVAL.licence, LMMS_EVAL.checkout)
_VLMEVALKIT = Oracle(
    "vlmevalkit_places", VLMEVALKIT.repository, VLMEVALKIT.commit, VLMEVALKIT.licence, VLMEVALKIT.checkout
)
_ROBOREFER = _oracle("Zhoues/RoboRefer", "d97a995ad28376720a4c8beb64915c58ed16c844", "Apache-2.0")
_ROBOPOINT = _oracle("wentaoyuan/RoboPoint", "adbee8db06dcd9e12ac1f2f35bd280979ad5d4a5", "Apache-2.0")
_ROBOSPATIAL = _oracle("chanhee-luke/RoboSpatial-Eval", "19f04a5d2290d496ec7bed509346d8a0b661a57d", "Apache-2.0")
_TIMELENS = _oracle("TencentARC/TimeLens", "5d90c067246ddb11db3203adbb0085bdc48d9e5e", "BSD-3-Clause")
_GROUNDINGME = _oracle("lirang04/GroundingME", "aeb824e0bdd526d944b3fbb7456f503e5391f575", "none stated")
_MOLMO = _oracle("allenai/molmo", "793fa387edfd6fd0f5b21eb8e0a7620a1f3799e1", "Apache-2.0")


def _pixels(box: Numbers, width: int, height: int) -> list[float]:
    return [round(side * (height if place % 2 else width), 2) for place, side in enumerate(box)]


def _empty_picture(width: int, height: int) -> str:
    return mask_png(width, height, ())


def _refcoco(number: int, width: int, height: int, right: tuple[Numbers, ...]) -> Mapping[str, Any]:
    splits = ("RefCOCO val", "RefCOCO test-A", "RefCOCO+ test-B", "RefCOCOg test")
    asked = "Please provide the bounding box coordinate of the region this sentence describes: <ref>black dog</ref>"
    return {
        "image": _empty_picture(width, height),
        "question": asked,
        "answer": "[" + ", ".join(f"{side:.6f}" for side in right[0]) + "]",
        "category": splits[number % len(splits)],
    }


def _osworld(number: int, width: int, height: int, right: tuple[Numbers, ...]) -> Mapping[str, Any]:
    left, top, end, bottom = _pixels(right[0], width, height)
    kind = ("bbox", "polygon", "bbox", "polygon", "refusal")[number % 5]
    if kind == "bbox":
        numbers = [left, top, round(end - left, 2), round(bottom - top, 2)]
    else:
        numbers = [left, top, end, top, end, bottom, (left + end) / 2, bottom + 3, left, bottom]
    return {
        "image": _empty_picture(width, height),
        "instruction": "open the filter function",
        "box_type": kind,
        "box_coordinates": json.dumps([-1, -1, -1, -1] if kind == "refusal" else numbers),
        "image_size": json.dumps([width, height]),
    }


def _masked(number: int, width: int, height: int, right: tuple[Numbers, ...]) -> Mapping[str, Any]:
    mask = mask_png(width, height, tuple(map(tuple, right)))
    asked = "Please point out the free space left of the cup."
    return {"image": [_empty_picture(width, height), mask], "question": asked, "prompt": asked, "step": number % 4 + 1}


def _described(number: int, width: int, height: int, right: tuple[Numbers, ...]) -> Mapping[str, Any]:
    kinds = (("Discriminative", "Text"), ("Spatial", "Counting"), ("Limited", "Small"), ("Rejection", "State"))
    kind, detail = kinds[number % len(kinds)]
    box = [round(side) for side in _pixels(right[0], width, height)]
    return {
        "image": _empty_picture(width, height),
        "description": "the smaller boat, whose flag is torn",
        "question": "the smaller boat, whose flag is torn",
        "bbox": json.dumps(box),
        "answer": json.dumps(box),
        "width": width,
        "height": height,
        "subtask_l1": kind,
        "subtask_l2": detail,
    }


def _of_rooms(number: int, width: int, height: int, right: tuple[Numbers, ...]) -> Mapping[str, Any]:
    # Edges of whole pixels: polygon and mask are then the same place.
    left, top, end, bottom = (min(max(round(side * 16), 1), 15) / 16 for side in right[0])
    polygon = [(left, top), (end, top), (end, bottom), (left, bottom)]
    asked = "Pinpoint several points in the vacant space above the shelf. Your answer should be formatted as a list"
    return {
        "image": _empty_picture(width, height),
        "mask": mask_png(width, height, ((left, top, end, bottom),)),
        "question": asked,
        "category": "context",
        "answer": str(polygon),
    }


_YES_NO: Mapping[str, str] = {
    "as it is": "{}",
    "small": "{small}",
    "capitals": "{capitals}",
    "with dot": "{}.",
    "reason behind": "{}, it is.",
    "reason before": "It stands beside the lamp.\n\nAnswer: {small}",
    "line behind": "{}\nThe lamp is on the left.",
    "other before": "{other}? I think {small}.",
    "both": "{} or {other}",
    "bold": "**{}**",
    "answer tag": "<answer>{}</answer>",
    "thinking": "<think>Is it {other}?</think>\n{}",
    "thought": "It is {other}.</thought>{}",
    "the answer is": "The answer is {small}.",
    "nothing": "I do not know.",
    "north": "north",
    "not": "Not really.",
    "yesterday": "yesterday",
    "blanks": "  {}  ",
    "line breaks": "\n\n{}\n",
    "JSON": '{{"answer": "{small}"}}',
    "refusal": "I'm sorry, but I can't help with that.",
}


def _rooms() -> Iterator[Case]:
    """Points, then the same pictures with questions of yes and no."""
    points = list(place_cases(_of_rooms, pictures=_SMALL[:2])())
    yield from points
    for number, (style, form) in enumerate([*_YES_NO.items()] * 4, int(points[-1].id) + 1):
        said, other = ("Yes", "no") if number % 3 else ("No", "yes")
        reply = form.format(said, small=said.lower(), capitals=said.upper(), other=other)
        cells = {
            "image": _empty_picture(64, 48),
            "question": "Is the mug left of the lamp? Answer yes or no.",
            "category": "configuration" if number % 2 else "compatibility",
            "answer": "yes" if number % 5 else "no",
        }
        yield Case(str(number), cells, f"yes or no, {style}", reply)


def _wild(number: int, width: int, height: int, right: tuple[Numbers, ...]) -> Mapping[str, Any]:
    labels = ["dog", "dog", "fish"][: len(right)]
    return {
        "image": _empty_picture(width, height),
        "dataset_name": "Aquarium" if number % 3 else "pothole",
        "categories": json.dumps(["dog", "fish"]),
        "bboxes": json.dumps([_pixels(box, width, height) for box in right]),
        "labels": json.dumps(labels),
        "image_width": width,
        "image_height": height,
    }


def _pointed(number: int, width: int, height: int, right: tuple[Numbers, ...]) -> Mapping[str, Any]:
    middles = [{"x": 50 * (box[0] + box[2]), "y": 50 * (box[1] + box[3])} for box in right]
    return {
        "image": _empty_picture(width, height),
        "label": "dogs",
        "points": json.dumps(middles),
        "masks": json.dumps([mask_png(width, height, (tuple(box),)) for box in right]),
        "image_size": json.dumps([width, height]),
    }


def _some_or_none(number: int) -> tuple[Numbers, ...]:
    return TARGETS[number % 3 : number % 3 + number % 4]


def _captioned(number: int, start: float, end: float) -> Mapping[str, Any]:
    return {"video": f"v_{number}.mp4", "sentence": "A man lifts a weight.", "timestamp": json.dumps([start, end])}


def _charades(number: int, start: float, end: float) -> Mapping[str, Any]:
    return {"video": f"{number}.mp4", "caption": "a person opens a door", "timestamp": json.dumps([start, end])}


def _timelens(number: int, start: float, end: float) -> Mapping[str, Any]:
    video = f"charades/{number}.mp4"
    return {"video_path": video, "query": "a person opens a door", "span": json.dumps([[start, end]])}


def _parts(number: int) -> tuple[Numbers, ...]:
    return TARGETS[number % 3 : number % 3 + 1 + number % 2]


_SPAN_METRICS = {"iou": "miou", "r1@0.3": "iou3", "r1@0.5": "iou5", "r1@0.7": "iou7"}
_REFCOCO_SPLITS = {
    "category/RefCOCO val": "RefCOCO_val/Precision@1",
    "category/RefCOCO+ test-B": "RefCOCO+_testB/Precision@1",
    "category/RefCOCOg test": "RefCOCOg_test/Precision@1",
}

SPECS = (
    Spec(
        name="refcoco.vlmevalkit",
        benchmark="refcoco",
        rule="vlmevalkit",
        oracle=_VLMEVALKIT,
        path="vlmeval/dataset/refcoco.py, RefCOCODataset.evaluate",
        cases=box_cases(_refcoco),
        arguments={"dataset": "RefCOCO"},
        metrics={"mean_of_splits": "Average/Precision@1", **_REFCOCO_SPLITS},
    ),
    Spec(
        name="refcoco.lmms-eval",
        benchmark="refcoco",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/refcoco/utils_rec.py, refcoco_bbox_rec_process_result",
        cases=box_cases(_refcoco),
        arguments={"scorer": "refcoco_rec"},
        metrics={"iou@0.5": "ACC@0.5", "iou": "IoU", "iou@0.7": "ACC@0.7"},
    ),
    Spec(
        name="osworld-g.lmms-eval",
        benchmark="osworld-g",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/osworld_g/utils.py, osworld_g_process_results",
        cases=place_cases(_osworld),
        arguments={"scorer": "osworld_g"},
        metrics={
            "accuracy": "acc",
            "box_type/bbox": "bbox_acc",
            "box_type/polygon": "polygon_acc",
            "box_type/refusal": "refusal_acc",
        },
    ),
    Spec(
        name="charades-sta.lmms-eval",
        benchmark="charades-sta",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/charades_sta/utils.py, _temporal_grounding_compute_metrics",
        cases=span_cases(_charades),
        arguments={"scorer": "charades"},
        metrics=_SPAN_METRICS,
    ),
    Spec(
        name="timelens-bench.authors",
        benchmark="timelens-bench",
        rule="official",
        oracle=_TIMELENS,
        path="evaluation/compute_metrics.py",
        cases=span_cases(_timelens),
        arguments={"scorer": "timelens"},
        metrics={"iou": "mIOU", "r1@0.3": "IOU 0.3", "r1@0.5": "IOU 0.5", "r1@0.7": "IOU 0.7"},
    ),
    Spec(
        name="timelens-bench.lmms-eval",
        benchmark="timelens-bench",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/timelens/utils.py, _timelens_compute_metrics",
        cases=span_cases(_timelens),
        arguments={"scorer": "timelens_lmms"},
        metrics=_SPAN_METRICS,
    ),
    Spec(
        name="refspatial-bench.authors",
        benchmark="refspatial-bench",
        rule="official",
        oracle=_ROBOREFER,
        path="Evaluation/summarize_acc.py, compute_accuracy with text2pts",
        cases=place_cases(_masked, pictures=_SMALL, targets=_parts),
        arguments={"scorer": "refspatial", "groups": ["step"]},
        metrics={"inside": "mean", "step/1": "step/1", "step/4": "step/4"},
    ),
    Spec(
        name="refspatial-bench.lmms-eval",
        benchmark="refspatial-bench",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/refspatial/utils.py, refspatial_process_results",
        cases=place_cases(_masked, pictures=_SMALL, targets=_parts),
        arguments={"scorer": "refspatial_lmms"},
        metrics={"inside": "refspatial_acc"},
    ),
    Spec(
        name="refspatial-bench.vlmevalkit",
        benchmark="refspatial-bench",
        rule="vlmevalkit",
        oracle=_VLMEVALKIT,
        path="vlmeval/dataset/refspatial.py, RefSpatialDataset.evaluate",
        cases=place_cases(_masked, pictures=_SMALL, targets=_parts),
        arguments={"dataset": "RefSpatial-Location"},
        metrics={"inside": "Overall/Success Rate (%)", "step/1": "Step 1/Success Rate (%)"},
    ),
    Spec(
        name="where2place.authors",
        benchmark="where2place",
        rule="official",
        oracle=_ROBOPOINT,
        path="robopoint/eval/summarize_vqa.py",
        cases=place_cases(_masked, pictures=((640, 480),), targets=_parts),
        arguments={"scorer": "where2place"},
        metrics={"inside": "mean"},
    ),
    Spec(
        name="where2place.lmms-eval",
        benchmark="where2place",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/where2place/utils.py, where2place_process_results",
        cases=place_cases(_masked, pictures=((640, 480), (100, 80)), targets=_parts),
        arguments={"scorer": "where2place_lmms"},
        metrics={"inside": "where2place_acc"},
    ),
    Spec(
        name="groundingme.authors",
        benchmark="groundingme",
        rule="official",
        oracle=_GROUNDINGME,
        path="evaluate.py, evaluate_sample",
        cases=box_cases(_described),
        arguments={"scorer": "groundingme"},
        metrics={
            "acc@0.5": "ACC@0.5",
            "subtask_l1/Spatial": "Spatial_ACC@0.5",
            "subtask_l1/Rejection": "Rejection_ACC@0.5",
        },
    ),
    Spec(
        name="groundingme.vlmevalkit",
        benchmark="groundingme",
        rule="vlmevalkit",
        oracle=_VLMEVALKIT,
        path="vlmeval/dataset/groundingme.py, GroundingME.evaluate",
        cases=box_cases(_described),
        arguments={"dataset": "GroundingME"},
        metrics={
            "acc@0.5": "ACC@0.5",
            "subtask_l1/Spatial": "Spatial_ACC@0.5",
            "subtask_l1/Rejection": "Rejection_ACC@0.5",
        },
    ),
    Spec(
        name="robospatial-home.authors",
        benchmark="robospatial-home",
        rule="official",
        oracle=_ROBOSPATIAL,
        path="evaluation.py, evaluate_answer",
        cases=_rooms,
        arguments={"scorer": "robospatial", "groups": ["category"]},
        metrics={
            "accuracy": "mean",
            "category/context": "category/context",
            "category/configuration": "category/configuration",
        },
    ),
    Spec(
        name="robospatial-home.lmms-eval",
        benchmark="robospatial-home",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/robo_spatial/utils.py, robo_spatial_process_results_generation",
        cases=_rooms,
        arguments={"scorer": "robospatial_lmms"},
        metrics={"accuracy": "overall", "category/context": "context", "category/configuration": "configuration"},
    ),
    Spec(
        name="odinw-13.lmms-eval",
        benchmark="odinw-13",
        rule="lmms-eval",
        oracle=_LMMS,
        path="lmms_eval/tasks/odinw13/utils.py, odinw13_process_results and odinw13_map",
        cases=box_cases(_wild, targets=_parts),
        arguments={"scorer": "odinw13"},
        metrics={"map": "mAP", "ap@0.5": "mAP50", "ap@0.75": "mAP75"},
    ),
    Spec(
        name="activitynet-captions.timelens",
        benchmark="activitynet-captions",
        rule="official",
        oracle=_TIMELENS,
        path="evaluation/compute_metrics.py",
        cases=span_cases(_captioned),
        arguments={"scorer": "timelens", "column": "timestamp"},
        metrics={"iou": "mIOU", "r1@0.3": "IOU 0.3", "r1@0.5": "IOU 0.5", "r1@0.7": "IOU 0.7"},
    ),
    Spec(
        name="pixmo-points.authors",
        benchmark="pixmo-points",
        rule="official",
        oracle=_MOLMO,
        path="olmo/eval/evaluators.py, PointingEval",
        cases=place_cases(_pointed, pictures=_SMALL, targets=_some_or_none),
        arguments={"scorer": "pixmo_points"},
        metrics={"f1": "f1"},
    ),
)
