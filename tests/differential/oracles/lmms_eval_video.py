"""lmms-eval's own scoring of tasks about videos, over replies on standard input.

Each job names a task's folder; the functions of its `utils.py` score each reply and sum up the
results. Arguments of a job:

    task      the folder below lmms_eval/tasks
    process   its function that scores a reply
    result    the key of what that returns that is summed up
    metrics   name of a number: the function that sums up, or `mean`
    scale     factor of the numbers
    groups    columns whose labels get a number each, called COLUMN/LABEL
    credit    keys of the result, of which the first that it has is the credit; default: what the
              first of `metrics` is of the reply alone
    absent    a key of the result, and its value in results that are left out
    checkout  folder of the authors' own copy, where it is that which is meant
    asks      name of the function that asks a judge, whose words each row's verdict is
    grades    name of the function that reads them, where a pipeline asks the judge

The function of a number may name a key of what it returns, `sum_up:overall`. Where a function draws at random
the row has no credit. Rows that are `apart`, and those that are drawn, are left out of the numbers.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import inspect
import json
import logging
import os
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import stand_ins

CHECKOUT = Path(os.environ["SNELLEN_CHECKOUTS"]) / "lmms-eval"
HEAVY = ("torch", "cv2", "decord", "pywsd", "transformers", "datasets", "openai", "lmms_eval.utils")


class Lots:
    """Stands for the module `random`: says whether something was drawn."""

    drawn = False

    def seed(self, *_: object) -> None:
        pass

    def choice(self, values: Sequence[Any]) -> Any:
        self.drawn = True
        return values[0]


def evaluated(module: Any, job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    lots = Lots()
    if hasattr(module, "random"):
        module.random = lots
    scale = arguments.get("scale", 1)
    summers = {name: _summer(module, summer) for name, summer in arguments["metrics"].items()}
    lead = next(iter(summers.values()))
    credits: dict[str, float | None] = {}
    for row in rows:
        lots.drawn = False
        result = _result(module, arguments, row)
        named = [result[key] for key in arguments.get("credit", ()) if key in result]
        credit = float(named[0]) if named else float(lead([result])) * scale / 100
        key, value = arguments.get("absent", ("", None))
        credits[row["id"]] = None if lots.drawn or (key and result[key] == value) else credit
    left_out = [row["id"] for row in rows if row["apart"] or credits[row["id"]] is None]
    kept = [row for row in rows if row["id"] not in left_out]

    def number(summer: Any, some: Sequence[Mapping[str, Any]]) -> float:
        return scale * float(summer([_result(module, arguments, row) for row in some]))

    metrics = {name: number(summer, kept) for name, summer in summers.items()}
    for column in arguments.get("groups", ()):
        for label in dict.fromkeys(row["cells"][column] for row in kept):
            some = [row for row in kept if row["cells"][column] == label]
            metrics[f"{column}/{label}"] = number(lead, some)
    return {"credits": credits, "metrics": metrics, "left_out": left_out}


def _result(module: Any, arguments: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    if "asks" in arguments:
        setattr(module, arguments["asks"], lambda *_, **__: (row["verdict"], "judge"))
    if "grades" in arguments:
        read = getattr(module, arguments["grades"])
        module._get_pipeline = lambda: lambda **_: read(row["verdict"])
    doc = {"id": row["id"], "index": row["id"], "question_id": row["id"], **copy.deepcopy(row["cells"])}
    return getattr(module, arguments["process"])(doc, [row["reply"]])[arguments["result"]]


def _summer(module: Any, name: str) -> Any:
    if name == "mean":
        return lambda values: sum(values) / len(values)
    name, _, key = name.partition(":")
    summer = getattr(module, name)
    if key:
        return lambda values: summer(values)[key]
    return (lambda values: summer(values, None)) if len(inspect.signature(summer).parameters) == 2 else summer


def _module(task: str, checkout: Path) -> Any:
    """`utils.py` of a task, without what the package loads of itself."""
    for name in ("lmms_eval", "lmms_eval.tasks", "lmms_eval.tasks._task_utils"):
        package = types.ModuleType(name)
        package.__path__ = [str(CHECKOUT / name.replace(".", "/"))]
        sys.modules.setdefault(name, package)
    path = checkout / "lmms_eval" / "tasks" / task / "utils.py"
    spec = importlib.util.spec_from_file_location(f"{checkout.name}_{task.replace('/', '_')}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "eval_logger"):
        module.eval_logger = logging.getLogger()
    return module


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as home:
        os.environ["HF_HOME"] = home
        stand_ins.install(*HEAVY)
        sys.path.insert(0, str(CHECKOUT))
        folders = [CHECKOUT.parent / job["arguments"].get("checkout", CHECKOUT.name) for job in jobs]
        modules = [_module(job["arguments"]["task"], folder) for job, folder in zip(jobs, folders, strict=True)]
        stand_ins.seal()
        verdicts = [evaluated(module, job) for module, job in zip(modules, jobs, strict=True)]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
