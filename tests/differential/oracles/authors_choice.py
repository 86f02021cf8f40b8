"""Scorers that the authors of multiple-choice benchmarks publish, over replies on standard input.

Each takes its function, or the whole script, from the checkout. Arguments of a job:
{"scorer": NAME}, a name of `SCORERS`, and what that scorer needs. A row has no credit where the
scorer counts it neither as right nor as wrong, or draws its option by lot.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import copy
import csv
import io
import json
import os
import random
import re
import statistics
import string
import sys
import tempfile
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from authors_open import CHECKOUTS, Row, defined, names_of, source

Credits = Sequence[float | None]
Found = tuple[Credits, Mapping[str, float]]
LETTERS = "ABCDEFGHIJ"
DRAWS = ("mmmu", "mmmu-pro", "vmcbench", "cmmmu", "visualpuzzles")
"""Scorers that draw an option at random where a reply names none."""


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    """Credits by id; `metrics` has the mean in percent of the rows that count, and further ones."""
    rows = job["rows"]
    credits, extra = SCORERS[job["arguments"]["scorer"]](rows, job["arguments"])
    by_id = {row["id"]: credit for row, credit in zip(rows, credits, strict=True)}
    drawn = job["arguments"]["scorer"] in DRAWS
    left_out = {row["id"] for row in rows if row["apart"] or (drawn and by_id[row["id"]] is None)}
    if left_out:
        kept = [row for row in rows if row["id"] not in left_out]
        credits, extra = SCORERS[job["arguments"]["scorer"]](kept, job["arguments"])
    counted = [credit for credit in credits if credit is not None]
    mean = 100 * sum(counted) / len(counted)
    metrics = {"mean": mean, **extra}
    return {"credits": by_id, "metrics": metrics, "left_out": sorted(left_out)}


def options_of(row: Row) -> dict[str, str]:
    """The options of a row, from its letter columns or its list of candidates."""
    cells = row["cells"]
    if "candidates" in cells:
        return dict(zip(LETTERS, ast.literal_eval(cells["candidates"]), strict=False))
    return {label: cells[label] for label in LETTERS if label in cells}


@contextlib.contextmanager
def files_of(**texts: Any) -> Iterator[Path]:
    """A folder with JSON files, in which the block runs."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, held in texts.items():
            text = held if isinstance(held, str) else json.dumps(held)
            file = Path(folder) / f"{name.replace('__', '/')}.json"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def run(text: str, *arguments: str) -> str:
    """What a script prints that is called with these arguments."""
    printed, before = io.StringIO(), sys.argv
    sys.argv = ["script", *arguments]
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    finally:
        sys.argv = before
    return printed.getvalue()


