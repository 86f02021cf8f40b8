"""OmniDocBench's evaluation as VLMEvalKit holds it, over replies on standard input.

The metrics are what `get_page_split` says of all pages, edit distances as 100 - 100 * distance; the
credit of a page is the mean of 1 - edit distance over its text, formulas, tables and reading order, the
numbers of which VLMEvalKit's overall number is the mean. Wants apted, beautifulsoup4, func_timeout,
Levenshtein, lxml, matplotlib, pandas, pylatexenc, scipy, tabulate and tqdm.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import os
import sys
import types
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["SNELLEN_CHECKOUTS"]) / "VLMEvalKit" / "vlmeval" / "dataset" / "OmniDocBench"
EDITS = ("text_block", "display_formula", "table", "reading_order")


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    """The credit of each page; `metrics` has the numbers of all pages and of two languages."""
    evaluator = object.__new__(_evaluator_class())
    evaluator.match_method = "quick_match"
    metrics = importlib.import_module("omnidocbench_checkout.metrics")
    pages, replies, info = [], [], {}
    for row in job["rows"]:
        annotated = json.loads(row["cells"]["answer"])
        annotated["page_info"]["image_path"] = f"{row['id']}.jpg"
        info[f"{row['id']}.jpg"] = annotated["page_info"]["page_attribute"]
        pages.append(annotated)
        replies.append(row["reply"])
    matched = evaluator.get_matched_elements(pages, replies)
    of_page: dict[str, dict[str, float]] = defaultdict(dict)
    found: dict[str, dict[str, float]] = {}
    for element, names in (*((name, ("Edit_dist",)) for name in EDITS), ("table", ("TEDS",))):
        samples = matched[element].samples
        for name in names:
            metrics.METRIC_REGISTRY.get(name)(matched[element]).evaluate([], "")
        split = metrics.get_page_split(samples, info)
        found.update({f"{element} {name}": split[name] for name in split})
        by_page = defaultdict(list)
        for sample in samples:
            by_page[sample["img_id"]].append(sample)
        for image, own in by_page.items():
            value = metrics.get_page_split(own, info).get("Edit_dist", {}).get("ALL")
            if value is not None and value == value:
                of_page[image][element] = 1 - value
    credits = {
        row["id"]: sum(parts.values()) / len(parts) for row in job["rows"] if (parts := of_page[f"{row['id']}.jpg"])
    }
    return {"credits": credits, "metrics": _numbers(found)}


def _numbers(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    def value(name: str, label: str) -> float:
        number = 100 * found[name][label]
        return number if "TEDS" in name else 100 - number

    numbers = {name: value(name, "ALL") for name in found}
    edits = [f"{element} Edit_dist" for element in EDITS]
    for label in ("ALL", "language: english", "language: simplified_chinese"):
        overall = sum(value(name, label) for name in edits) / len(edits)
        numbers["overall" if label == "ALL" else f"overall, {label}"] = overall
    return numbers


def _evaluator_class() -> Any:
    """The class, without the parts of the toolkit that its file imports and it does not use."""
    sys.modules["evaluate"] = types.ModuleType("evaluate")
    package = types.ModuleType("omnidocbench_checkout")
    package.__path__ = [str(FOLDER)]
    sys.modules["omnidocbench_checkout"] = package
    tree = ast.parse((FOLDER / "omnidocbench.py").read_text(encoding="utf-8"))
    tree.body = [one for one in tree.body if getattr(one, "name", None) == "end2end_evaluator"]
    names: dict[str, Any] = {
        "__name__": "omnidocbench_checkout.omnidocbench",
        "__package__": "omnidocbench_checkout",
        "os": os,
        "sys": sys,
        "json": json,
        "defaultdict": defaultdict,
    }
    exec(compile(tree, "omnidocbench.py", "exec"), names)
    return names["end2end_evaluator"]


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        verdicts = [evaluated(job) for job in json.load(sys.stdin)]
    json.dump(verdicts, sys.stdout)
