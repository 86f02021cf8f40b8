"""VLMEvalKit's own `evaluate` with a judge that says what the rows have for its words.

Run as `vlmevalkit.py` is, whose parts it uses. The judge stands in place of the client that its
`build_judge` makes, and knows a row by a mark that is added to some of its cells. Arguments of a
job:

    dataset   its name there
    marks     columns whose cells take the mark, so that one is in every prompt about the row;
              `prediction` may be one of them
    about     instead of marks: module and function that asks about a row, called with it as `line`
    counted   whether rows are numbered from 0 there, as its own data of the benchmark are
    listed    whether the reply is written as a list of one, as dialogues are
    judge     the judge's name
    column    the verdict column of the file that is left, and
    scale     what its numbers are over, so that a credit is 0..1
    low       verdicts below it are it
    metric    where no file has verdicts of rows: every row is evaluated by itself, and its credit
              is this number of those returned, over `scale`
    factor    of the numbers that it returns (100 where they are fractions)
    filler    for `metric`: a row that earns nothing and stands beside each
    whole     for We-Math: how many composite problems its table of percent is about; its numbers
              are made of the counts that it writes, over the problems that the rows have
    shares    whether it returns a sum and a count for each label: the numbers are their ratios
              times this, and of all labels together that of `all`
    table     columns of label and number, where it returns a table with labels; {column} of several
              columns is `label/column`
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import stand_ins
import vlmevalkit as base
import vlmevalkit_open as opened

_MARK = re.compile(r"\[row (\d+)\]")
_words: dict[str, str] = {}
_asked: list[str] = []
"""The row that is asked about, where no mark says so."""


class Scripted:
    """A judge that says of each row what it was given for it."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, *_: Any, **__: Any) -> None:
        self.system_prompt = ""

    def working(self) -> bool:
        return True

    def generate(self, message: Any, *_: Any, **__: Any) -> str:
        if _asked:
            return _words[_asked[-1]]
        text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
        [row] = set(_MARK.findall(text))
        return _words[row]


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    _words.clear()
    _asked.clear()
    if "about" in arguments:
        _watch(*arguments["about"].split(":"))
    _words.update({row["id"]: row["verdict"] for row in rows})
    low, scale = arguments.get("low"), arguments.get("scale", 1)
    if "metric" in arguments:
        beside = [arguments["filler"]]
        _words.update({row["id"]: row["verdict"] for row in beside})
        metric = arguments["metric"]
        found = {row["id"]: _evaluate(arguments, [row, *beside])[0][metric] for row in rows}
    else:
        found = _evaluate(arguments, rows)[1]
    credits = {
        key: (value if low is None else max(value, low)) / scale for key, value in found.items()
    }
    numbers, _ = _evaluate(arguments, [row for row in rows if not row["apart"]])
    return {"credits": {row["id"]: credits[row["id"]] for row in rows}, "metrics": numbers}


def _watch(module: str, name: str) -> None:
    """Have the function note the row that it is about to ask about."""
    holder = importlib.import_module(f"vlmeval.dataset.{module}")
    function = getattr(holder, name)

    def noting(model: Any, line: Any) -> Any:
        _asked.append(str(line["index"]))
        return function(model=model, line=line)

    setattr(holder, name, noting)


def _evaluate(
    arguments: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, float], dict[str, float | None]]:
    """The numbers that it returns, and the verdict column of the file that it leaves."""
    name, judge = arguments["dataset"], arguments.get("judge", "gpt-4-turbo")
    table = opened._table(rows)
    if arguments.get("listed"):
        table["prediction"] = [str([reply]) for reply in table["prediction"]]
    ids = [row["id"] for row in rows]
    for column in arguments.get("marks", ()):
        marked = zip(table[column], ids, strict=True)
        table[column] = [_marked(str(cell), name) for cell, name in marked]
    if arguments.get("counted"):
        table["index"] = range(len(table))
    dataset = base._dataset(name, table)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model_{name}.xlsx"
        table.to_excel(file, index=False, engine="xlsxwriter")
        returned = dataset.evaluate(str(file), model=judge, nproc=1)
        verdicts = {}
        if "metric" not in arguments:
            column = arguments.get("column")
            verdicts = base._verdicts(Path(folder), {file.name}, column)[1]
            if arguments.get("counted"):
                verdicts = {ids[int(index)]: value for index, value in verdicts.items()}
    factor = arguments.get("factor", 1)
    return {key: factor * value for key, value in _named(returned, arguments, rows)}, verdicts