def blink(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`eval_prediction`, for each row alone and for all: it tells shares of tasks, not rows."""
    names = names_of(source("BLINK_Benchmark", "eval", "evaluate.py"), "blink")

    def total(some: Sequence[Row]) -> float:
        names["subtasks"] = list(dict.fromkeys(row["cells"]["category"] for row in some))
        answers = {row["id"]: f"({row['cells']['answer']})" for row in some}
        said = {row["id"]: row["reply"] for row in some}
        with files_of(val_answers=answers, val_predictions__model=said):
            found: float = names["eval_prediction"]("val", "model")["Total"]
        return found

    return [total([row]) for row in rows], {"Total": 100 * total(rows)}


def scienceqa(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """LLaVA's `eval_science_qa.py`, whole."""
    problems = {
        row["id"]: {"choices": list(options_of(row).values()), "answer": LETTERS.index(row["cells"]["answer"])}
        for row in rows
    }
    said = [
        {"question_id": row["id"], "text": row["reply"], "prompt": "<image>"} for row in rows if not row.get("missing")
    ]
    lines = "\n".join(map(json.dumps, said))
    with files_of(pid_splits={"test": list(problems)}, problems=problems, said=lines) as folder:
        run(
            source("LLaVA", "llava", "eval", "eval_science_qa.py"),
            *("--base-dir", str(folder), "--result-file", str(folder / "said.json")),
            *("--output-file", str(folder / "out.json"), "--output-result", "result.json"),
        )
        judged = json.loads((folder / "out.json").read_text())
        acc = json.loads((folder / "result.json").read_text())["acc"]
    right = {one["question_id"] for one in judged["correct"]}
    return [float(row["id"] in right) for row in rows], {"acc": acc}


def mme_realworld(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    text = source("MME-RealWorld", "evaluation", "eval_your_results.py")
    read = defined(text, "extract_characters_regex", re=re)["extract_characters_regex"]
    held = [
        {
            "Task": row["cells"]["category"].split("/")[0],
            "Subtask": row["cells"]["category"].split("/")[1],
            "Category": row["cells"]["l2-category"],
            "Question_id": row["id"],
            "Ground truth": row["cells"]["answer"],
            "Output": row["reply"],
            "Answer choices": list(options_of(row).values()),
        }
        for row in rows
    ]
    with files_of(results=held) as folder:
        printed = run(text, "--results_file", str(folder / "results.json"))
    overall = re.search(r"Overall Acc ([\d.]+)", printed)
    assert overall is not None
    credits = [float(read(one["Output"], one["Answer choices"]) == one["Ground truth"]) for one in held]
    assert abs(float(overall[1]) - sum(credits) / len(credits)) < 1e-4
    return credits, {}


def video_mme(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """The script leaves out a reply in which it finds no letter: it counts what was answered."""
    text = source("Video-MME", "evaluation", "eval_your_results.py")
    read = defined(text, "extract_characters_regex", re=re)["extract_characters_regex"]
    said = [read(row["reply"]) for row in rows]
    return [
        float(letter == row["cells"]["answer"]) if letter else None for letter, row in zip(said, rows, strict=True)
    ], {}


def tempcompass(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """The script of one task, with `--disable_llm`: what its rules do not read is wrong."""
    folder = CHECKOUTS / "TempCompass"
    said: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in rows:
        cells = row["cells"]
        one = {"question": cells["question"], "answer": cells["answer"], "prediction": row["reply"]}
        said.setdefault(cells["video_id"], {}).setdefault(cells["dim"], []).append(one)
    sys.path.insert(0, str(folder))
    try:
        names = names_of(source("TempCompass", f"eval_{arguments['task']}.py"), "tempcompass")
    finally:
        sys.path.pop(0)
    with files_of(meta_info=(folder / "meta_info.json").read_text()) as here:
        # Its table, printed after the file is written, divides by the count of every aspect.
        with contextlib.suppress(ZeroDivisionError):
            names["main"](said, {}, str(here / "out.json"), True)
        judged = json.loads((here / "out.json").read_text())
    marks = {(video, dim): iter(results) for video, dims in judged.items() for dim, results in dims.items()}
    return [float(next(marks[row["cells"]["video_id"], row["cells"]["dim"]])["rating"]) for row in rows], {}


class _Lot(random.Random):
    """A lot that remembers whether it was drawn."""

    drawn = False

    def choice(self, seq: Any) -> Any:
        self.drawn = True
        return super().choice(seq)


def mmmu(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    names = names_of(source("MMMU", "mmmu", "utils", "eval_utils.py"), "mmmu")
    lot = names["random"] = _Lot(42)

    def credit(row: Row) -> float | None:
        options, answer = options_of(row), row["cells"]["answer"]
        gold = ast.literal_eval(answer) if answer.startswith("[") else answer
        if not options:
            return float(names["eval_open"](gold, names["parse_open_response"](row["reply"])))
        lot.drawn = False
        label = names["parse_multi_choice_response"](row["reply"], list(options), options)
        return None if lot.drawn else float(names["eval_multi_choice"](gold, label))

    return [credit(row) for row in rows], {}


def mmmu_pro(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`mmmu_process_results`. In the vision setting options stand in the published file too."""
    names = names_of(source("MMMU", "mmmu-pro", "evaluate.py"), "mmmu_pro")
    lot = names["random"] = _Lot(42)

    def credit(row: Row) -> float | None:
        lot.drawn = False
        cells = row["cells"]
        options = cells.get("options") or str(list(options_of(row).values()))
        held = {"id": row["id"], "response": row["reply"], "options": options, "answer": cells["answer"]}
        right = names["mmmu_process_results"](held)["if_right"]
        return None if lot.drawn else float(right)

    return [credit(row) for row in rows], {}


def mmbench(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """lmms-eval's copy of the step before the language model, over all rotations of a question."""
    import pandas as pd

    text = source("lmms-eval", "lmms_eval", "tasks", "mmbench", "mmbench_evals.py")
    quiet = type("Quiet", (), {"info": print, "warning": print})
    names = defined(text, "MMBench_Evaluator", string=__import__("string"), pd=pd, os=os, eval_logger=quiet)
    evaluator = names["MMBench_Evaluator"]()
    right: dict[int, bool] = {}
    for row in rows:
        item = {**dict.fromkeys("ABCD"), **row["cells"], "prediction": row["reply"]}
        base = int(row["id"]) % 1_000_000
        hit = evaluator.prefetch_answer(item) == row["cells"]["answer"]
        right[base] = right.get(base, True) and hit
    return [float(right[int(row["id"])]) if int(row["id"]) in right else None for row in rows], {}


def check_ans(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`check_ans` of MLVU's script or MVBench's notebook; the gold is the option in its dress."""
    text = source(*arguments["path"])
    if arguments["path"][-1].endswith(".ipynb"):
        cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
        text = next(cell for cell in cells if cell.startswith("def check_ans"))
    check: Callable[..., bool] = defined(text, "check_ans")["check_ans"]

    def gold(row: Row) -> str:
        answer = row["cells"]["answer"]
        label = next(label for label, text in options_of(row).items() if text == answer)
        return f"({label}) {answer}"

    credits = [float(check(pred=row["reply"], gt=gold(row))) for row in rows]
    # MLVU's script averages the tasks, MVBench's notebook the questions.
    return credits, {"Avg": statistics.fmean(_means_by(rows, credits, "task_type").values())}


def mmstar(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`MMStar_eval` for each row among one of every other category: it tells shares of categories,
    not rows, and divides by all of them."""
    import pandas as pd

    text = source("MMStar", "eval", "vlmeval", "evaluate", "mmstar.py")
    written = re.search(r"MMStar_score_l2 = (\{.+?\n    \})", text, re.DOTALL)
    assert written is not None
    levels = [(top, low) for top, lows in ast.literal_eval(written[1]).items() for low in lows]
    told: dict[str, float] = {}
    table: dict[str, Any] = {}
    names = defined(
        text,
        "MMStar_eval",
        deepcopy=__import__("copy").deepcopy,
        get_logger=lambda name: type("Quiet", (), {"info": print}),
        load=lambda path: table["rows"],
        dump=lambda scores, path: told.update(scores),
        tqdm=lambda some: some,
    )

    def credit(row: Row) -> float:
        held = [
            {"prediction": "", "answer": "A", "bench": "", "category": top, "l2_category": low} for top, low in levels
        ]
        held[0] |= {"prediction": row["reply"], "answer": row["cells"]["answer"]}
        table["rows"] = pd.DataFrame(held)
        names["MMStar_eval"]("rows.xlsx")
        top, low = levels[0]
        return told[f"{top}({low})"]

    return [credit(row) for row in rows], {}


def mmsi(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """The extraction of the class in the authors' copy of VLMEvalKit."""
    text = source("MMSI-Bench", "vlmeval", "dataset", "mmsi_bench.py")
    body = text[text.index("    def extract_single_choice_with_word_boundary") :]
    body = body[: body.index("@staticmethod")]
    read = names_of(f"import re\n{textwrap.dedent(body)}", "mmsi")
    read = read["extract_single_choice_with_word_boundary"]
    return [float(read(row["reply"]) == row["cells"]["answer"]) for row in rows], {}


def medxpertqa(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    text = source("MedXpertQA", "eval", "utils.py")
    clean = defined(text, "answer_cleansing", re=re)["answer_cleansing"]
    lead_in = "Among {start} through {end}, the answer is"

    def credit(row: Row) -> float:
        asked = {"options": list(options_of(row)), "label": [row["cells"]["answer"]]}
        said = clean("zero_shot", lead_in, row["reply"], "medxpertqa", "mm", asked)
        return float(said == asked["label"])

    return [credit(row) for row in rows], {}


def phyx(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """VLMEvalKit's comparison of strings, which its class calls with `valid_type` STR."""
    text = source("VLMEvalKit", "vlmeval", "dataset", "utils", "phyx.py")
    failed = "Failed to obtain answer via API."
    name = arguments.get("function", "PhyX_process_line_MC")
    helpers = ("safe_literal_eval", "extract_boxed_content", "mapping_str")
    compare = defined(text, name, *helpers, re=re, ast=ast, FAIL_MSG=failed)[name]
    lines = [{"index": row["id"], "answer": row["cells"]["answer"], "prediction": row["reply"]} for row in rows]
    return [float(compare(line)["match"]) for line in lines], {}


def logicvista(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """VLMEvalKit's extraction, whose language model gives the verdict that each row holds."""
    text = source("VLMEvalKit", "vlmeval", "dataset", "utils", "logicvista.py")
    names = defined(text, "LogicVista_auxeval", "build_prompt_logicvista", FAIL_MSG="Failed to obtain answer via API.")

    def credit(row: Row) -> float:
        model = type("Model", (), {"generate": lambda self, *_, **__: row["verdict"]})()
        line = {**row["cells"], "prediction": row["reply"]}
        return float(names["LogicVista_auxeval"](model, line)["hit"])

    return [credit(row) for row in rows], {}


def cvbench(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """Cambrian's script of each source; those of ADE20K, COCO and Omni3D read alike."""
    credits = []
    for row in rows:
        part = {"ADE20K": "ade", "COCO": "coco", "Omni3D": "omni"}[row["cells"]["source"]]
        text = source("cambrian", "eval", "eval", part, f"{part}_test.py")
        read = defined(text, "extract_mcq_answer")["extract_mcq_answer"]
        credits.append(float(read(row["reply"]) == row["cells"]["answer"].lower()))
    # The average that the authors' page of the benchmark gives: of 2D and 3D, and in 2D of both.
    sources = _means_by(rows, credits, "source")
    two = (sources["ADE20K"] + sources["COCO"]) / 2
    return credits, {"average": (two + sources["Omni3D"]) / 2}


def _means_by(rows: Sequence[Row], credits: Sequence[float | None], column: str) -> dict[str, float]:
    """The mean credit in percent of the rows of each label."""
    found: dict[str, list[float]] = {}
    for row, credit in zip(rows, credits, strict=True):
        found.setdefault(row["cells"][column], []).append(credit or 0.0)
    return {label: 100 * statistics.fmean(values) for label, values in found.items()}


def can_infer(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """The matching of the copy of VLMEvalKit in a benchmark's own repository."""
    names = defined(
        source(*arguments["path"]), "can_infer_option", "can_infer_text", "can_infer", os=os, cp=copy, string=string
    )
    return [float(names["can_infer"](row["reply"], options_of(row)) == row["cells"]["answer"]) for row in rows], {}


def spatial457(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`evaluate` of VLMEvalKit's class, which at that commit calls the module tqdm and so stops
    with an error: here the bar is given."""
    import pandas as pd

    folder = ("VLMEvalKit", "vlmeval", "dataset")
    body = ast.parse(source(*folder, "spatial457.py")).body
    made = next(one for one in body if isinstance(one, ast.ClassDef))
    part = ast.Module([one for one in made.body if getattr(one, "name", "") == "evaluate"], [])
    table = pd.DataFrame([{**row["cells"], "index": row["id"], "prediction": row["reply"]} for row in rows])
    names: dict[str, Any] = {
        "re": re,
        "tqdm": list,
        "load": lambda path: table,
        "dump": lambda *_: None,
        "get_intermediate_file_path": lambda *_: "",
    }
    exec(compile(part, "spatial457", "exec"), names)
    rule = names_of(source(*folder, "utils", "spatial457.py"), "rule")["Spatial457_utils"]()
    told = names["evaluate"](types.SimpleNamespace(ROBUST=True, dataset_utils=rule), "")
    shares = {name: 100 * told[name] for name in told if name.endswith("score")}
    return [float(one["correct"]) for one in told["answers"]], shares


def visulogic(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """The class of `eval_model.py`, whose judge finds no option where its rules do not."""
    body = ast.parse(source("VisuLogic-Eval", "evaluation", "eval_model.py")).body
    part = ast.Module([one for one in body if getattr(one, "name", "") == "ModelEvaluator"], [])
    names: dict[str, Any] = {"re": re, "statistics": statistics, "Option_list": list("ABCD")}
    exec(compile(part, "visulogic", "exec"), names)
    evaluator = names["ModelEvaluator"].__new__(names["ModelEvaluator"])
    evaluator.extract_gpt, evaluator.verbose = lambda reply: "N", False
    evaluator.tag_order = sorted({row["cells"]["category"] for row in rows})

    def result(row: Row) -> dict[str, str]:
        said, _ = evaluator.extract_answer_v1(row["reply"])
        cells = row["cells"]
        return {"answer": cells["answer"], "extracted_answer": said, "tag": cells["category"]}

    results = [result(row) for row in rows]
    _, overall = evaluator.calculate_scores(results)
    return [evaluator.calculate_scores([one])[1] / 100 for one in results], {"overall": overall}


def vmcbench(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """lmms-eval's task, which the authors' repository names for evaluation."""
    path = ("lmms-eval", "lmms_eval", "tasks", "vmcbench", "utils.py")
    names = names_of(source(*path), "vmcbench", __file__="utils.py")
    lot = names["random"] = _Lot(42)

    def result(row: Row) -> tuple[Mapping[str, Any], bool]:
        lot.drawn = False
        doc = {**row["cells"], "index": row["id"]}
        return names["vmcbench_process_results"](doc, [row["reply"]])["average"], lot.drawn

    results = [result(row) for row in rows]
    kept = [one for (one, _), row in zip(results, rows, strict=True) if not row["apart"]]
    average = 100 * names["vmcbench_aggregate_results"](kept)
    return [None if drawn else float(one["score"]) for one, drawn in results], {"average": average}


def cmmmu(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`evaluate_response`, which counts the right ones of some entries."""
    names = names_of(source("CMMMU", "eval", "utils", "eval_utils.py"), "cmmmu")
    lot = names["random"] = _Lot(42)

    def entry(row: Row) -> dict[str, Any]:
        cells = row["cells"]
        texts = {label: cells.get(f"option{n}", "") for n, label in enumerate("ABCD", 1)}
        held = {"type": cells["type"], "answer": cells["answer"], "response": row["reply"]}
        return held | ({"index2ans": texts} if cells["type"] == "选择" else {})

    def credit(row: Row) -> float | None:
        lot.drawn = False
        right = names["evaluate_response"]([entry(row)])["correct_num"]
        return None if lot.drawn else float(right)

    kept = [entry(row) for row in rows if not row["apart"]]
    acc = 100 * names["evaluate_response"](kept)["acc"]
    return [credit(row) for row in rows], {"acc": acc}


def holmes(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`evaluate` of the script, which asks a model that says the replies in turn."""
    replies = iter([row["reply"] for row in rows])
    questions = [
        {
            "Question ID": row["id"],
            "video ID": row["cells"]["video"],
            "Question Type": row["cells"]["question_type"],
            "Question": row["cells"]["question"],
            "Options": options_of(row),
            "Answer": row["cells"]["answer"],
        }
        for row in rows
    ]
    evaluate = defined(
        source("Video-Holmes", "evaluate.py"),
        "evaluate",
        os=os,
        json=json,
        csv=csv,
        re=re,
        defaultdict=collections.defaultdict,
        tqdm=list,
        predict_gemini=lambda *_: next(replies),
    )["evaluate"]
    with files_of(test=questions) as folder:
        evaluate("", str(folder / "test.json"), str(folder), "gemini", None)
        judged = json.loads((folder / "Results-gemini.json").read_text())
    return [float(one["Correct"]) for one in judged], {}


def mindcube(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    read = names_of(source("MindCube", "src", "evaluation", "core", "extractors.py"), "mindcube")["extract_answer"]
    return [float(read(row["reply"]) == row["cells"]["answer"]) for row in rows], {}


def omnispatial(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """The two lines of the script for `--eval_type re`."""
    text = source("OmniSpatial", "api_eval.py")
    found = re.search(r"( +PATTERN = re\.compile.+\n +pred_letter = .+\n)", text)
    assert found is not None
    code = compile(textwrap.dedent(found[1]), "omnispatial", "exec")

    def letter(reply: str) -> str:
        names: dict[str, Any] = {"re": re, "response": reply}
        exec(code, names)
        return str(names["pred_letter"])

    return [float(letter(row["reply"]) == row["cells"]["answer"]) for row in rows], {}


def visualpuzzles(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`VisualPuzzles_process_result` of the authors' copy of lmms-eval."""
    text = source("VisualPuzzles", "lmms-eval", "lmms_eval", "tasks", "VisualPuzzles", "utils.py")
    lot = _Lot(42)
    names = defined(text, "parse_response", "VisualPuzzles_process_result", re=re, random=lot)

    def credit(row: Row) -> float | None:
        lot.drawn = False
        cells = row["cells"]
        options = ast.literal_eval(cells["options"]) if cells["options"] else None
        doc = {"options": options, "answer": cells["answer"]}
        right = names["VisualPuzzles_process_result"](doc, [row["reply"]])["exact_match"]
        return None if lot.drawn else float(right)

    return [credit(row) for row in rows], {}


def naturalbench(rows: Sequence[Row], arguments: Mapping[str, Any]) -> Found:
    """`extract_answer` for each row, and `get_scores` over groups of four."""
    names = defined(source("NaturalBench", "naturalbench_vqa.py"), "extract_answer", "get_scores", re=re)
    said = [names["extract_answer"](row["reply"], row["cells"]["type"]) for row in rows]
    golds = [{"Yes": 1, "A": 1}.get(row["cells"]["answer"], 0) for row in rows]
    scores = names["get_scores"]([said[start : start + 4] for start in range(0, len(said), 4)])
    return [float(one == gold) for one, gold in zip(said, golds, strict=True)], {
        name: 100 * value for name, value in scores.items()
    }


SCORERS: Mapping[str, Callable[[Sequence[Row], Mapping[str, Any]], Found]] = {
    "blink": blink,
    "scienceqa": scienceqa,
    "mme-realworld": mme_realworld,
    "video-mme": video_mme,
    "tempcompass": tempcompass,
    "mmmu": mmmu,
    "mmmu-pro": mmmu_pro,
    "mmbench": mmbench,
    "check_ans": check_ans,
    "mmstar": mmstar,
    "mmsi": mmsi,
    "spatial457": spatial457,
    "cvbench": cvbench,
    "can_infer": can_infer,
    "medxpertqa": medxpertqa,
    "phyx": phyx,
    "logicvista": logicvista,
    "visulogic": visulogic,
    "vmcbench": vmcbench,
    "cmmmu": cmmmu,
    "holmes": holmes,
    "mindcube": mindcube,
    "omnispatial": omnispatial,
    "visualpuzzles": visualpuzzles,
    "naturalbench": naturalbench,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
