"""VLMEvalKit's own `evaluate` with a judge that says what the rows have for its words.

Run as `vlmevalkit.py` is, whose parts it uses. The judge stands in place of the client that its
`build_judge` makes, and knows a row by a mark that is added to some of its cells. Arguments of a
job:

    dataset   its name there
    marks     columns whose cells take the mark, so that one is in every prompt about the row;
              `prediction` may be one of them
    about     instead of marks: module and function that asks about a row, called with it as `line`
    unseen    module and function that saves the pictures a judge is shown: none are made here
    counted   whether rows are numbered from 0 there, as its own data of the benchmark are
    lists     columns that its own data of the benchmark hold as lists
    listed    whether the reply is written as a list of one, as dialogues are
    steps     patterns of what a judge is asked; a verdict is then a list in JSON, and the first
              pattern that a prompt matches says which of its items is meant
    pictures  whether the judge is shown pictures: of every row the same one
    left      a file that the evaluation leaves, whose numbers count instead of those it returns
    judge     the judge's name
    column    the verdict column of the file that is left, and
    scale     what its numbers are over, so that a credit is 0..1
    low       verdicts below it are it, and so are rows that the file lacks
    metric    where no file has verdicts of rows: every row is evaluated by itself, and its credit
              is this number of those returned, over `scale`
    factor    of the numbers that it returns (100 where they are fractions)
    plain     begins the names of numbers that `factor` leaves as they are
    filler    for `metric`: a row that earns nothing and stands beside each
    offset    is added to a verdict before it is divided by `scale`
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
from collections import defaultdict
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
_steps: list[re.Pattern[str]] = []


class Scripted:
    """A judge that says of each row what it was given for it."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, *_: Any, **__: Any) -> None:
        self.system_prompt = ""
        self.model = "scripted"

    def working(self) -> bool:
        return True

    def generate(self, message: Any, *_: Any, **__: Any) -> str:
        if _asked:
            return _words[_asked[-1]]
        parts = [message] if isinstance(message, str) else message
        texts = [part if isinstance(part, str) else part["value"] for part in parts]
        text = "\n".join(texts)
        [row] = set(_MARK.findall(text))
        if not _steps:
            return _words[row]
        step = next(step for step, pattern in enumerate(_steps) if pattern.search(text))
        return str(json.loads(_words[row])[step])


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    _words.clear()
    _asked.clear()
    _steps[:] = map(re.compile, arguments.get("steps", ()))
    if "about" in arguments:
        _watch(*arguments["about"].split(":"))
    if "unseen" in arguments:
        _show_nothing(*arguments["unseen"].split(":"))
    _words.update({row["id"]: row["verdict"] for row in rows})
    low, scale, offset = arguments.get("low"), arguments.get("scale", 1), arguments.get("offset", 0)
    if "metric" in arguments:
        beside = [arguments["filler"]] if "filler" in arguments else []
        _words.update({row["id"]: row["verdict"] for row in beside})
        metric = arguments["metric"]
        found = {row["id"]: _evaluate(arguments, [row, *beside])[0][metric] for row in rows}
    else:
        found = _evaluate(arguments, rows)[1]
    if low is not None:
        found = {row["id"]: found.get(row["id"], low) for row in rows}
    credits = {key: ((value if low is None else max(value, low)) + offset) / scale for key, value in found.items()}
    numbers, _ = _evaluate(arguments, [row for row in rows if not row["apart"]])
    return {"credits": {row["id"]: credits[row["id"]] for row in rows}, "metrics": numbers}


def _watch(module: str, name: str) -> None:
    """Have the function note the row that it is about to ask about."""
    holder = importlib.import_module(f"vlmeval.dataset.{module}")
    function = getattr(holder, name)

    def noting(*inputs: Any, **named: Any) -> Any:
        line = named["line"] if "line" in named else inputs[1]
        _asked.append(str(line["index"]))
        return function(*inputs, **named)

    setattr(holder, name, noting)


