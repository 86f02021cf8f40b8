"""Classes of VLMEvalKit out of their modules, with tables in memory in place of files.

Of its package only the functions that a class calls are loaded, so that it starts in a second and
can evaluate every row by itself. Words such as "nan" stay what they are: no spreadsheet reads them.
Arguments of a job:

    dataset   its name there
    file      module of the class, below vlmeval/dataset
    classes   its name, and those of the classes that it is made of before it
    metric    "alone": the number that a row evaluated by itself returns, times `factor`; {split} in
              it is the row's cell. Without it the column `hit`, `correct` or `score` of the table that the
              evaluation leaves is the verdict
    file_name what begins the name of the file of replies, where a class reads its own name there
    fillers   further rows (cells and a reply) beside the one, for "alone"
    scale     factor of the numbers that it returns
    leads     name and numbers of the headline; empty: it has none
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import json
import logging
import sys
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import stand_ins
import vlmevalkit as base

FILES: dict[str, Any] = {}
ANSWERED = "answered.xlsx"
VERDICTS = ("hit", "correct", "score")


def path_beside(path: str, suffix: str = "", target_format: str = "") -> str:
    return f"{path}{suffix}.{target_format}"


def tracked(
    func: Callable[..., Any], tasks: Sequence[Any], save: str = "", keys: Sequence[Any] = (), **_: Any
) -> list[Any]:
    """What `track_progress_rich` does, one after the other."""
    results = [func(**task) if isinstance(task, dict) else func(*task) for task in tasks]
    FILES[save] = dict(zip(keys, results, strict=True))
    return results


def prepare() -> None:
    """The package without what its `__init__` files import."""
    import pandas as pd

    stand_ins.install(*base.HEAVY, "vlmeval.smp", "vlmeval.utils", "vlmeval.api", "vlmeval.dataset.utils.judge_util")
    for name in ("vlmeval", "vlmeval.dataset", "vlmeval.dataset.utils"):
        package = types.ModuleType(name)
        package.__path__ = [str(base.CHECKOUT.joinpath(*name.split(".")))]
        sys.modules[name] = package
    given = {
        "load": lambda path: FILES[path].copy(),
        "dump": lambda held, path, **_: FILES.update({path: held}),
        "get_intermediate_file_path": path_beside,
        "get_file_extension": lambda path: path.rpartition(".")[2],
        "get_logger": logging.getLogger,
        "listinstr": lambda texts, text: any(one in text for one in texts),
        "d2df": lambda held: pd.DataFrame({key: [value] for key, value in held.items()}),
        "track_progress_rich": tracked,
        "build_judge": lambda **_: types.SimpleNamespace(working=lambda: False),
        "gpt_key_set": lambda: False,
    }
    for name in ("smp", "smp.file", "smp.log", "smp.vlm", "utils", "utils.mp_util", "dataset.utils.judge_util"):
        importlib.import_module(f"vlmeval.{name}").__dict__.update(given)
    matching = _module("matching", "vlmeval", "utils", "matching_util.py")
    sys.modules["vlmeval.utils"].__dict__.update(can_infer=matching.can_infer, can_infer_lego=matching.can_infer_lego)
    # Neither spreadsheets nor other files are written.
    pd.ExcelWriter = None


def _module(name: str, *path: str) -> Any:
    made = importlib.util.spec_from_file_location(name, base.CHECKOUT.joinpath(*path))
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def class_of(arguments: Mapping[str, Any]) -> Any:
    """The class, defined with the imports, tables and functions of its module."""
    text = base.CHECKOUT.joinpath("vlmeval", "dataset", arguments["file"]).read_text(encoding="utf-8")
    tree = ast.parse(text)
    names = arguments["classes"]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in names]
    known = {node.name for node in classes}
    plain = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.FunctionDef)
        or (isinstance(node, ast.ImportFrom) and node.level == 2)
        or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict | ast.List | ast.Constant))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("vlmeval", "collections"))
    ]
    for node in classes:
        node.bases = [one for one in node.bases if isinstance(one, ast.Name) and one.id in known]
    space: dict[str, Any] = {"__name__": f"vlmeval.dataset.{arguments['file'][:-3]}", "__package__": "vlmeval.dataset"}
    space |= {"build_judge": sys.modules["vlmeval.utils"].__dict__["build_judge"], "DEBUG_MESSAGE": ""}
    tree.body = [*plain, *classes]
    exec(compile(tree, arguments["file"], "exec"), space)
    return space[names[-1]]


def run(cls: Any, arguments: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Any:
    """What the evaluation returns for these rows."""
    import pandas as pd

    table = pd.DataFrame([{**row["cells"], "index": row["id"]} for row in rows])
    if all(row["id"].isdecimal() for row in rows):
        table["index"] = table["index"].astype(int)
    FILES.clear()
    answered = f"{arguments.get('file_name', '')}{ANSWERED}"
    FILES[answered] = table.assign(prediction=[row["reply"] for row in rows])
    dataset = cls.__new__(cls)
    dataset.dataset_name, dataset.data = arguments["dataset"], table
    Path(answered).touch()  # some look for it
    return dataset.evaluate(answered, model="exact_matching", nproc=1)


def verdicts(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The verdict column of the table that an evaluation left."""
    for path, held in FILES.items():
        column = next((name for name in VERDICTS if hasattr(held, "columns") and name in held.columns), None)
        if not path.endswith(ANSWERED) and column is not None:
            return {str(key): float(value) for key, value in zip(held["index"], held[column], strict=True)}
    raise SystemExit(f"no column of {VERDICTS} for {len(rows)} rows in {list(FILES)}")


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    arguments, rows = job["arguments"], job["rows"]
    cls = class_of(arguments)
    scale = arguments.get("scale", 1)
    if "metric" in arguments:
        credits = {}
        for row in rows:
            numbers = dict(base._numbers(run(cls, arguments, [row, *arguments.get("fillers", ())])))
            credits[row["id"]] = arguments.get("factor", 1) * numbers[arguments["metric"].format(**row["cells"])]
    returned = run(cls, arguments, rows)
    if "metric" not in arguments:
        credits = verdicts(rows)
    metrics = {name: scale * value for name, value in base._numbers(returned)}
    name = arguments.get("leads", "")
    return {"credits": credits, "metrics": metrics, "headline": (name, metrics[name]) if name else None}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        prepare()
        found = [evaluated(job) for job in jobs]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
