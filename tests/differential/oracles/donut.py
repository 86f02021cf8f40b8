"""Donut's evaluator of records, over replies on standard input.

It takes values; that of a reply is what stands between its first and its last bracket, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHECKOUT = Path(os.environ["SNELLEN_CHECKOUTS"]) / "donut"


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    """Tree accuracy of each reply; `metrics` has their mean, and the F1 over all fields."""
    evaluator = _evaluator()
    golds = [json.loads(row["cells"]["ground_truth"])["gt_parse"] for row in job["rows"]]
    said = [_value(row["reply"]) for row in job["rows"]]
    credits = {
        row["id"]: float(evaluator.cal_acc(reply, gold))
        for row, reply, gold in zip(job["rows"], said, golds, strict=True)
    }
    metrics = {"tree": 100 * sum(credits.values()) / len(credits), "f1": 100 * evaluator.cal_f1(said, golds)}
    return {"credits": credits, "metrics": metrics}


def _value(reply: str) -> Any:
    brackets = [place for place, sign in enumerate(reply) if sign in "[]{}"]
    try:
        return json.loads(reply[brackets[0] : brackets[-1] + 1])
    except (ValueError, IndexError):
        return {}


def _evaluator() -> Any:
    """The class, without the rest of its file, which wants torch."""
    import ast

    import zss
    from nltk import edit_distance

    tree = ast.parse((CHECKOUT / "donut" / "util.py").read_text(encoding="utf-8"))
    tree.body = [one for one in tree.body if getattr(one, "name", None) == "JSONParseEvaluator"]
    typing_names = {name: getattr(typing, name) for name in ("Any", "Dict", "List", "Tuple", "Union")}
    names: dict[str, Any] = {"zss": zss, "Node": zss.Node, "edit_distance": edit_distance, **typing_names}
    exec(compile(tree, "util.py", "exec"), names)
    return names["JSONParseEvaluator"]()


if __name__ == "__main__":
    json.dump([evaluated(job) for job in json.load(sys.stdin)], sys.stdout)