def _show_nothing(module: str, name: str) -> None:
    """Have every module that knows the function get no pictures from it."""
    function = getattr(importlib.import_module(f"vlmeval.dataset.{module}"), name)
    for holder in list(sys.modules.values()):
        if getattr(holder, name, None) is function:
            setattr(holder, name, lambda *_, **__: ([], [], 0.0))


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
    dataset.data_root = "."
    if "lists" in arguments:
        from vlmeval.smp import toliststr

        held = {column: [toliststr(x) for x in table[column]] for column in arguments["lists"]}
        dataset.data = table.assign(**held)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model_{name}.xlsx"
        table.to_excel(file, index=False, engine="xlsxwriter")
        if arguments.get("pictures"):
            # Its files are found by a path that is joined to the folder of the data's pictures.
            dataset.dump_image = lambda line: [str(_picture(Path(folder)))]
        returned = dataset.evaluate(str(file), model=judge, nproc=1)
        if "left" in arguments:
            [left] = Path(folder).rglob(arguments["left"])
            returned = json.loads(left.read_text())
        verdicts = {}
        if "metric" not in arguments:
            column = arguments.get("column")
            verdicts = base._verdicts(Path(folder), {file.name}, column)[1]
            if arguments.get("counted"):
                verdicts = {ids[int(index)]: value for index, value in verdicts.items()}
    factor, plain = arguments.get("factor", 1), arguments.get("plain")
    numbers = {
        key: value if plain and key.startswith(plain) else factor * value
        for key, value in _named(returned, arguments, rows)
    }
    return numbers, verdicts


def _picture(folder: Path) -> Path:
    from PIL import Image

    path = folder.resolve() / "picture.png"
    if not path.exists():
        Image.new("RGB", (8, 8)).save(path)
    return path


def _marked(cell: str, name: str) -> str:
    """The cell with the mark at its end, within the last item of a list, and within the last value
    of an object there."""
    mark = f" [row {name}]"
    if cell.endswith(("'}]", '"}]')):
        return f"{cell[:-3]}{mark}{cell[-3:]}"
    return f"{cell[:-2]}{mark}{cell[-2:]}" if cell.endswith(("']", '"]')) else f"{cell}{mark}"


def _named(returned: Any, arguments: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
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
        lost = counts["InadequateGeneralization"] / 2 + counts["RoteMemorization"] + counts["InsufficientKnowledge"]
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


def _time_nothing() -> None:
    """Its limits of time start a process for every call."""
    with contextlib.suppress(ImportError):
        import timeout_decorator

        timeout_decorator.timeout = lambda *_, **__: lambda function: function


def _restore_append() -> None:
    """Newer pandas has no `_append`, with which We-Math's evaluation adds a row to a table."""
    import pandas as pd

    def append(table: Any, row: Mapping[str, Any], ignore_index: bool) -> Any:
        return pd.concat([table, pd.DataFrame([row])], ignore_index=ignore_index)

    if not hasattr(pd.DataFrame, "_append"):
        pd.DataFrame._append = append


def _restore_imports() -> None:
    """MME-Reasoning's module no longer imports what its means are made with."""
    import numpy as np

    module = importlib.import_module("vlmeval.dataset.utils.mme_reasoning")
    module.np, module.defaultdict = np, defaultdict


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as data:
        os.environ["LMUData"] = data  # noqa: SIM112 - its name there
        stand_ins.install(*base.HEAVY)
        sys.path.insert(0, str(base.CHECKOUT))
        _time_nothing()
        import vlmeval.api
        import vlmeval.dataset

        # One of its modules still imports a package from where it once stood.
        sys.modules["vlmeval.dataset.smp"] = importlib.import_module("vlmeval.smp")
        sys.modules["vlmeval.dataset.smp.log"] = importlib.import_module("vlmeval.smp.log")
        _restore_append()
        _restore_imports()
        _draw_nothing()
        stand_ins.seal()
        vlmeval.api.OpenAIWrapper = Scripted
        multiprocessing.Pool = opened._Serial
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
