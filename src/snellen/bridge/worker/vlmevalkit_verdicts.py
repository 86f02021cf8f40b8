"""What VLMEvalKit's `evaluate` returns and leaves in files: numbers of the whole, and verdicts of rows."""

from __future__ import annotations

import importlib
import math
from functools import partial
from pathlib import Path
from typing import Any

VERDICTS = ("hit", "match", "correct", "score", "eval_score")
"""Columns of the files that `evaluate` leaves, by which a row is right or wrong."""
RIGHT_OR_WRONG = frozenset({"hit", "match", "correct"})
_ACCURACY = frozenset({"acc", "accuracy"})


def find_correct(evaluated: Evaluated, verdict: float | None) -> float | None:
    """How right one row is, 0 to 1: its verdict if that is one of right or wrong, else its accuracy.
    Of a single row, an accuracy above 1 is in percent, and one of 1 is not. None for other scores,
    whose range the tool does not say."""
    if verdict is not None and evaluated.is_right_or_wrong(verdict):
        return verdict
    lead = evaluated.headline or ""
    value = evaluated.metrics.get(lead)
    if value is None or not (set(lead.lower().replace("|", " ").replace("_", " ").split()) & _ACCURACY):
        return None
    value = value / 100 if value > 1 else value
    return value if 0 <= value <= 1 else None


class Evaluated:
    """What one call of `evaluate` came to."""

    def __init__(self, metrics: dict[str, float], headline: str | None) -> None:
        self.metrics, self.headline = metrics, headline
        self.column, self.is_boolean = "", False
        self.verdicts: dict[str, float] = {}
        """By index of the row."""
        self.answer: str | None = None
        """What was read from the reply, if there is one row and a column says it."""

    def is_right_or_wrong(self, verdict: float) -> bool:
        """Whether a verdict says how right a row is, 0 to 1."""
        return (self.is_boolean or self.column in RIGHT_OR_WRONG) and 0 <= verdict <= 1


class EvaluateFailed(Exception):
    """An error of the tool's `evaluate`, and the verdicts that it wrote before."""

    def __init__(self, error: Exception, left: Evaluated) -> None:
        super().__init__(str(error))
        self.error, self.left = error, left


def read_evaluated(dataset: Any, returned: Any, folder: Path, before: set[Path]) -> Evaluated:
    """The numbers that `evaluate` returned, and the verdicts in the files that it left."""
    from vlmeval.smp.status_report import flatten_summary_metrics

    flat = flatten_summary_metrics(returned)
    metrics = {str(key): float(value) for key, value in flat.items() if math.isfinite(float(value))}
    headline = None
    report = getattr(type(dataset), "report_primary_metric", None)
    if report is None:
        report = importlib.import_module("vlmeval.dataset.image_base").ImageBaseDataset.report_primary_metric
    for name, value in report(dict(flat)).items():
        metrics[str(name)], headline = float(value), headline or str(name)
    evaluated = Evaluated(metrics, headline)
    read_verdicts(evaluated, folder, before)
    return evaluated


def read_verdicts(evaluated: Evaluated, folder: Path, before: set[Path]) -> None:
    """Those of the first file that `evaluate` left."""
    for path in sorted(set(folder.rglob("*")) - before):
        table = _load_table(path)
        column = next((name for name in VERDICTS if table is not None and name in table), None)
        if table is not None and column is not None and "index" in table:
            cells = ((str(key), as_number(cell)) for key, cell in zip(table["index"], table[column], strict=True))
            evaluated.column = column
            evaluated.is_boolean = str(table[column].dtype) == "bool"
            evaluated.verdicts = {key: number for key, number in cells if number is not None}
            for name in ("extracted", "pred", "extracted_answer", "res"):
                if len(table) == 1 and name in table and isinstance(table[name].iloc[0], str):
                    evaluated.answer = str(table[name].iloc[0])
                    break
            return


def _load_table(path: Path) -> Any:
    import pandas

    readers = {".xlsx": pandas.read_excel, ".csv": pandas.read_csv, ".tsv": partial(pandas.read_csv, sep="\t")}
    if path.suffix not in readers:
        return None
    try:
        return readers[path.suffix](path)
    except (ValueError, OSError):
        return None


def as_number(cell: Any) -> float | None:
    if isinstance(cell, str):
        return {"true": 1.0, "false": 0.0}.get(cell.strip().lower())
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None
