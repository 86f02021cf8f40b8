"""Scorers of benchmarks of texts alone, and of quoted ones without a judge, over replies on standard
input.

Each takes its function from the checkout and gives it one row at a time. Arguments of a job:
{"scorer": NAME}, a name of `SCORERS`. A row has no credit where the scorer draws its option by lot.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import re
import sys
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from authors_open import CHECKOUTS, Row, defined, names_of, source

Credits = Sequence[float | None]


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


def gsm8k(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    text = source("grade-school-math", "grade_school_math", "dataset.py").partition("class GSMDataset")[0]
    names = names_of(text.replace("import torch as th", ""), "gsm8k")
    found = [names["is_correct"](row["reply"], row["cells"]) for row in rows]
    return list(map(float, found)), {}


def gpqa(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """The lines of `GPQAEval` that look for a letter and compare it."""
    [pattern] = re.findall(r"^ANSWER_PATTERN_MULTICHOICE = (.+)$", source("simple-evals", "common.py"), re.MULTILINE)
    body = source("simple-evals", "gpqa_eval.py")
    lines = [
        line.strip()
        for line in body.splitlines()
        if line.strip().startswith(("match = ", "extracted_answer = ", "score = "))
    ]
    names: dict[str, Any] = {"re": re, "ANSWER_PATTERN_MULTICHOICE": ast.literal_eval(pattern)}
    credits = []
    for row in rows:
        names |= {"response_text": row["reply"], "correct_answer": row["cells"]["answer"]}
        exec("\n".join(lines), names)
        credits.append(names["score"])
    return credits, {}


def mmlu_pro(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    text = source("MMLU-Pro", "evaluate_from_api.py")
    names = defined(text, "extract_answer", "extract_again", "extract_final", re=re)
    credits: list[float | None] = []
    for row in rows:
        letter = names["extract_answer"](row["reply"])
        credits.append(None if letter is None else float(letter == row["cells"]["answer"]))
    return credits, {}


def math(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """MATH's last box and `is_equiv`, as its evaluation calls them."""
    names = names_of(source("math", "modeling", "math_equivalence.py"), "math")
    names |= defined(source("math", "modeling", "dataset", "util.py"), "last_boxed_only_string")
    names |= defined(source("math", "modeling", "eval_math_gpt.py"), "remove_boxed")
    credits = []
    for row in rows:
        box = names["last_boxed_only_string"](row["reply"])
        credits.append(float(names["is_equiv"](names["remove_boxed"](box), row["cells"]["answer"])))
    return credits, {}


