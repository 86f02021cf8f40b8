"""Scorers of places, of authors and of other tools, over replies on standard input.

Each takes its functions from a checkout and gives them one row at a time, with the pictures that the
row holds. Arguments of a job: {"scorer": NAME}, a name of `SCORERS`, and what that scorer needs.
Rows with which a scorer stops have no credit and are left out of its numbers.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import os
import re
import resource
import runpy
import sys
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import lmms_eval
import stand_ins
from authors_open import CHECKOUTS, defined, names_of, source
from lmms_eval_video import _module

Row = Mapping[str, Any]
_MOST_MEMORY = 6 << 30
"""RoboRefer's and RoboPoint's readers list every pixel of a box, however large."""


def evaluated(job: Mapping[str, Any], prepared: Any) -> dict[str, Any]:
    rows, arguments = job["rows"], job["arguments"]
    credits: dict[str, float | None] = {}
    results: dict[str, Any] = {}
    score, sum_up = prepared
    for row in rows:
        try:
            credits[row["id"]], results[row["id"]] = score(row)
        except (ArithmeticError, ValueError, TypeError, IndexError, MemoryError, KeyError, SyntaxError) as error:
            print(row["id"], repr(row["reply"][:80]), repr(error)[:120], file=sys.stderr)
            credits[row["id"]] = None
    known = [credit for credit in credits.values() if credit is not None]
    groups = _means_by_group(rows, credits, arguments.get("groups", ()))
    metrics = {"mean": 100 * fmean(known), **groups, **sum_up(list(results.values()))}
    return {
        "credits": credits,
        "metrics": metrics,
        "left_out": [key for key, value in credits.items() if value is None],
    }


def _means_by_group(
    rows: Sequence[Row], credits: Mapping[str, float | None], columns: Sequence[str]
) -> dict[str, float]:
    held: dict[str, list[float]] = {}
    for row in rows:
        credit = credits[row["id"]]
        for column in columns if credit is not None else ():
            held.setdefault(f"{column}/{row['cells'][column]}", []).append(credit)
    return {name: 100 * fmean(values) for name, values in held.items()}


def picture(text: str) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(base64.b64decode(text)))


def mask_of(row: Row) -> Any:
    """The second picture of a row."""
    return picture(row["cells"]["image"][1])


def _nothing(results: Sequence[Any]) -> dict[str, float]:
    return {}


Score = Callable[[Row], tuple[float, Any]]
Scorer = Callable[[Mapping[str, Any]], tuple[Score, Callable[[Sequence[Any]], dict[str, float]]]]


def _task(path: str) -> Any:
    return lmms_eval.module_of(path)


def refcoco_rec(arguments: Mapping[str, Any]) -> Any:
    module = _task("refcoco/utils_rec.py")

    def score(row: Row) -> tuple[float, Any]:
        doc = {"answer": row["cells"]["question"], "bbox": json.loads(row["cells"]["answer"]), "question_id": row["id"]}
        result = module.refcoco_bbox_rec_process_result(doc, [row["reply"]])
        return module.refcoco_bbox_rec_acc05([result["refcoco_ACC@0.5"]]), result

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        functions = {"IoU": "iou", "ACC@0.5": "acc05", "ACC@0.7": "acc07", "Center_ACC": "center_acc"}
        return {
            name: 100 * getattr(module, f"refcoco_bbox_rec_{end}")([one[f"refcoco_{name}"] for one in results])
            for name, end in functions.items()
        }

    return score, sum_up


def osworld_g(arguments: Mapping[str, Any]) -> Any:
    module = _task("osworld_g/utils.py")

    def score(row: Row) -> tuple[float, Any]:
        cells = row["cells"]
        doc = {name: json.loads(cells[name]) for name in ("image_size", "box_coordinates")}
        result = module.osworld_g_process_results({**cells, **doc}, [row["reply"]])
        return float(result["osworld_g_acc"]["correct"]), result["osworld_g_acc"]

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        names = ("acc", "bbox_acc", "polygon_acc", "refusal_acc")
        return {name: 100 * getattr(module, f"osworld_g_{name}")(results) for name in names}

    return score, sum_up


def charades(arguments: Mapping[str, Any]) -> Any:
    module = _module("charades_sta", CHECKOUTS / "lmms-eval")
    module.eval_logger = logging.getLogger("charades")
    return _spans(
        lambda doc, reply: module.temporal_grounding_process_results_generation(doc, [reply]),
        lambda found, name: getattr(module, f"temporal_grounding_aggregate_{name}")(found, None),
        "charades_sta_",
    )


def timelens_lmms(arguments: Mapping[str, Any]) -> Any:
    module = _module("timelens", CHECKOUTS / "lmms-eval")
    module.eval_logger = logging.getLogger("timelens")
    return _spans(
        lambda doc, reply: module.timelens_process_results(doc, [reply]),
        lambda found, name: getattr(module, f"timelens_aggregate_{name}")(found, None),
        "timelens_",
    )


def _spans(process: Callable[..., Any], aggregate: Callable[..., float], prefix: str) -> Any:
    def score(row: Row) -> tuple[float, Any]:
        result = process(_span_document(row), row["reply"])[f"{prefix}mIOU"]
        return aggregate([result], "miou") / 100, result

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        return {name: aggregate(results, name) for name in ("iou3", "iou5", "iou7", "miou")}

    return score, sum_up


def _span_document(row: Row) -> dict[str, Any]:
    cells = row["cells"]
    return {
        **cells,
        "caption": f"{cells.get('caption', '')} {row['id']}",
        "query": f"{cells.get('query', '')} {row['id']}",
        "timestamp": cells.get("timestamp"),
        "span": json.loads(cells.get("span", "null")),
    }


def timelens(arguments: Mapping[str, Any]) -> Any:
    """The authors' script, over one annotation and over all."""
    utils = types.ModuleType("timelens.utils")
    vars(utils).update(names_of(source("TimeLens", "timelens", "utils.py"), "timelens.utils"))
    sys.modules["timelens"], sys.modules["timelens.utils"] = types.ModuleType("timelens"), utils

    def numbers(held: Mapping[str, Any]) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "said.json"
            file.write_text(json.dumps(held), encoding="utf-8")
            sys.argv = ["compute_metrics.py", "-f", str(file)]
            runpy.run_path(str(CHECKOUTS / "TimeLens" / "evaluation" / "compute_metrics.py"), run_name="__main__")
            text = file.with_suffix(".log").read_text(encoding="utf-8")
        return {name: float(value) for name, value in re.findall(r"^(m?IOU(?: 0\.\d)?): (\S+)$", text, re.MULTILINE)}

    def score(row: Row) -> tuple[float, Any]:
        column = arguments.get("column", "span")
        [start, end] = json.loads(row["cells"][column])[0] if column == "span" else json.loads(row["cells"][column])
        said = (f"v>>>{row['id']}>>>[{start}, {end}]", {"answers": row["reply"]})
        return numbers(dict([said]))["mIOU"] / 100, said

    return score, lambda results: numbers(dict(results))


