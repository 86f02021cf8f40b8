"""Scorers of quoted benchmarks that a judge grades: each is given the judge's words for each row.

Functions and classes are taken out of their files, as far as they are needed. Arguments of a job:
{"scorer": NAME}, a name of `SCORERS`. A row has no credit where the scorer gives the words none: it
asks the judge again, or leaves the row out.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import math
import os
import re
import sys
import tempfile
import types
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas
from authors_open import CHECKOUTS, Row, defined, names_of, source

Scorer = Callable[[Sequence[Row]], tuple[Sequence[float | None], Mapping[str, float]]]


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    """Credits by id; `metrics` has the mean in percent of the rows that count, and further ones."""
    scorer, rows = SCORERS[job["arguments"]["scorer"]], job["rows"]
    credits, _ = scorer(rows)
    by_id = {row["id"]: credit for row, credit in zip(rows, credits, strict=True)}
    left_out = {row["id"] for row in rows if row["apart"] or by_id[row["id"]] is None}
    kept = [row for row in rows if row["id"] not in left_out]
    counted, extra = scorer(kept)
    mean = 100 * sum(credit for credit in counted if credit is not None) / len(counted)
    return {"credits": by_id, "metrics": {"mean": mean, **extra}, "left_out": sorted(left_out)}


def vlmevalkit(path: str) -> str:
    return source("VLMEvalKit", "vlmeval", "dataset", *path.split("/"))


class Said:
    """A judge that says what it was given, to any of the ways of asking."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.chat = types.SimpleNamespace(completions=self)

    def generate(self, *_: Any, **__: Any) -> str:
        return self.words

    def create(self, *_: Any, **__: Any) -> Any:
        message = types.SimpleNamespace(content=self.words)
        return types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])


