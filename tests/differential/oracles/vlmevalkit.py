"""VLMEvalKit's own `evaluate`, over replies on standard input.

Run by `python -m tests.differential` in an environment of VLMEvalKit's light dependencies. Each job
names one of its data sets (`dataset`); the rows are written as the file that its inference would
have written, its class scores them without a judge model, and the file it leaves is read back.
Arguments of a job:

    dataset   its name there, e.g. MMStar
    column    column of the result file with the verdict of a row; default: the first of `VERDICTS`
    columns   instead of column: several, whose mean is the verdict
    counted   whether rows are numbered from 0 there: it takes their numbers for their places
    attributes  what its constructor would have set, by name
    absent    the verdict of rows that it leaves out, which have no credit
    scale     factor of the numbers that it returns (100 where they are fractions)
    leads     name, numbers and factor of the headline, the sum of these numbers times the factor,
              where its report takes the first number by the alphabet; no numbers: it has none
    text      a pattern of the number in the text file that it leaves where it returns none; of several the
              last counts, and is called `overall`
    lots      module that draws an option at random where it finds none: rows whose verdict hangs
              on the draw have none

Rows that are `apart` are left out of the numbers.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

CHECKOUT = Path(os.environ["SNELLEN_CHECKOUTS"]) / "VLMEvalKit"
HEAVY = (
    "torch",
    "torchvision",
    "transformers",
    "decord",
    "timm",
    "qwen_vl_utils",
    "bert_score",
    "sentence_transformers",
    "litellm",
    "gradio",
    "clip",
    "cairosvg",
    "lpips",
    "cdfvd",
    "torchmetrics",
    "accelerate",
    "ipdb",
    "pdf2image",
    "google",
    "anthropic",
    "moviepy",
    "sentencepiece",
    "open_clip",
    "vlmeval.vlm",
    "vlmeval.config",
    "vlmeval.tools",
)
VERDICTS = ("hit", "score", "match", "eval_score", "correct")


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    """Credits of the rows by id, and the numbers that its evaluation returns."""
    arguments, rows = job["arguments"], job["rows"]
    credits, returned, column = _evaluate(arguments, rows, wins=False)
    left_out = [row["id"] for row in rows if row["apart"]]
    if "lots" in arguments:
        lucky, _, _ = _evaluate(arguments, rows, wins=True)
        drawn = {key for key, value in credits.items() if value != lucky[key]}
        credits = {key: None if key in drawn else value for key, value in credits.items()}
        left_out = [row["id"] for row in rows if row["apart"] or row["id"] in drawn]
    kept = [row for row in rows if row["id"] not in left_out]
    if len(kept) < len(rows):
        _, returned, _ = _evaluate(arguments, kept, wins=False)
    scale = arguments.get("scale", 1)
    metrics = {name: scale * value for name, value in _numbers(returned)}
    return {
        "credits": credits,
        "metrics": metrics,
        "column": column,
        "left_out": left_out,
        "headline": headline(arguments, returned),
    }


def headline(arguments: Mapping[str, Any], returned: Any) -> tuple[str, float] | None:
    """What its report calls the primary metric of a data set, and that number in percent: its class
    multiplies fractions where it gives the number a name of its own."""
    from vlmeval.smp.status_report import flatten_summary_metrics

    if "leads" in arguments:
        name, names, factor = arguments["leads"]
        numbers = dict(_numbers(returned))
        return (name, factor * sum(numbers[one] for one in names)) if names else None
    metrics = flatten_summary_metrics(returned)
    reported = _class_of(arguments["dataset"]).report_primary_metric(metrics)
    for called, value in reported.items():
        return called, value * arguments.get("scale", 1) if called in metrics else value
    return None


class Lot(str):
    """What is drawn at random: right or wrong, whatever the answer is."""

    wins = False

    def __eq__(self, other: object) -> bool:
        return self.wins

    __hash__ = str.__hash__


def draw(module: str, *, wins: bool) -> None:
    """Let a module of the checkout draw nothing but winning, or losing, lots."""
    lot = type("Drawn", (Lot,), {"wins": wins})("Z")
    holder = importlib.import_module(f"vlmeval.dataset.{module}")
    holder.random = SimpleNamespace(choice=lambda options: lot)


def _evaluate(
    arguments: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *, wins: bool
) -> tuple[dict[str, float | None], Any, str]:
    """Verdicts by id, what is returned, and the column of the verdicts."""
    import pandas as pd

    if "lots" in arguments:
        draw(arguments["lots"], wins=wins)
    ids = [row["id"] for row in rows]
    table = pd.DataFrame([{**row["cells"], "index": row["id"]} for row in rows])
    if all(name.isdecimal() for name in ids):
        table["index"] = table["index"].astype(int)
    if arguments.get("counted"):
        table["index"] = range(len(table))
    dataset = _dataset(arguments["dataset"], table)
    dataset.__dict__.update(arguments.get("attributes", {}))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model_{arguments['dataset']}.xlsx"
        answered = table.assign(prediction=[row["reply"] for row in rows])
        answered.to_excel(file, index=False, engine="xlsxwriter")
        before = {path.name for path in Path(folder).iterdir()}
        returned = dataset.evaluate(str(file), model="exact_matching", nproc=1)
        if "text" in arguments:
            [left] = Path(folder).glob("*.txt")
            returned = {"overall": re.findall(arguments["text"], left.read_text())[-1]}
        columns = arguments.get("columns", [arguments.get("column")])
        read = [_verdicts(Path(folder), before, column) for column in columns]
    if arguments.get("counted"):
        read = [(c, {ids[int(place)]: v for place, v in found.items()}) for c, found in read]
    absent = arguments.get("absent")
    means = {name: _mean([found[name] for _, found in read if name in found]) for name in ids}
    credits = {name: None if value == absent else value for name, value in means.items()}
    return credits, returned, "+".join(name for name, _ in read)


def _dataset(name: str, table: Any) -> Any:
    """An object of the class that scores `name`, with `table` for its data: nothing is fetched."""
    cls = _class_of(name)
    dataset = cls.__new__(cls)
    dataset.dataset_name = name
    dataset.data = table
    dataset.img_root = "."
    return dataset


def _class_of(name: str) -> Any:
    from vlmeval.dataset import DATASET_CLASSES

    for cls in DATASET_CLASSES:
        if name in cls.supported_datasets():
            return cls
    raise SystemExit(f"VLMEvalKit has no data set {name!r}")


def _verdicts(folder: Path, before: set[str], column: str | None) -> tuple[str, dict[str, float | None]]:
    """The verdict column of the file that the evaluation left, by index of the row."""
    import pandas as pd

    wanted = (column,) if column else VERDICTS
    for path in sorted(folder.rglob("*")):
        if path.name in before or path.suffix not in {".xlsx", ".tsv", ".csv"}:
            continue
        read = pd.read_excel if path.suffix == ".xlsx" else pd.read_csv
        table = read(path, **({"sep": "\t"} if path.suffix == ".tsv" else {}))
        name = next((name for name in wanted if name in table), None)
        if name is not None and "index" in table:
            cells = zip(table["index"], table[name], strict=True)
            return name, {str(index): _credit(cell) for index, cell in cells}
    left = sorted(path.name for path in folder.rglob("*"))
    raise SystemExit(f"no column of {wanted} in the files that the evaluation left: {left}")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _credit(cell: Any) -> float | None:
    if isinstance(cell, str):
        return {"true": 1.0, "false": 0.0}.get(cell.lower())
    value = float(cell)
    return None if math.isnan(value) else value


def _numbers(returned: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a data frame or of nested dictionaries, by its path. Several rows of a data
    frame are called by their split."""
    if hasattr(returned, "to_dict"):
        if len(returned) > 1 and "split" in returned:
            returned = {row["split"]: row.drop("split").to_dict() for _, row in returned.iterrows()}
            yield from _numbers(returned, path)
            return
        returned = returned.to_dict("list")
    if isinstance(returned, Mapping):
        for key, value in returned.items():
            yield from _numbers(value, f"{path}/{key}" if path else str(key))
    elif isinstance(returned, Sequence) and not isinstance(returned, str):
        for number, value in enumerate(returned):
            yield from _numbers(value, f"{path}/{number}" if len(returned) > 1 else path)
    elif isinstance(returned, int | float) and not isinstance(returned, bool):
        yield path, float(returned)
    elif isinstance(returned, str):
        with contextlib.suppress(ValueError):
            yield path, float(returned.removesuffix("%"))


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as data:
        os.environ["LMUData"] = data  # noqa: SIM112 - its name there
        import stand_ins

        stand_ins.install(*HEAVY)
        sys.path.insert(0, str(CHECKOUT))
        import vlmeval.dataset  # noqa: F401

        stand_ins.seal()
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