def refspatial(arguments: Mapping[str, Any]) -> Any:
    """The authors' function that is over one answer, for the models that answer in fractions."""
    names = names_of(source("RoboRefer", "Evaluation", "summarize_acc.py"), "summarize")

    def score(row: Row) -> tuple[float, Any]:
        names["Image"] = types.SimpleNamespace(open=lambda path: mask_of(row))
        names["tqdm"] = lambda answers: answers
        names["os"] = types.SimpleNamespace(path=types.SimpleNamespace(join=lambda *parts: ""))
        answer = {"mask_path": "", "text": row["reply"], "question_id": row["id"]}
        names["compute_accuracy"]([answer], "", lambda text, w, h: names["text2pts"](text, w, h, is_absolute=False))
        return float(answer["accuracy"]), None

    return score, _nothing


def refspatial_lmms(arguments: Mapping[str, Any]) -> Any:
    return _masked("refspatial", f"refspatial_process_results{arguments.get('form', '')}", "refspatial_acc")


def where2place_lmms(arguments: Mapping[str, Any]) -> Any:
    return _masked("where2place", f"where2place_process_results{arguments.get('form', '')}", "where2place_acc")


def _masked(task: str, function: str, key: str) -> Any:
    module = _module(task, CHECKOUTS / "lmms-eval")

    def score(row: Row) -> tuple[float, Any]:
        doc = {"suffix": "", "prompt": "", "object": "", "id": row["id"], "question_id": row["id"], **row["cells"]}
        doc["mask"] = mask_of(row)
        result = getattr(module, function)(doc, [row["reply"]])[key]
        return float(result["accuracy"]), result

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        return {key: 100 * getattr(module, f"{task}_aggregate_results")(results)}

    return score, sum_up


