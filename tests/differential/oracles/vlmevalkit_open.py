"""VLMEvalKit's own `evaluate` where it leaves no verdict of single rows, or needs a judge's words.

Run as `vlmevalkit.py` is, whose parts it uses. Arguments of a job:

    dataset   its name there
    how       "groups": the column `label` names every row a group of its own, and the credit of a
              row is the number of its group, times `factor`; the numbers of all rows together come
              from a second evaluation with the column as it is
              "alone": every row is evaluated by itself, beside `fillers` that earn nothing, and its
              credit is the number `metric` it then returns, times `factor`; {split} in it
              is the row's cell, and of several numbers of that name the first counts
              "extracted": what a judge copied out of the reply is written where its own run would
              have kept it, so that nobody is asked; the verdict column is read back
    lots      for "alone": as in `vlmevalkit.py`
    errors    for "alone": whether a row with which its evaluation fails is wrong; there are no
              numbers of all rows then
    pairs     for "alone": labels of `category` whose rows count only together with another: one
              that is right is added, under the same id but for its last part
    plain     for "alone": whether it is evaluated without the name of a judge
    parts     for "alone": metric and factor by the row's cell `part`, where they differ
    scale     factor of the numbers that it returns for all rows together
    fillers   further rows (cells and a reply), for "alone"
    column    for "extracted": the verdict column
    said      for "extracted": the column that holds what the judge said
    reader    for "extracted": module, function and key, where its class first reads these words
    further   for "extracted": further columns of the kept file, the same for every row
    table     for "extracted": columns of label and number, where it returns a table with labels
    judge     for "extracted": the name of the judge in the file's name
"""

from __future__ import annotations

import base64
import contextlib
import importlib
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
    label = arguments["label"]
    apart = [{**row, "cells": {**row["cells"], label: f"row {row['id']}"}} for row in rows]
    numbers = dict(base._numbers(_evaluate(arguments, apart)))
    factor = arguments.get("factor", 1)
    return {
        "credits": {row["id"]: factor * numbers[f"row {row['id']}"] for row in rows},
        **_reported(arguments, _evaluate(arguments, rows)),
    }


def _reported(arguments: Mapping[str, Any], returned: Any) -> dict[str, Any]:
    """The numbers and the headline in what an evaluation returned."""
    scale = arguments.get("scale", 1)
    return {
        "metrics": {key: scale * value for key, value in base._numbers(returned)},
        "headline": base.headline(arguments, returned),
    }


