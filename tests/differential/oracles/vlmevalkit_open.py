"""VLMEvalKit's own `evaluate` where it leaves no verdict of single rows, or needs a judge's words.

Run as `vlmevalkit.py` is, whose parts it uses. Arguments of a job:

    dataset   its name there
    how       "groups": the column `label` names every row a group of its own, and the credit of a
              row is the number of its group, times `factor`; the numbers of all rows together come
              from a second evaluation with the column as it is
              "alone": every row is evaluated by itself, beside `fillers` that earn nothing, and its
              credit is the number `metric` it then returns, times `factor`
              "extracted": what a judge copied out of the reply is written where its own run would
              have kept it, so that nobody is asked; the verdict column is read back
    scale     factor of the numbers that it returns for all rows together
    fillers   further rows (cells and a reply), for "alone"
    column    for "extracted": the verdict column
    said      for "extracted": the column that holds what the judge said
    further   for "extracted": further columns of the kept file, the same for every row
    judge     for "extracted": the name of the judge in the file's name
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import stand_ins
import vlmevalkit as base


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    how = job["arguments"]["how"]
    return {"groups": _groups, "alone": _alone, "extracted": _extracted}[how](job)


def _groups(job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    name, label = arguments["dataset"], arguments["label"]
    apart = [{**row, "cells": {**row["cells"], label: f"row {row['id']}"}} for row in rows]
    numbers = _evaluate(name, apart)
    scale, factor = arguments.get("scale", 1), arguments.get("factor", 1)
    return {
        "credits": {row["id"]: factor * numbers[f"row {row['id']}"] for row in rows},
        "metrics": {key: scale * value for key, value in _evaluate(name, rows).items()},
    }


def _alone(job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    name, metric = arguments["dataset"], arguments["metric"]
    fillers = arguments.get("fillers", [])
    credits = {}
    for row in rows:
        numbers = _evaluate(name, [row, *fillers])
        # A group of rows that earned nothing may be left out.
        credits[row["id"]] = numbers.get(metric, 0.0) * arguments.get("factor", 1)
    scale = arguments.get("scale", 1)
    return {
        "credits": credits,
        "metrics": {key: scale * value for key, value in _evaluate(name, rows).items()},
    }


def _evaluate(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    table = _table(rows)
    dataset = base._dataset(name, table)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model_{name}.xlsx"
        table.to_excel(file, index=False, engine="xlsxwriter")
        return dict(base._numbers(dataset.evaluate(str(file), model="exact_matching", nproc=1)))


def _extracted(job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    name, judge = arguments["dataset"], arguments.get("judge", "gpt-4-turbo")
    table = _table(rows)
    dataset = base._dataset(name, table)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model_{name}.xlsx"
        table.to_excel(file, index=False, engine="xlsxwriter")
        kept = table.assign(**arguments.get("further", {}))
        kept[arguments["said"]] = [row["verdict"] for row in rows]
        kept.to_excel(file.with_name(f"{file.stem}_{judge}.xlsx"), index=False, engine="xlsxwriter")
        returned = dataset.evaluate(str(file), model=judge, nproc=1)
        column, verdicts = base._verdicts(Path(folder), {file.name}, arguments.get("column"))
    scale = arguments.get("scale", 1)
    return {
        "credits": {row["id"]: verdicts[row["id"]] for row in rows},
        "metrics": {key: scale * value for key, value in base._numbers(returned)},
        "column": column,
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    import pandas as pd

    table = pd.DataFrame(
        [{**row["cells"], "index": row["id"], "prediction": row["reply"]} for row in rows]
    )
    if all(str(row["id"]).isdecimal() for row in rows):
        table["index"] = table["index"].astype(int)
    return table


class _Serial:
    """In place of a pool of processes, which for each row would take most of the time."""

    def __init__(self, *_: Any) -> None:
        pass

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return [function(item) for item in items]


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as data:
        os.environ["LMUData"] = data  # noqa: SIM112 - its name there
        stand_ins.install(*base.HEAVY)
        sys.path.insert(0, str(base.CHECKOUT))
        import vlmeval.dataset  # noqa: F401

        stand_ins.seal()
        multiprocessing.Pool = _Serial
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
