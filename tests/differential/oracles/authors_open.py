"""Scorers that the authors of benchmarks of open questions publish, over replies on standard input.

Each takes its function, or the loop that scores, from the checkout and gives it one row at a time.
Arguments of a job: {"scorer": NAME}, a name of `SCORERS`, and what that scorer needs.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import itertools
import json
import os
import re
import sys
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKOUTS = Path(os.environ["SNELLEN_CHECKOUTS"])
Row = Mapping[str, Any]


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    """Credits by id; `metrics` has their mean in percent, and what the scorer adds."""
    scorer, rows = SCORERS[job["arguments"]["scorer"]], job["rows"]
    found = scorer(rows, job["arguments"])
    extra = {}
    if isinstance(found, tuple):
        found, extra = found
    credits = {row["id"]: float(credit) for row, credit in zip(rows, found, strict=True)}
    mean = 100 * sum(credits.values()) / len(credits)
    return {"credits": credits, "metrics": {"mean": mean, **extra}}


def golds_of(row: Row, column: str = "answer") -> list[str]:
    held = row["cells"][column]
    return list(ast.literal_eval(held)) if held.startswith("[") else [held]


def source(*path: str) -> str:
    return CHECKOUTS.joinpath(*path).read_text(encoding="utf-8")


def names_of(text: str, name: str, **given: Any) -> dict[str, Any]:
    """What a script defines when it is run under a name that is not `__main__`."""
    names: dict[str, Any] = {"__name__": name, **given}
    exec(compile(text, name, "exec"), names)
    return names


def defined(text: str, *wanted: str, **given: Any) -> dict[str, Any]:
    """Some functions of a script, without the rest of it."""
    tree = ast.parse(text)
    tree.body = [one for one in tree.body if getattr(one, "name", None) in wanted]
    names: dict[str, Any] = {"__name__": "part", **given}
    exec(compile(tree, "part", "exec"), names)
    return names


def vqa(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Sequence[float]:
    """The VQA evaluation, whose Python 2 prints are turned into calls."""
    text = source("VQA", "PythonEvaluationTools", "vqaEvaluation", "vqaEval.py")
    text = re.sub(r"^(\s*)print (.+)$", r"\1print(\2)", text, flags=re.MULTILINE)
    held = {
        row["id"]: {
            "answers": [
                {"answer": gold, "answer_id": number}
                for number, gold in enumerate(golds_of(row, arguments.get("column", "answer")), 1)
            ],
            "question_type": "what",
            "answer_type": "other",
        }
        for row in rows
    }
    said = {row["id"]: {"answer": row["reply"]} for row in rows}
    asked = types.SimpleNamespace(qa=held, getQuesIds=lambda: list(held))
    evaluation = names_of(text, "vqa")["VQAEval"](asked, types.SimpleNamespace(qa=said), n=12)
    evaluation.evaluate()
    return [evaluation.evalQA[row["id"]] / 100 for row in rows]


def textvqa(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Sequence[float]:
    """LLaVA's `eval_textvqa.py` calls this evaluator, which is that of the authors' code base."""
    text = source("LLaVA", "llava", "eval", "m4c_evaluator.py")
    evaluator = names_of(text, "m4c")["TextVQAAccuracyEvaluator"]()
    return [evaluator.eval_pred_list([{"pred_answer": row["reply"], "gt_answers": golds_of(row)}]) for row in rows]


def relaxed(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Sequence[float]:
    """Pix2Struct's relaxed accuracy, over the golds of a question."""
    names = defined(
        source("pix2struct", "pix2struct", "metrics.py"),
        "relaxed_correctness",
        "aggregate_metrics",
        **{name: getattr(__import__("typing"), name) for name in ("Any", "Callable", "Optional")},
        Sequence=Sequence,
    )
    return [
        names["aggregate_metrics"]([golds_of(row)], [row["reply"]], names["relaxed_correctness"]) / 100 for row in rows
    ]