def _alone(job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    credits = _credits_alone(arguments, rows, wins=False)
    left_out = {row["id"] for row in rows if row["apart"]}
    if "lots" in arguments:
        lucky = _credits_alone(arguments, rows, wins=True)
        drawn = {key for key, value in credits.items() if value != lucky[key]}
        credits = {key: None if key in drawn else value for key, value in credits.items()}
        left_out |= drawn
        base.draw(arguments["lots"], wins=False)
    kept = [row for row in rows if row["id"] not in left_out]
    numbers = {"metrics": {}} if arguments.get("errors") else _reported(arguments, _evaluate(arguments, kept))
    return {"credits": credits, "left_out": sorted(left_out), **numbers}


def _credits_alone(
    arguments: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *, wins: bool
) -> dict[str, float | None]:
    if "lots" in arguments:
        base.draw(arguments["lots"], wins=wins)
    fillers = arguments.get("fillers", [])
    credits: dict[str, float | None] = {}
    for row in rows:
        try:
            held = [row, *_partner(arguments, row), *fillers]
            numbers = dict(base._numbers(_evaluate(arguments, held)))
        except Exception:
            if not arguments.get("errors"):
                raise
            credits[row["id"]] = 0.0
            continue
        metric, factor = arguments.get("metric"), arguments.get("factor", 1)
        if "parts" in arguments:
            metric, factor = arguments["parts"][row["cells"]["part"]]
        metric = metric.format(**row["cells"])
        number = numbers[metric] if metric in numbers else numbers[f"{metric}/0"]
        credits[row["id"]] = number * factor
    return credits


def _partner(arguments: Mapping[str, Any], row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if row["cells"].get("category") not in arguments.get("pairs", ()):
        return []
    base_id = row["id"].rpartition("_")[0]
    return [{**row, "id": f"{base_id}_right", "reply": row["cells"]["answer"]}]


def _evaluate(arguments: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Any:
    """What the class that scores the data set returns."""
    table, name = _table(rows), arguments["dataset"]
    dataset = base._dataset(name, table)
    with tempfile.TemporaryDirectory() as folder:
        _give_pictures(dataset, rows, Path(folder))
        file = Path(folder) / f"model_{name}.xlsx"
        table.to_excel(file, index=False, engine="xlsxwriter")
        judge = {} if arguments.get("plain") else {"model": "exact_matching", "nproc": 1}
        return dataset.evaluate(str(file), **judge)


def _give_pictures(dataset: Any, rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write the pictures that rows hold where its class, which reads their sizes, looks for them;
    and give it the reader of points that its constructor would have given it."""
    for row in rows:
        if "image_path" in row["cells"]:
            data = base64.b64decode(row["cells"]["image"])
            (folder / row["cells"]["image_path"]).write_bytes(data)
            dataset.img_root = str(folder)
    module = sys.modules[type(dataset).__module__]
    if hasattr(module, "parse_bbox_aguvis"):
        dataset.parse_response_func = module.parse_bbox_aguvis


def _extracted(job: Mapping[str, Any]) -> dict[str, Any]:
    import pandas as pd

    arguments, rows = job["arguments"], job["rows"]
    name, judge = arguments["dataset"], arguments.get("judge", "gpt-4-turbo")
    table = _table(rows)
    dataset = base._dataset(name, table)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model_{name}.xlsx"
        table.to_excel(file, index=False, engine="xlsxwriter")
        kept = table.assign(**arguments.get("further", {}))
        kept[arguments["said"]] = [_kept(row, arguments.get("reader", "")) for row in rows]
        kept.to_excel(file.with_name(f"{file.stem}_{judge}.xlsx"), index=False, engine="xlsxwriter")
        returned = dataset.evaluate(str(file), model=judge, nproc=1)
        column, verdicts = base._verdicts(Path(folder), {file.name}, arguments.get("column"))
        if returned is None:
            # Some print their table only; it lies beside the verdicts.
            [scores] = Path(folder).rglob("*_score.csv")
            returned = pd.read_csv(scores)
    scale = arguments.get("scale", 1)
    return {
        "credits": {row["id"]: verdicts[row["id"]] for row in rows},
        "metrics": {key: scale * value for key, value in _named(returned, arguments)},
        "column": column,
        "headline": base.headline(arguments, returned),
    }


def _named(returned: Any, arguments: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    """Its numbers; those of a table that has a label in each row by label, where `table` says
    which two columns these are."""
    if "table" not in arguments:
        return base._numbers(returned)
    label, value = arguments["table"]
    return zip(map(str, returned[label]), map(float, returned[value]), strict=True)


def _kept(row: Mapping[str, Any], reader: str) -> Any:
    """What its function of that name makes of a judge's words before it keeps them; `reader` is the
    function's module and name, and the key of what it returns. Without one the words are kept."""
    if not reader:
        return row["verdict"]

    class Said:
        def generate(self, *_: Any, **__: Any) -> str:
            return str(row["verdict"])

    module, name, key = reader.split(":")
    function = getattr(importlib.import_module(f"vlmeval.dataset.{module}"), name)
    return function(Said(), {**row["cells"], "prediction": row["reply"]})[key]


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    import pandas as pd

    table = pd.DataFrame([{**row["cells"], "index": row["id"], "prediction": row["reply"]} for row in rows])
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
