"""MEGA-Bench's own evaluation of replies; its judge says what the rows have for its words.

The authors' `EvaluationProcessor` runs twice: with every row as a task of its own for the credits,
and with the rows of each task together for the means over tasks and dimensions, by the authors'
`tools`. What is heavy and not used stands in: the hub's library, OpenCV, and the request to GPT-4o.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(os.environ.get("SNELLEN_CHECKOUTS", ".")) / "MEGA-Bench" / "megabench"
_ROW = re.compile(r"\[row (\w+)\]")
_words: dict[str, str] = {}


class Scripted:
    """In place of GPT-4o: the words of the row that the question names."""

    def __init__(self, metric_config: Mapping[str, Any], verbose: bool = True) -> None:
        self.template = metric_config["eval_criteria_prompt"]

    def query(self, reference: Any, response: Any, images: Any, question: str, *_: Any) -> str:
        found = _ROW.search(question)
        assert found is not None, question
        return _words[found[1]]


def scored(tasks: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The authors' results of tasks, each with its rows."""
    from evaluation_processor import EvaluationProcessor

    data = [
        {
            "task_name": name,
            "global_description": "",
            "example_info": {"image_paths": [], "example_text": ""},
            "query_response": [_response(index, row) for index, row in enumerate(rows)],
        }
        for name, rows in tasks.items()
    ]
    samples = [{"task_name": name, "task_samples": [row["cells"] for row in rows]} for name, rows in tasks.items()]
    with tempfile.TemporaryDirectory() as folder:
        replies, results = Path(folder) / "replies.json", Path(folder) / "scores.json"
        replies.write_text(json.dumps(data))
        EvaluationProcessor(samples, replies, Path(folder) / "log.txt", results).process()
        found: list[dict[str, Any]] = json.loads(results.read_text())["data"]
    return found


def _response(index: int, row: Mapping[str, Any]) -> dict[str, Any]:
    import ast

    cells = row["cells"]
    return {
        "response": row["reply"],
        "correct_answer": ast.literal_eval(cells["answer"]),
        "query_idx": index,
        "query_text": cells["question"],
        "images": [],
    }


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    rows = job["rows"]
    _words.update({row["id"]: row["verdict"] for row in rows})
    alone = scored({row["id"]: [row] for row in rows})
    together: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if not row["apart"]:
            together.setdefault(row["cells"]["task_name"], []).append(row)
    return {
        "credits": {task["task_name"]: task["mean_task_score"] for task in alone},
        "metrics": means(scored(together)),
    }


def means(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The means of the authors' tools, in percent."""
    import analysis_utils
    import derive_breakdown_results as breakdown

    refined = analysis_utils.task_list_refine(results)
    known = analysis_utils.collect_task_metadata(refined, str(CHECKOUT / "all_task_meta.json"))
    named = {name: {**task, "original_task_name": name} for name, task in known.items()}
    summary = breakdown.calculate_model_summary(named)
    found = {
        "overall": 100 * summary["overall_score"],
        "core": 100 * summary["core"]["macro_mean_score"],
        "open": 100 * summary["open"]["macro_mean_score"],
    }
    for dimension, labels in analysis_utils.derive_keyword_stats(named).items():
        for label, stats in labels.items():
            found[f"{dimension}/{label}"] = 100 * stats["average_score"]
    return found


def _stand_in(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        _stand_in("datasets", load_dataset=None)
        _stand_in("models")
        _stand_in("models.openai", OpenAI=object)
        sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "tools")]
        from metrics.scoring import gpt_4o_as_judge

        gpt_4o_as_judge.OpenAIGPT4Judger = Scripted
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
