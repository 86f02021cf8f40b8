"""Scorers of benchmarks of texts alone, and of quoted ones without a judge, over replies on standard
input.

Each takes its function from the checkout and gives it one row at a time. Arguments of a job:
{"scorer": NAME}, a name of `SCORERS`. A row has no credit where the scorer draws its option by lot.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from authors_open import Row, defined, names_of, source

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


SCORERS: Mapping[str, Callable[[Sequence[Row]], tuple[Credits, Mapping[str, float]]]] = {
    "gsm8k": gsm8k,
    "gpqa": gpqa,
    "mmlu-pro": mmlu_pro,
    "math": math,
    "aime": aime,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
