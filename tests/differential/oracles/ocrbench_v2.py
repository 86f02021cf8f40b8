"""The scripts of OCRBench v2's authors, as they stand or as VLMEvalKit has them, over rows on standard input.

They are run in a folder of their own, in which they write and zip a file for each reply that finds texts. A
reply at which they stop with an error has no verdict from them: it counts 0 here, and its id is named.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import shutil
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CHECKOUTS = Path(os.environ["SNELLEN_CHECKOUTS"])
_SCRIPTS = CHECKOUTS / "MultimodalOCR" / "OCRBench_v2" / "eval_scripts"


def judged(job: Mapping[str, Any]) -> dict[str, Any]:
    """Credits of each reply; `metrics` has the two overall scores and their mean, in percent."""
    entries = [_entry(row) for row in job["rows"]]
    credits = {}
    with _workplace():
        score, average = _functions()
        for row, entry in zip(job["rows"], entries, strict=True):
            credits[row["id"]] = entry["score"] = score(entry)
        metrics = _overall(entries, average)
    return {"credits": credits, "metrics": metrics}


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the authors' file of predictions."""
    cells = row["cells"]
    entry = {
        "type": cells["category"],
        "question": cells["question"],
        "predict": row["reply"],
        "answers": _value(cells["answer"]),
    }
    if cells["eval"] != "without eval":
        entry["eval"] = cells["eval"]
    for name in ("bbox", "content"):
        if cells[name] != f"without {name}":
            entry[name] = _value(cells[name])
    return entry


def _value(cell: str) -> Any:
    import ast

    return ast.literal_eval(cell)


@contextlib.contextmanager
def _workplace() -> Iterator[None]:
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_SCRIPTS, Path(folder) / "eval_scripts")
        os.chdir(folder)
        sys.path.insert(0, str(Path(folder) / "eval_scripts"))
        try:
            yield
        finally:
            os.chdir(here)


def _functions() -> tuple[Any, Any]:
    """The score of an entry and the means of a file, by the authors' functions."""
    sys.modules["ipdb"] = types.ModuleType("ipdb")
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = importlib.import_module("eval")
        report = importlib.import_module("get_score")

    def score(entry: Mapping[str, Any]) -> float:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in.json", Path(folder) / "out.json"
            source.write_text(json.dumps([entry], ensure_ascii=False), encoding="utf-8")
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    evaluation.process_predictions(str(source), str(target))
            except Exception:  # noqa: BLE001 - whatever the script stops at
                return 0.0
            return float(json.loads(target.read_text(encoding="utf-8"))[0]["score"])

    return score, report


def _overall(entries: list[dict[str, Any]], report: Any) -> dict[str, float]:
    """What the authors' script prints of a file with scores, to all digits."""
    found: dict[str, dict[str, float]] = {}
    average = report.calculate_average

    def kept(scores: Mapping[str, list[float]]) -> dict[str, float]:
        means: dict[str, float] = average(scores)
        found["cn" if found else "en"] = means
        return means

    report.calculate_average = kept
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.json"
        file.write_text(json.dumps(entries, ensure_ascii=False), encoding="utf-8")
        sys.argv = ["get_score.py", "--json_file", str(file)]
        with contextlib.redirect_stdout(io.StringIO()):
            report.main()
    overall = {name: 100 * sum(means.values()) / len(means) for name, means in found.items()}
    abilities = {f"{name}/{key}": 100 * value for name, means in found.items() for key, value in means.items()}
    return {"mean": sum(overall.values()) / 2, **overall, **abilities}


if __name__ == "__main__":
    json.dump([judged(job) for job in json.load(sys.stdin)], sys.stdout)