def where2place(arguments: Mapping[str, Any]) -> Any:
    """The authors' script over one question: its masks are named .jpg, and read by their content."""
    script = str(CHECKOUTS / "RoboPoint" / "robopoint" / "eval" / "summarize_vqa.py")

    def score(row: Row) -> tuple[float, Any]:
        with tempfile.TemporaryDirectory() as home:
            folder, said = Path(home), io.StringIO()
            (folder / "masks").mkdir()
            (folder / "masks" / "00.jpg").write_bytes(base64.b64decode(row["cells"]["image"][1]))
            (folder / "point_questions.jsonl").write_text('{"question_id": 0}\n', encoding="utf-8")
            answers = folder / "answers.jsonl"
            answers.write_text(json.dumps({"text": row["reply"]}) + "\n", encoding="utf-8")
            sys.argv = ["summarize_vqa.py", "--answer_file", str(answers), "--data_dir", str(folder)]
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                runpy.run_path(script, run_name="__main__")
        value = float(said.getvalue().rpartition("Accuracy: ")[2])
        if value != value:
            raise ValueError("the script left the answer out")
        return value, None

    return score, _nothing


def robospatial(arguments: Mapping[str, Any]) -> Any:
    names = names_of(source("RoboSpatial-Eval", "evaluation.py"), "evaluation")

    def score(row: Row) -> tuple[float, Any]:
        return float(names["evaluate_answer"](row["cells"]["answer"], row["reply"])[0]), None

    return score, _nothing


def robospatial_lmms(arguments: Mapping[str, Any]) -> Any:
    module = _task("robo_spatial/utils.py")

    def score(row: Row) -> tuple[float, Any]:
        doc = dict(row["cells"])
        if "mask" in doc:
            doc |= module._save_mask({"mask": picture(doc["mask"])})
        result = module.robo_spatial_process_results_generation(doc, [row["reply"]])["robo_spatial_score"]
        return float(result["score"]), result

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        return {name: 100 * value for name, value in module.robo_spatial_aggregate_score(results, None).items()}

    return score, sum_up


def odinw13(arguments: Mapping[str, Any]) -> Any:
    """The credit is the share of gold boxes that are found with an IoU of 0.5."""
    module = _task("odinw13/utils.py")

    def score(row: Row) -> tuple[float, Any]:
        cells = row["cells"]
        listed = {name: json.loads(cells[name]) for name in ("categories", "bboxes", "labels")}
        doc = {**cells, **listed, "image_id": int(row["id"])}
        record = module.odinw13_process_results(doc, [row["reply"]])["odinw13_mAP"]
        return record["acc_sum"][0.5] / max(1, record["n_gt"]), record

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        functions = {"mAP": "map", "mAP50": "map50", "mAP75": "map75", "ACC@0.5": "acc_05"}
        return {name: 100 * getattr(module, f"odinw13_{end}")(results) for name, end in functions.items()}

    return score, sum_up


def groundingme(arguments: Mapping[str, Any]) -> Any:
    names = names_of(source("GroundingME", "evaluate.py"), "evaluate")

    def score(row: Row) -> tuple[float, Any]:
        cells = row["cells"]
        names["call_model"] = lambda *_: row["reply"]
        image = types.SimpleNamespace(convert=lambda mode: None)
        sizes = {name: int(cells[name]) for name in ("width", "height")}
        sample = {**cells, "id": row["id"], "image": image, "bbox": json.loads(cells["bbox"]), **sizes}
        result = names["evaluate_sample"](sample, {})
        return result["acc_50"], result

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        return {name: 100 * value for name, value in names["aggregate_results"](results).items()}

    return score, sum_up


