"""Scorers of benchmarks about videos that take a row at a time, over replies on standard input.

Arguments of a job: {"scorer": NAME}, a name of `SCORERS`. A row has no credit where the scorer leaves
it out.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import stand_ins
import vlmevalkit as base

CHECKOUTS = Path(os.environ["SNELLEN_CHECKOUTS"])
Row = Mapping[str, Any]


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    scorer = SCORERS[job["arguments"]["scorer"]]
    credits = dict(zip((row["id"] for row in job["rows"]), scorer(job["rows"])[0], strict=True))
    left_out = [row["id"] for row in job["rows"] if row["apart"] or credits[row["id"]] is None]
    overall = scorer([row for row in job["rows"] if row["id"] not in left_out])[1]
    return {"credits": credits, "metrics": {"overall": overall}, "left_out": left_out}


def videommmu(rows: Sequence[Row]) -> tuple[list[float | None], float]:
    """VLMEvalKit's functions about Video-MMMU: its `evaluate` writes no verdicts, but answers."""
    from vlmeval.dataset import videommmu as told

    lines = [{"id": row["id"], **row["cells"], "prediction": row["reply"]} for row in rows]
    lines = [{**line, "options": json.dumps(line["options"])} for line in lines]
    results = [{**line, **told.process_results(line)} for line in lines]

    def credit(result: Mapping[str, Any]) -> float | None:
        return None if result["parsed_pred"] == "API Error" else told.evaluate_mmmu([result])[1]["hit"]

    return [credit(result) for result in results], float(told.aggregate_results(results)["Overall"]["acc"])


def mmvu(rows: Sequence[Row]) -> tuple[list[float | None], float]:
    """The authors' `get_acc_async`, whose model says what each row has for its words."""

    async def said(**_: Any) -> list[Any]:
        outputs = []
        for row in rows:
            try:
                outputs.append(module.EvaluationOutput.model_validate_json(row["verdict"]))
            except ValueError:
                outputs.append(None)
        return outputs

    calls = types.ModuleType("utils.api_utils")
    calls.generate_from_openai_chat_completion_structured_format = said
    sys.modules.update({"utils": types.ModuleType("utils"), "utils.api_utils": calls})
    spec = importlib.util.spec_from_file_location("mmvu", CHECKOUTS / "MMVU" / "utils" / "eval_utils.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    examples = [{"id": row["id"], **row["cells"], "response": row["reply"]} for row in rows]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        accuracy, results = asyncio.run(module.get_acc_async(examples, None))
    return [float(one["correct"]) for one in results], 100 * accuracy


SCORERS: Mapping[str, Callable[[Sequence[Row]], tuple[list[float | None], float]]] = {
    "videommmu": videommmu,
    "mmvu": mmvu,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as data:
        os.environ["LMUData"] = data  # noqa: SIM112 - its name there
        stand_ins.install(*base.HEAVY)
        sys.path.insert(0, str(base.CHECKOUT))
        import vlmeval.dataset  # noqa: F401

        stand_ins.seal()
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