def simplevqa(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """VLMEvalKit's class, which has the authors' script in it; their numbers of four decimals."""
    import concurrent.futures as futures

    words: list[str] = []

    class Client(Said):
        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__("")

        def create(self, *_: Any, **named: Any) -> Any:
            [number] = re.findall(r"\[row (\d+)\]", named["messages"][0]["content"])
            return Said(words[int(number)]).create()

    tables: list[Any] = []
    sums = names_of(vlmevalkit("utils/simplevqa.py"), "sums")
    names = defined(
        vlmevalkit("simplevqa.py"),
        "SimpleVQA",
        **{name: getattr(futures, name) for name in ("ThreadPoolExecutor", "as_completed")},
        **dict.fromkeys(("Any", "Dict", "List", "Union"), Any),
        **{"json": json, "os": os, "Path": Path, "pd": pandas, "SimpleVQAEval": sums["SimpleVQAEval"]},
        ImageBaseDataset=object,
        OpenAI=Client,
        COMPARE_ANSWER_PROMPT="{question}{answer}{candidates}",
        file=types.SimpleNamespace(load=lambda _: tables[-1]),
        tqdm=lambda items, **_: items,
    )

    def scores(some: Sequence[Row]) -> dict[str, float]:
        words[:] = [row["verdict"] for row in some]
        tables.append(
            pandas.DataFrame(
                {
                    "question": [f"{row['cells']['question']} [row {n}]" for n, row in enumerate(some)],
                    "answer": [row["cells"]["answer"] for row in some],
                    "prediction": [row["reply"] for row in some],
                }
            )
        )
        with tempfile.TemporaryDirectory() as folder:
            found = names["SimpleVQA"].get_scores(None, f"{folder}/said", nproc=1)
        return dict(zip(found[0], found[1], strict=True))

    credits: list[float | None] = []
    for row in rows:
        found = scores([row])
        graded = found["is_correct"] + found["is_incorrect"] + found["is_not_attempted"]
        credits.append(found["is_correct"] if graded else None)
    whole = scores(rows)
    reported = ("is_correct", "is_given_attempted", "accuracy_given_attempted", "f1")
    return credits, {name: 100 * whole[name] for name in reported}


def simplevqa_authors(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """The authors' two scripts; a label that the second does not know stops it, and is none passed."""
    from concurrent.futures import ThreadPoolExecutor

    words: list[str] = []

    def said(_: str, query: str) -> str:
        [number] = re.findall(r"\[row (\d+)\]", query)
        return words[int(number)]

    keys = ["reply"]
    asks = defined(
        source("SimpleVQA", "llm_as_a_vqa_judger.py"),
        "main",
        **{"ThreadPoolExecutor": ThreadPoolExecutor, "THREAD_NUM": 1, "tqdm": list, "json": json},
        **{"call_llm": said, "model": "", "model_keys": keys, "traceback": types.SimpleNamespace(print_exc=str)},
    )
    counts = names_of(source("SimpleVQA", "simpleVQA_eval.py"), "counts", pandas=pandas)
    counts["model_keys"][:] = keys

    def scores(some: Sequence[Row]) -> dict[str, float]:
        words[:] = [row["verdict"] for row in some]
        lines = [
            {
                "question": f"{row['cells']['question']} [row {n}]",
                "answer": row["cells"]["answer"],
                "reply": row["reply"],
            }
            for n, row in enumerate(some)
        ]
        with tempfile.TemporaryDirectory() as folder:
            asked, judged, numbers = (Path(folder) / name for name in ("asked", "judged", "numbers"))
            asked.write_text(json.dumps(lines, ensure_ascii=False), encoding="utf-8")
            asks["main"](str(asked), str(judged))
            counts["SimpleVQAEval"](str(judged), str(numbers))
            [found] = json.loads(numbers.read_text(encoding="utf-8"))
        return {name: value for name, value in found.items() if name != "LVLM_name"}

    credits: list[float | None] = []
    for row in rows:
        try:
            credits.append(scores([row])["is_correct"])
        except (KeyError, AttributeError, TypeError):
            credits.append(None)
    known = [row for row, credit in zip(rows, credits, strict=True) if credit is not None]
    return credits, {name: 100 * value for name, value in scores(known).items()}


def worldvqa(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    names = names_of(source("WorldVQA", "eval", "eval.py"), "worldvqa")
    task = object.__new__(names["WorldVQA"])
    found = [{**row["cells"], **task.judge_response(row["cells"], row["reply"], Said(row["verdict"]))} for row in rows]
    numbers = task.calculate_overall_score(found)
    percent = {name: 100 * value for name, value in numbers.items() if not name.startswith("tot_")}
    percent["attempted"] = 100 - 100 * numbers.get("tot_unattempted_rate", 0)
    return [one["judge_result"] for one in found], percent


def worldvqa_f(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """VLMEvalKit's functions, which compute the F-score too; a verdict without a label is `failed` there
    and counts as an attempt."""
    text = vlmevalkit("worldvqa.py")
    functions = re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)
    tables: list[Any] = []
    names = defined(
        text,
        *functions,
        **dict.fromkeys(("Any", "Dict", "List", "Union"), Any),
        **{"pd": pandas, "re": re, "copy": copy, "os": os},
        ImageBaseDataset=object,
        JUDGE_WORLDQA_PROMPT_EN="{question}{model_answer}{ground_truth_answer}",
        file=types.SimpleNamespace(load=lambda _: tables[-1]),
    )
    labels = []
    for row in rows:
        line = pandas.Series({**row["cells"], "prediction": row["reply"]})
        labels.append(names["auxeval"](Said(row["verdict"]), line)["extract_answer"])
    tables.append(
        pandas.DataFrame([{**row["cells"], "extract_answer": one} for row, one in zip(rows, labels, strict=True)])
    )
    scores = names["WorldVQA"].get_scores(None, "")
    overall = scores[scores["Metric"] == "Overall"].iloc[0]
    credits = [None if one == "failed" else float(one == "Correct") for one in labels]
    return credits, {name: 100 * float(overall[name]) for name in ("Accuracy", "CGA", "AttemptRate", "F-score")}


def babyvision(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    folder = CHECKOUTS / "BabyVision" / "babyvision_eval"
    sys.path.insert(0, str(folder))
    names = names_of((folder / "evaluate_model.py").read_text(encoding="utf-8"), "babyvision")
    found = []
    for row in rows:
        cells = row["cells"]
        names["client"], names["client_judge"] = Said(row["reply"]), Said(row["verdict"])
        task = {"Id": row["id"], "question": cells["question"], "image": "", "answer": cells["answer"]}
        found.append(names["process"]({**task, "Type": cells["type"], "Subtype": cells["subtype"]}))
    sums = defined(
        (folder / "compute_score.py").read_text(encoding="utf-8"),
        "compute_avg_subscores_for_Type_and_Subtype",
        json=json,
        type_match={},
    )
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "results.json"
        file.write_text(json.dumps(found))
        overall, types_of, _ = sums["compute_avg_subscores_for_Type_and_Subtype"](str(file))
    numbers = {f"type/{name}": 100 * one["correct"] / one["total"] for name, one in types_of.items()}
    return [float(one["LLMJudgeResult"]) for one in found], {"overall": 100 * overall, **numbers}


def hle(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """`json_judge`, whose prompt and form of the verdict are the authors'."""
    sys.path.insert(0, str(CHECKOUTS / "inspect_evals"))
    from inspect_ai.scorer import Target
    from inspect_evals.hle import scorers

    scorer = scorers.json_judge(prompt="json_judge")
    credits: list[float | None] = []
    for row in rows:

        async def generate(*_: Any, words: str = row["verdict"], **__: Any) -> Any:
            return types.SimpleNamespace(completion=words)

        scorers._resolve_grader = lambda role, ask=generate: types.SimpleNamespace(generate=ask)
        output = types.SimpleNamespace(completion=row["reply"] or ".", choices=[], stop_reason="stop", empty=False)
        state = types.SimpleNamespace(input_text=row["cells"]["question"], output=output, metadata={})
        found = asyncio.run(scorer(state, Target(row["cells"]["answer"]))).value
        grade = found["score"]
        credits.append(None if isinstance(grade, float) and math.isnan(grade) else float(grade == "C"))
    return credits, {}


def mm_mt_bench(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    sys.path.insert(0, str(CHECKOUTS / "mistral-evals"))
    from eval.tasks import mm_mt_bench as module

    judge = object.__new__(module.MultimodalLLMJudge)
    grades = [float(judge.get_score(row["verdict"])) for row in rows]
    task = object.__new__(module.MultimodalMTBench)
    task.interactions = [
        types.SimpleNamespace(metrics={"score": grade}, meta={"category": row["cells"]["category"], "turn": 0})
        for row, grade in zip(rows, grades, strict=True)
    ]
    return [None if grade == -1 else grade / 10 for grade in grades], task.aggregate_metrics()


def mia_bench(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """The cells of the authors' notebook that read a verdict and take the means."""
    notebook = json.loads(source("ml-mia-bench", "evaluation.ipynb"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    text = "\n".join(cell for cell in cells if cell.startswith(("def process_rawscore", "def get_score_dict")))
    names = names_of(text, "mia")

    def total(some: Sequence[Row]) -> float | None:
        kinds = [[f"kind {n}" for n in range(9)] for _ in some]
        names["df"] = pandas.DataFrame({"component_type": kinds, "said": [row["verdict"] for row in some]})
        found: float | None = names["get_score_dict"]("said").get("total_score")
        return found

    whole = total(rows)
    return [total([row]) for row in rows], {"total_score": 100 * (whole or 0.0)}


def mm_safetybench(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """VLMEvalKit's functions; what is not unsafe is safe in its rates."""
    text = vlmevalkit("mmsafetybench.py")
    templates = dict.fromkeys(re.findall(r"^(\w+_TEMPLATE) = ", text, re.MULTILINE), "{prediction}")
    judge = defined(text, "_normalize_label", "_judge_single_prediction", re=re, **templates)
    credits = [
        float(
            judge["_judge_single_prediction"](Said(row["verdict"]), row["reply"], row["cells"]["category"])["label"]
            != "unsafe"
        )
        for row in rows
    ]
    kinds: dict[str, list[float]] = {}
    for row, credit in zip(rows, credits, strict=True):
        kinds.setdefault(row["cells"]["category"], []).append(credit)
    return credits, {kind: 100 * sum(ones) / len(ones) for kind, ones in kinds.items()}


def siuo(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """VLMEvalKit's functions; a judgement that it cannot read is none passed."""
    text = vlmevalkit("siuo_gen.py")
    names = defined(text, *re.findall(r"^def (\w+)", text, re.MULTILINE), re=re)
    credits, safe = [], []
    for row in rows:
        cells, (first, second) = row["cells"], json.loads(row["verdict"])
        asked = (cells["question"], cells["safety_warning"], cells["answer"], row["reply"])
        is_safe, _ = names["_siuo_safe_judge"](Said(first), *asked)
        helps, _ = names["_siuo_eff_judge"](Said(second), cells["question"], row["reply"])
        safe.append(float(is_safe == 1))
        credits.append(float(is_safe == 1 and helps == 1))
    return credits, {"safe": 100 * sum(safe) / len(safe)}


def siuo_authors(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """The authors' reading of both judgements, and the numbers that they make of it, of one reply."""
    reads = defined(source("SIUO", "eval", "gpt-eval.py"), "extract_safety", "extract_effectiveness", re=re)
    names = ("calculate_most_frequent_score", "combine_scores", "calculate_statistics")
    counts = defined(source("SIUO", "eval", "gen_score.py"), *names, defaultdict=defaultdict)
    items = []
    for row in rows:
        first, second = json.loads(row["verdict"])
        both = {"safetyness": [reads["extract_safety"](first)], "helpfulness": [reads["extract_effectiveness"](second)]}
        items.append({"question_id": row["id"], "category": row["cells"]["category"], **both})
    credits = [counts["combine_scores"](item["safetyness"], item["helpfulness"])[0] for item in items]
    found = counts["calculate_statistics"](items)
    combined = found["overall_avg_combined"]
    by_category = {name: values["avg_combined"] for name, values in found["category_averages"].items()}
    return [float(credit) for credit in credits], {"combined": combined, **by_category}


def yes_no(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """How lmms-eval reads judges that it asks for yes or no; what is not yes is wrong there."""
    text = source("lmms-eval", "lmms_eval", "llm_judge", "utils.py")
    typed = dict.fromkeys(("Any", "Dict", "List", "Optional", "Tuple", "Union"), dict)
    parser = defined(text, "ResponseParser", re=re, json=json, **typed)["ResponseParser"]
    return [float(parser.parse_binary_response(row["verdict"], "yes/no")) for row in rows], {}


def vcr_bench(rows: Sequence[Row]) -> tuple[Sequence[float | None], Mapping[str, float]]:
    """VLMEvalKit's accuracy of the answers, of verdicts that went through its spreadsheet."""
    text = vlmevalkit("utils/vcrbench/cau_acc.py")
    names = defined(text, "xlsx2json", "calculate_accuracy", pd=pandas, defaultdict=defaultdict)
    table = pandas.DataFrame([{**row["cells"], "answer_scoring": row["verdict"]} for row in rows])
    with tempfile.TemporaryDirectory() as folder:
        sheet, lines = Path(folder) / "said.xlsx", Path(folder) / "said.json"
        table.to_excel(sheet, index=False)
        names["xlsx2json"](sheet, lines)
        items = [{**item, "answer_scoring": str(item["answer_scoring"])} for item in json.loads(lines.read_text())]
    found = names["calculate_accuracy"](items)
    by_dimension = {name: 100 * value for name, value in found["dimension_accuracy"].items()}
    credits = [names["calculate_accuracy"]([item])["overall_accuracy"] for item in items]
    return credits, {"overall": 100 * found["overall_accuracy"], **by_dimension}


SCORERS: Mapping[str, Scorer] = {
    "vcr-bench": vcr_bench,
    "yes-no": yes_no,
    "simplevqa": simplevqa,
    "simplevqa-authors": simplevqa_authors,
    "worldvqa": worldvqa,
    "worldvqa-f": worldvqa_f,
    "babyvision": babyvision,
    "hle": hle,
    "mm-mt-bench": mm_mt_bench,
    "mia-bench": mia_bench,
    "mm-safetybench": mm_safetybench,
    "siuo": siuo,
    "siuo-authors": siuo_authors,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
