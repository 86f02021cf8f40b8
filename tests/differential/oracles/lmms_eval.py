"""lmms-eval's own scoring of a task, over replies on standard input.

The module of a task is run as the framework would: `process_results(doc, [reply])` for each row,
then the aggregation of each metric. Run by `python -m tests.differential`; what the module imports
beside that is replaced by stand-ins where it is missing. Arguments of a job:

    module    path of the module below lmms_eval/tasks, e.g. slake/utils.py
    process   its function for a document and its replies
    metric    the metric whose value for a row is its credit
    field     the entry of that value that is the credit, where it is an object
    document  columns of a row by the field of the document; default: the row's cells as they are
    literal   fields of the document that the row holds as Python literals
    numbers   by name, the metric and the function that aggregates it, times `scale`; the function
              "mean" is the mean of the values
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stand_ins

CHECKOUT = Path(os.environ["SNELLEN_CHECKOUTS"]) / "lmms-eval"
HEAVY = (
    *("datasets", "huggingface_hub", "torch", "transformers", "decord", "loguru", "openai", "anthropic"),
    *("evaluate", "accelerate", "dotenv", "cv2", "sacrebleu", "Levenshtein", "word2number", "latex2sympy2"),
    *("lmms_eval.llm_judge", "lmms_eval.api", "lmms_eval.utils", "lmms_eval.verifiers", "requests"),
)


def module_of(path: str) -> Any:
    """The module of a task, from its file, without the package's own list of tasks."""
    file = CHECKOUT / "lmms_eval" / "tasks" / path
    made = importlib.util.spec_from_file_location(f"task_{file.parent.name}", file)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def document_of(row: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    cells = {"index": row["id"], **row["cells"]}
    named = {name: cells[column] for name, column in arguments.get("document", {}).items()}
    read = {name: ast.literal_eval(named.get(name, cells.get(name))) for name in arguments.get("literal", ())}
    return {**cells, **named, **read}


def evaluated(job: Mapping[str, Any], module: Any) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    process = getattr(module, arguments["process"])
    results = [process(document_of(row, arguments), [row["reply"]]) for row in rows]
    credits = {}
    for row, result in zip(rows, results, strict=True):
        value = result[arguments["metric"]]
        credits[row["id"]] = float(value[arguments["field"]] if "field" in arguments else value)
    scale = arguments.get("scale", 100)
    metrics = {}
    for name, (metric, function) in arguments["numbers"].items():
        values = [result[metric] for result in results]
        number = sum(values) / len(values) if function == "mean" else getattr(module, function)(values)
        metrics[name] = scale * float(number)
    return {"credits": credits, "metrics": metrics}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        stand_ins.install(*HEAVY)
        # This script's own name is the package's, and comes first.
        sys.path[:] = [str(CHECKOUT), *(path for path in sys.path if Path(path).resolve() != Path(__file__).parent)]
        modules = {path: module_of(path) for path in {job["arguments"]["module"] for job in jobs}}
        stand_ins.seal()
        verdicts = [evaluated(job, modules[job["arguments"]["module"]]) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