def groundingme_lmms(arguments: Mapping[str, Any]) -> Any:
    module = _task("groundingme/utils.py")

    def score(row: Row) -> tuple[float, Any]:
        cells = row["cells"]
        sizes = {name: int(cells[name]) for name in ("width", "height")}
        doc = {**cells, "id": row["id"], "bbox": json.loads(cells["bbox"]), **sizes}
        result = module.groundingme_process_result(doc, [row["reply"]])["groundingme_IoU"]
        return float(result["acc_5"]), result

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        functions = {"ACC@0.5": "acc05", "IoU": "iou", "Rejection_ACC": "rejection_acc"}
        return {name: 100 * getattr(module, f"groundingme_{end}")(results) for name, end in functions.items()}

    return score, sum_up


def pixmo_points(arguments: Mapping[str, Any]) -> Any:
    """Molmo's evaluator, whose tokenizer is one that gives back the reply."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    points = defined(source("molmo", "olmo", "util.py"), "extract_points", re=re, np=np)
    text = source("molmo", "olmo", "eval", "evaluators.py")
    wanted = (
        "is_point_in_region",
        "is_valid_format",
        "compute_precision",
        "compute_recall",
        "f1_score",
        "PointingEval",
    )
    given = {
        **{name: getattr(__import__("typing"), name) for name in ("List", "Tuple")},
        "defaultdict": __import__("collections").defaultdict,
        "mean_metric": lambda values: float(np.mean(values)),
        "extract_points": points["extract_points"],
        "Evaluator": object,
    }
    names = defined(text, *wanted, re=re, np=np, cdist=cdist, linear_sum_assignment=linear_sum_assignment, **given)

    def score(row: Row) -> tuple[float, Any]:
        cells = row["cells"]
        masks = [np.array(picture(mask)) > 0 for mask in json.loads(cells["masks"])]
        size = tuple(json.loads(cells["image_size"]))
        gold = np.array([[one["x"], one["y"]] for one in json.loads(cells["points"])]).reshape(-1, 2)
        metadata = {"points": gold, "masks": masks, "image_size": size}
        tokenizer = types.SimpleNamespace(decode=lambda tokens: row["reply"])
        predictions = {"predictions": [np.array([0])], "prompts": [None]}
        result = names["PointingEval"]()([metadata], predictions, tokenizer)
        return result["f1"], result

    def sum_up(results: Sequence[Any]) -> dict[str, float]:
        return {name: 100 * fmean(one[name] for one in results) for name in ("f1", "precision", "recall")}

    return score, sum_up


SCORERS: dict[str, Scorer] = {
    "refcoco_rec": refcoco_rec,
    "osworld_g": osworld_g,
    "charades": charades,
    "timelens": timelens,
    "timelens_lmms": timelens_lmms,
    "refspatial": refspatial,
    "refspatial_lmms": refspatial_lmms,
    "where2place": where2place,
    "where2place_lmms": where2place_lmms,
    "robospatial": robospatial,
    "robospatial_lmms": robospatial_lmms,
    "odinw13": odinw13,
    "groundingme": groundingme,
    "groundingme_lmms": groundingme_lmms,
    "pixmo_points": pixmo_points,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as home:
        os.environ["HF_HOME"] = home
        stand_ins.install(*lmms_eval.HEAVY, "datasets", "tqdm", "lmms_eval.tasks._task_utils.file_utils")
        sys.path.insert(0, str(CHECKOUTS / "lmms-eval"))
        prepared = [SCORERS[job["arguments"]["scorer"]](job["arguments"]) for job in jobs]
        stand_ins.seal()
        verdicts = [evaluated(job, one) for job, one in zip(jobs, prepared, strict=True)]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