def aime(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    names = names_of(source("lm-evaluation-harness", "lm_eval", "tasks", "aime", "utils.py"), "aime")
    found = [names["process_results"](row["cells"], [row["reply"]])["exact_match"] for row in rows]
    return list(map(float, found)), {}


def chartqapro(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    names = names_of(source("ChartQAPro", "evaluate_predictions.py"), "chartqapro")
    said = [
        {
            "Answer": ast.literal_eval(row["cells"]["answer"]),
            "Year": ast.literal_eval(row["cells"]["year"]),
            "Question Type": row["cells"]["question_type"],
            "prediction": row["reply"],
        }
        for row in rows
    ]
    score = names["evaluate_predictions_chartqapro"]
    return [score([one])["Overall"] for one in said], {key: 100 * value for key, value in score(said).items()}


def zerobench(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """Inspect's scorer, which follows the authors' page."""
    sys.path.insert(0, str(CHECKOUTS / "inspect_evals"))
    from inspect_ai.scorer import Target
    from inspect_evals.zerobench.scorer import zerobench_scorer

    scorer = zerobench_scorer()

    def state(row: Row) -> Any:
        return types.SimpleNamespace(output=types.SimpleNamespace(completion=row["reply"]))

    found = [asyncio.run(scorer(state(row), Target(row["cells"]["answers"]))).value for row in rows]
    return [float(one == "C") for one in found], {}


def zerobench_vlmevalkit(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """VLMEvalKit's class, over a table of one row or of all."""
    import pandas

    text = source("VLMEvalKit", "vlmeval", "dataset", "image_vqa.py")
    names = defined(text, "ZEROBench", ImageVQADataset=object, load=lambda table: table, pd=pandas, re=re)

    def accuracy(some: Sequence[Row]) -> float:
        cells = [{"index": row["id"], "answers": row["cells"]["answers"], "prediction": row["reply"]} for row in some]
        return float(names["ZEROBench"]().evaluate(pandas.DataFrame(cells))["accuracy"])

    return [accuracy([row]) for row in rows], {"accuracy": 100 * accuracy(rows)}


def siuo_vlmevalkit(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    parse = defined(source("VLMEvalKit", "vlmeval", "dataset", "siuo_mcq.py"), "_extract_option", re=re)
    return [float(parse["_extract_option"](row["reply"]) == row["cells"]["answer"]) for row in rows], {}


def siuo(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """A letter that is drawn is none."""
    import numpy

    draws = types.SimpleNamespace(choice=lambda labels: "")
    parse = defined(source("SIUO", "eval", "mcqa-eval.py"), "parse_multi_choice_response", random=draws, np=numpy)
    letters = [parse["parse_multi_choice_response"](row["reply"]) for row in rows]
    return [float(one == row["cells"]["answer"]) if one else None for one, row in zip(letters, rows, strict=True)], {}


def video_mme_v2(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """The authors' evaluation. A reply that it reads nothing in gets -1 there, which counts as right in the
    groups and is left out of the accuracy: no verdict here. Numbers are those of complete groups."""
    import os.path
    import warnings

    import pandas

    warnings.simplefilter("ignore")
    parts = ("extract_characters_regex_v2", "cal_relevance", "cal_logic", "get_final_rating", "evaluate")
    text = source("Video-MME-v2", "evaluation", "test_video_mme_v2.py")
    names = defined(text, *parts, re=re, ast=ast, json=json, pd=pandas, osp=os.path)

    def evaluation(some: Sequence[Row]) -> tuple[list[int], dict[str, Any]]:
        table = pandas.DataFrame([{**row["cells"], "prediction": row["reply"]} for row in some])
        with tempfile.TemporaryDirectory() as folder:
            names["evaluate"](table, f"{folder}/said.tsv")
            rating = json.loads(Path(folder, "said_rating.json").read_text(encoding="utf-8"))
        return list(table["score"]), rating

    read = names["extract_characters_regex_v2"]
    credits = [float(said == row["cells"]["answer"]) if (said := read(row["reply"])) else None for row in rows]
    groups: dict[str, list[Row]] = {}
    for row, credit in zip(rows, credits, strict=True):
        if credit is not None:
            groups.setdefault(row["cells"]["video_id"], []).append(row)
    whole = [row for group in groups.values() if len(group) == 4 for row in group]
    scores, rating = evaluation(whole)
    by_id = {row["id"]: credit for row, credit in zip(rows, credits, strict=True)}
    if [by_id[row["id"]] for row in whole] != scores:
        raise ValueError("the authors' evaluation scores other replies as right than its function reads")
    return credits, {**rating["final_rating"], **rating["second_head_rating"]}


def rewardbench(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """A coin that is tossed says nothing."""
    coin = types.SimpleNamespace(random=lambda: 0.0)
    text = source("multimodal_rewardbench", "scripts", "2_get_accuracy.py")
    parse = defined(text, "extract_judgment", random=coin)["extract_judgment"]
    tags = ("[[A]]", "[[B]]")
    right = {"Output1": "A", "Output2": "B"}
    credits: list[float | None] = []
    for row in rows:
        tossed = not any(tag in row["reply"] for tag in tags)
        credits.append(None if tossed else float(parse(row["reply"]) == right[row["cells"]["Better"]]))
    return credits, {}


def vl_rewardbench(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """`distribution` of the authors' script, over a file in the form of their inference."""
    text = source("VL_RewardBench", "cal.py").replace("client = OpenAI(", "client = dict(")
    names = names_of(text.replace("from openai import OpenAI", ""), "rewards")
    names["tqdm"] = lambda items: items
    credits: list[float | None] = []
    for row in rows:
        cells = row["cells"]
        answers, ranks = ast.literal_eval(cells["response"]), ast.literal_eval(cells["human_ranking"])
        turned = sum(map(len, answers)) % 2
        meta = {"flag_status": "", "random_number": turned, "filter_choice": row["reply"].strip()}
        item = {"id": cells["id"], "query": cells["query"], "response": answers, "ranking": ranks, "meta": meta}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "said.jsonl"
            file.write_text(json.dumps(item))
            [found] = names["distribution"](str(file), k=1, reparse=True).values()
        credits.append(None if found["doesntMatch"] else float(found["agree"]))
    return credits, {}


def ifeval(rows: Sequence[Row]) -> tuple[Credits, Mapping[str, float]]:
    """The authors' checks as the harness has them. NLTK's model of sentences is a download: rows that ask
    for sentences have no verdict, and words are split by its tokenizer alone."""
    import nltk
    from langdetect import DetectorFactory

    DetectorFactory.seed = 0
    folder = ("lm-evaluation-harness", "lm_eval", "tasks", "ifeval")
    words = nltk.tokenize.NLTKWordTokenizer()
    nltk.word_tokenize = words.tokenize
    text = source(*folder, "instructions_util.py").replace("\ndownload_nltk_resources()", "\n")
    package = {name: types.ModuleType(f"lm_eval.tasks.ifeval.{name}") for name in ("instructions_util", "instructions")}
    parents = [types.ModuleType(name) for name in ("lm_eval", "lm_eval.tasks", "lm_eval.tasks.ifeval")]
    sys.modules |= {one.__name__: one for one in (*parents, *package.values())}
    exec(compile(text, "instructions_util", "exec"), package["instructions_util"].__dict__)
    for name in package:
        setattr(parents[-1], name, package[name])
    exec(compile(source(*folder, "instructions.py"), "instructions", "exec"), package["instructions"].__dict__)
    registry = types.ModuleType("lm_eval.tasks.ifeval.instructions_registry")
    sys.modules[registry.__name__] = registry
    exec(compile(source(*folder, "instructions_registry.py"), "registry", "exec"), registry.__dict__)
    parents[-1].instructions_registry = registry
    utils = names_of(source(*folder, "utils.py"), registry.__name__)
    credits: list[float | None] = []
    found = []
    for row in rows:
        cells = row["cells"]
        asked = {name: json.loads(cells[name]) for name in ("instruction_id_list", "kwargs")}
        if "length_constraints:number_sentences" in asked["instruction_id_list"]:
            credits.append(None)
            continue
        found.append(utils["process_results"]({"key": 1, "prompt": cells["prompt"], **asked}, [row["reply"]]))
        credits.append(float(found[-1]["prompt_level_strict_acc"]))
    of_instructions = {
        name: 100 * utils["agg_inst_level_acc"]([one[f"{name}_acc"] for one in found])
        for name in ("inst_level_strict", "inst_level_loose")
    }
    loose = sum(one["prompt_level_loose_acc"] for one in found) / len(found)
    return credits, {**of_instructions, "prompt_level_loose": 100 * loose}


SCORERS: Mapping[str, Callable[[Sequence[Row]], tuple[Credits, Mapping[str, float]]]] = {
    "gsm8k": gsm8k,
    "gpqa": gpqa,
    "mmlu-pro": mmlu_pro,
    "math": math,
    "aime": aime,
    "chartqapro": chartqapro,
    "ifeval": ifeval,
    "zerobench": zerobench,
    "zerobench-vlmevalkit": zerobench_vlmevalkit,
    "siuo": siuo,
    "video-mme-v2": video_mme_v2,
    "siuo-vlmevalkit": siuo_vlmevalkit,
    "multimodal-rewardbench": rewardbench,
    "vl-rewardbench": vl_rewardbench,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