def anls(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Sequence[float]:
    """The script of DocVQA's and InfographicVQA's competition."""
    names = names_of(source("Qwen-VL", "eval_mm", "infographicsvqa_eval.py"), "rrc")
    held = [{"questionId": int(row["id"]), "question": "", "answers": golds_of(row)} for row in rows]
    said = [{"questionId": int(row["id"]), "answer": row["reply"]} for row in rows]
    files = {"gold": json.dumps({"dataset_name": "", "data": held}).encode(), "said": json.dumps(said).encode()}
    names["open"] = lambda path, *_: io.BytesIO(files[path])
    parameters = types.SimpleNamespace(answer_types=False, anls_threshold=0.5)
    found = names["evaluate_method"]("gold", "said", parameters)["per_sample_result"]
    return [found[row["id"]]["score"] for row in rows]


def mtvqa(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    """Its number is the mean of the means of the languages."""
    [script] = (CHECKOUTS / "MTVQA" / "scripts").glob("*.py")
    names = defined(script.read_text(), "evaluate_exact_match_accuracy")
    judge = names["evaluate_exact_match_accuracy"]
    credits = [judge([{"annotation": golds_of(row), "answer": row["reply"]}]) for row in rows]
    languages: dict[str, list[float]] = {}
    for row, credit in zip(rows, credits, strict=True):
        languages.setdefault(row["cells"]["category"], []).append(credit)
    means = {name: 100 * sum(one) / len(one) for name, one in languages.items()}
    return credits, {**means, "Average": sum(means.values()) / len(means)}


def ocrbench(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    """The loop of `example.py` that scores the replies it has collected."""
    tree = ast.parse(source("MultimodalOCR", "OCRBench", "example.py"))
    main = next(node for node in tree.body if isinstance(node, ast.If))
    loop = next(node for node in main.body if isinstance(node, ast.For) and "HME100k" in ast.unparse(node))
    data = [
        {
            "type": row["cells"]["type"],
            "dataset_name": row["cells"]["dataset_name"],
            "answers": golds_of(row, "answers"),
            "predict": row["reply"],
        }
        for row in rows
    ]
    exec(compile(ast.Module([loop], []), "example.py", "exec"), {"data": data})
    credits = [one.get("result", 0) for one in data]
    return credits, {"right": sum(credits)}


def tablevqabench(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    """The functions of its parts. Its one number weighs parts by their size. In its files the gold
    of a statement is a number."""
    names = names_of(source("tablevqabench", "src", "evaluate_tablevqa_dataset.py"), "tables")
    judges = {"vtabfact": "evaluate_tabfact", "fintabnetqa": "evaluate_fintabnet"}
    credits = []
    for row in rows:
        part, gold = row["cells"]["split"], row["cells"]["answer"]
        one = {"pred": row["reply"], "gt": int(gold) if part == "vtabfact" else gold}
        judged, _ = names[judges.get(part, "evaluate_wtq")]([one], ["accuracy"])
        # A reply with both words is put aside for a person and counts as wrong.
        credits.append(judged[0]["scores"]["accuracy"] or 0.0)
    return credits


def slidevqa(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    names = names_of(source("SlideVQA", "evaluate.py"), "slides")
    found = []
    for row in rows:
        question = row["cells"]["question"]
        gold = {"question": question, "answer": row["cells"]["answer"]}
        found.append(names["evaluate_f1_em_qa"]({1: gold}, {1: {"answer": row["reply"]}}))
    exact = 100 * sum(one["EM"] for one in found) / len(found)
    return [one["F1"] for one in found], {"EM": exact}


def mmlongbench(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    """What its `run_api.py` does with an extraction; where that would end the run, 0 is given."""
    names = names_of(source("MMLongBench-Doc", "eval", "eval_score.py"), "long")
    samples = []
    for row in rows:
        gold, kind = row["cells"]["answer"], row["cells"]["answer_format"]
        try:
            said = row["verdict"].split("Answer format:")[0].split("Extracted answer:")[1].strip()
            score = names["eval_score"](gold, said, kind)
        except Exception:  # noqa: BLE001 - whatever model text makes of its `eval`
            said, score = "", 0.0
        samples.append({"answer": gold, "pred": said, "score": score})
    accuracy, f1 = names["eval_acc_and_f1"](samples)
    return [one["score"] for one in samples], {"acc": 100 * accuracy, "f1": 100 * f1}


def longdocurl(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    """Its script with an extraction, which is the row's verdict; where that would end the run, 0 is given."""
    names = names_of(source("LongDocURL", "utils", "utils_score_v3.py"), "score")
    with tempfile.NamedTemporaryFile("w", suffix=".md") as prompt:
        script = defined(
            source("LongDocURL", "eval", "extract_concise_answer_from_vllm.py"),
            "extract_per_record",
            extractor_prompt_path=prompt.name,
            system_prompt="",
            eval_score=names["eval_score"],
            json=json,
        )
        credits = []
        for row in rows:
            case = {"question_id": row["id"], **row["cells"]}
            script["call_llm"] = lambda prompt, urls, said=row["verdict"]: said
            try:
                script["extract_per_record"]((case, row["reply"], os.devnull))
            except Exception:  # noqa: BLE001 - whatever model text makes of its `eval`
                case["score_v3"] = 0.0
            credits.append(float(case["score_v3"]))
    return credits


def longdocurl_vlmevalkit(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    """VLMEvalKit's functions for the same, as its class calls them."""
    home = ("VLMEvalKit", "vlmeval", "dataset")
    names = names_of(source(*home, "utils", "longdocurl.py"), "score")
    extract = defined(
        source(*home, "longdocurl.py"),
        "LongDocURL_auxeval",
        "_get_line_value",
        FAIL_MSG="Failed to obtain answer",
        **names,
    )
    extract["_is_missing"] = lambda value: value is None
    credits = []
    for row in rows:
        judge = types.SimpleNamespace(generate=lambda prompt, temperature, said=row["verdict"]: said)
        cells = row["cells"]
        said = extract["LongDocURL_auxeval"](judge, {**cells, "prediction": row["reply"]}, "")["pred"]
        try:
            score = (
                0.0 if said == "Fail to extract" else names["eval_score"](cells["answer"], said, cells["answer_format"])
            )
        except Exception:  # noqa: BLE001 - as the class does
            score = 0.0
        credits.append(float(score))
    return credits


def mathvista(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Sequence[float]:
    """What the script does with an extraction, which is the row's verdict."""
    import Levenshtein

    names = defined(
        source("MathVista", "evaluation", "calculate_score.py"),
        "normalize_extracted_answer",
        "get_most_similar",
        "safe_equal",
        re=re,
        distance=Levenshtein.distance,
    )
    credits = []
    for row in rows:
        cells = row["cells"]
        said = names["normalize_extracted_answer"](
            row["verdict"],
            ast.literal_eval(cells["choices"]),
            cells["question_type"],
            cells["answer_type"],
            cells["precision"],
        )
        credits.append(names["safe_equal"](said, cells["answer"]))
    return credits


def mathvision(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Sequence[float]:
    """The script reads its questions and the replies from files, and writes verdicts there."""
    folder = CHECKOUTS / "MATH-V" / "evaluation"
    sys.path.insert(0, str(folder))
    questions = [
        {"id": row["id"], "answer": row["cells"]["answer"], "options": ast.literal_eval(row["cells"]["choices"])}
        for row in rows
    ]
    text = source("MATH-V", "evaluation", "evaluate.py").replace("id_raw = {example", "id_raw = QUESTIONS or {example")
    # `fire` makes a command of it; nothing else is used.
    sys.modules.setdefault("fire", types.ModuleType("fire"))
    names = names_of(text, "mathv", QUESTIONS={one["id"]: one for one in questions})
    kept: list[Any] = []
    names["load_jsonl"] = lambda path: [{"id": row["id"], "response": row["reply"]} for row in rows]
    names["save_jsonl"] = lambda path, lines, **_: kept.extend(lines)
    names["evaluate"]("replies", True)
    return [float(line["correct"]) for line in kept]


def ccocr(rows: Sequence[Row], arguments: Mapping[str, Any]) -> tuple[list[float], dict[str, float]]:
    """CC-OCR's evaluators: a row alone is the picture's number; a subset's number is that of its
    pictures together, a track's and the total are plain means."""
    sys.path.insert(0, str(CHECKOUTS / "AdvancedLiterateMachinery/Benchmarks/CC-OCR/evaluation"))
    from concurrent.futures import ThreadPoolExecutor

    from evaluator import doc_parsing_evaluator, evaluator_map_info

    # A pool of processes for each row would take most of the time.
    doc_parsing_evaluator.ProcessPoolExecutor = ThreadPoolExecutor
    keys = {"kie": "f1_score", "doc_parsing": "score"}

    def summary(of: Sequence[Row]) -> dict[str, float]:
        cells = of[0]["cells"]
        _, info = evaluator_map_info[cells["category"]](
            {row["id"]: row["reply"] for row in of if not row.get("missing")},
            {row["id"]: row["cells"]["answer"] for row in of},
            op=cells["l2-category"],
            dataset=cells["split"],
        )
        return info["summary"]

    def number(of: Sequence[Row]) -> float:
        return summary(of)[keys.get(of[0]["cells"]["category"], "macro_f1_score")]

    subsets: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        subsets.setdefault((row["cells"]["category"], row["cells"]["split"]), []).append(row)
    tracks: dict[str, list[float]] = {}
    metrics = {}
    for (track, name), of in subsets.items():
        tracks.setdefault(track, []).append(number(of))
        metrics[f"subset/{track}/{name}"] = 100 * number(of)
        if "mirco_f1_score" in summary(of):
            metrics[f"micro_f1/{track}/{name}"] = 100 * summary(of)["mirco_f1_score"]
    means = [sum(values) / len(values) for values in tracks.values()]
    metrics["total"] = 100 * sum(means) / len(means)
    return [0.0 if row.get("missing") else number([row]) for row in rows], metrics


def screenspot(rows: Sequence[Row], arguments: Mapping[str, Any]) -> list[float]:
    """The statements of the script's loop, but for those that open the picture and ask the
    model."""
    names = names_of(source("SeeClick", "pretrain", "process_utils.py"), "utils")
    tree = ast.parse(source("SeeClick", "pretrain", "screenspot_test.py"))
    [loop] = [node for node in ast.walk(tree) if isinstance(node, ast.For) and ast.unparse(node.target) == "(j, item)"]
    asking = ("Image.open", "os.path", "tokenizer", "prompt_origin")
    loop.body = [node for node in loop.body if not any(part in ast.unparse(node) for part in asking)]
    code = compile(ast.Module(loop.body, []), "loop", "exec")
    credits = []
    for row in rows:
        cells = row["cells"]
        given = {"img_filename": "", "instruction": "", "bbox": json.loads(cells["bbox"])}
        said = {
            "item": {**cells, **given},
            "image": types.SimpleNamespace(size=_size_of(cells["image"])),
            "response": row["reply"],
            "logging": types.SimpleNamespace(info=lambda *_: None),
            "img_path": "",
            "j": 0,
            "num_action": 0,
            "corr_action": 0,
            "num_wrong_format": 0,
            "text_correct": [],
            "icon_correct": [],
            "result": [],
        }
        exec(code, {**names, **said})
        [credit] = said["text_correct"] + said["icon_correct"]
        credits.append(float(credit))
    return credits


def _size_of(picture: str) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    head = base64.b64decode(picture)[16:24]
    return int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")


def screenspot_pro(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Any:
    """The readers of the file for GPT-4o, and the script's verdicts and tables."""
    folder = "ScreenSpot-Pro-GUI-Grounding"
    readers = defined(source(folder, "models", "gpt4x.py"), "extract_first_bounding_box", "extract_first_point", re=re)
    text = source(folder, "eval_screenspot_pro.py")
    wanted = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    names = defined(text, *wanted, itertools=itertools)
    results = []
    for row in rows:
        cells = row["cells"]
        box = readers["extract_first_bounding_box"](row["reply"])
        point = readers["extract_first_point"](row["reply"])
        if not point and box:
            point = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
        sample = {"bbox": json.loads(cells["bbox"]), "img_size": json.loads(cells["img_size"])}
        results.append(
            {
                "group": cells["category"],
                "platform": cells["platform"],
                "application": cells["application"],
                "ui_type": cells["ui_type"],
                "gt_type": "positive",
                "instruction_style": "instruction",
                "correctness": names["eval_sample_positive_gt"](sample, {"point": point}),
            }
        )
    tables = names["evaluate"](results)["metrics"]
    flat = {"overall": tables["overall"]}
    for style in ("leaderboard_simple_style", "leaderboard_detailed_style"):
        flat |= tables[style]
    metrics = {
        f"{key}/{name}": 100 * value
        for key, numbers in flat.items()
        for name, value in numbers.items()
        if name.endswith("_acc")
    }
    return [float(one["correctness"] == "correct") for one in results], metrics


def emma(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Sequence[float]:
    """`fast_extract_answer` and `is_equal`, as `gen_true_false` calls them."""
    equal = names_of(source("EMMA", "evaluation", "utils.py"), "utils")
    extract = defined(source("EMMA", "evaluation", "evaluate.py"), "fast_extract_answer", **equal)

    def credit(row: Row) -> float:
        cells = row["cells"]
        if not row["reply"]:
            return 0.0
        answer = extract["fast_extract_answer"](row["reply"])
        golds = (cells["answer"], cells.get(cells["answer"], cells["answer"]))
        return float(any(equal["is_equal"](answer, gold) for gold in golds))

    return list(map(credit, rows))


SCORERS: Mapping[str, Callable[[Sequence[Row], Mapping[str, Any]], Any]] = {
    "vqa": vqa,
    "textvqa": textvqa,
    "relaxed": relaxed,
    "anls": anls,
    "mtvqa": mtvqa,
    "ocrbench": ocrbench,
    "tablevqabench": tablevqabench,
    "slidevqa": slidevqa,
    "mmlongbench": mmlongbench,
    "longdocurl": longdocurl,
    "longdocurl_vlmevalkit": longdocurl_vlmevalkit,
    "mathvista": mathvista,
    "mathvision": mathvision,
    "emma": emma,
    "ccocr": ccocr,
    "screenspot": screenspot,
    "screenspot_pro": screenspot_pro,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