def _marked(cell: str, name: str) -> str:
    """The cell with the mark at its end, within the last item of a list."""
    mark = f" [row {name}]"
    return f"{cell[:-2]}{mark}{cell[-2:]}" if cell.endswith(("']", '"]')) else f"{cell}{mark}"


def _named(
    returned: Any, arguments: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> list[tuple[str, float]]:
    if "whole" in arguments:
        return _of_counts(returned, sum(row["cells"]["key"].endswith("multi") for row in rows))
    if "shares" in arguments:
        sums = {"all": [sum(column) for column in zip(*returned.values(), strict=True)], **returned}
        return [(key, arguments["shares"] * total / n) for key, (total, n) in sums.items()]
    if "table" not in arguments:
        return list(base._numbers(returned))
    import pandas as pd

    label, *columns = arguments["table"]
    return [
        (f"{row[label]}/{column}", float(row[column]))
        for _, row in returned.iterrows()
        for column in columns
        if not pd.isna(row[column])
    ]


def _of_counts(table: Any, problems: int) -> list[tuple[str, float]]:
    """We-Math's dimensions in percent: `12.3% (45)` is a share of all 525 problems and a count."""
    found: list[tuple[str, float]] = []
    cells = {name: str(table[name].iloc[0]) for name in table}
    for mode in ("Strict", "Loose"):
        counts = {
            name.partition(" (")[0]: int(cell.partition("(")[2].rstrip(")"))
            for name, cell in cells.items()
            if name.endswith(f"({mode})") and cell.endswith(")")
        }
        lost = (
            counts["InadequateGeneralization"] / 2
            + counts["RoteMemorization"]
            + counts["InsufficientKnowledge"]
        )
        found.append((f"Score ({mode})", 100 * (problems - lost) / problems))
        found += [(f"{name} ({mode})", 100 * n / problems) for name, n in counts.items()]
        rote = cells[f"RoteMemorization ({mode})"].partition("%")[0]
        found.append((f"RoteMemorization rate ({mode})", float(rote)))
    steps = ("One-step(S1)", "Two-step(S2)", "Three-step(S3)")
    return [*found, *((name, float(cells[name].rstrip("%"))) for name in steps)]


def _draw_nothing() -> None:
    """Where its judge says nothing that it can read it draws an option at random. No verdict can
    be repeated that is drawn, so that here none is: the reply is wrong."""
    module = importlib.import_module("vlmeval.dataset.utils.multiple_choice")
    module.rd = SimpleNamespace(choice=lambda options: "Z")


def _restore_append() -> None:
    """Newer pandas has no `_append`, with which We-Math's evaluation adds a row to a table."""
    import pandas as pd

    def append(table: Any, row: Mapping[str, Any], ignore_index: bool) -> Any:
        return pd.concat([table, pd.DataFrame([row])], ignore_index=ignore_index)

    if not hasattr(pd.DataFrame, "_append"):
        pd.DataFrame._append = append


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as data:
        os.environ["LMUData"] = data  # noqa: SIM112 - its name there
        stand_ins.install(*base.HEAVY)
        sys.path.insert(0, str(base.CHECKOUT))
        import vlmeval.api
        import vlmeval.dataset

        # One of its modules still imports a package from where it once stood.
        sys.modules["vlmeval.dataset.smp"] = importlib.import_module("vlmeval.smp")
        sys.modules["vlmeval.dataset.smp.log"] = importlib.import_module("vlmeval.smp.log")
        _restore_append()
        _draw_nothing()
        stand_ins.seal()
        vlmeval.api.OpenAIWrapper = Scripted
        multiprocessing.Pool = opened._Serial
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
