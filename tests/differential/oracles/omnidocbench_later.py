"""OmniDocBench's evaluation of version 1.5, from a copy of the authors' repository, over replies on standard input.

The metrics are those that the authors' notebook of results tables takes: means over pages, edit distances as
100 - 100 * distance; `overall` has the edit distance of formulas in place of CDM. The credit of a page is the mean
of its text, formulas and TEDS. Wants apted, beautifulsoup4, func_timeout, Levenshtein, loguru, lxml, matplotlib,
pandas, pylatexenc, scipy, tabulate and tqdm.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import types
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["SNELLEN_CHECKOUTS"]) / "OmniDocBench-1.5"
PARTS = (("text_block", "Edit_dist"), ("display_formula", "Edit_dist"), ("table", "TEDS"))


def evaluated(job: Mapping[str, Any], modules: tuple[Any, Any, Any]) -> dict[str, Any]:
    """The credit of each page; `metrics` has the numbers of all pages."""
    dataset_class, metrics, split_of = modules
    replies, pages, info = Path("replies"), [], {}
    replies.mkdir(exist_ok=True)
    for row in job["rows"]:
        annotated = json.loads(row["cells"]["answer"])
        annotated["page_info"]["image_path"] = f"{row['id']}.jpg"
        info[row["id"]] = annotated["page_info"]["page_attribute"]
        pages.append(annotated)
        (replies / f"{row['id']}.md").write_text(row["reply"], encoding="utf-8")
    dataset = object.__new__(dataset_class)
    dataset.match_method = "quick_match"
    dataset.samples = dataset.get_matched_elements(pages, str(replies))
    found: dict[str, float] = {}
    of_page: dict[str, dict[str, float]] = defaultdict(dict)
    for element, names in (*PARTS, ("reading_order", "Edit_dist"), ("table", "Edit_dist")):
        samples = dataset.samples[element]
        metrics.METRIC_REGISTRY.get(names)(samples).evaluate([], "x")
        rows = samples if isinstance(samples, list) else samples.samples
        for name, values in split_of(rows, info).items():
            found[f"{element} {name}"] = _similarity(name, values["ALL"])
        if (element, names) in PARTS:
            by_page = defaultdict(list)
            for sample in rows:
                by_page[sample["img_id"].removesuffix(".jpg")].append(sample)
            for page, own in by_page.items():
                value = split_of(own, info).get(names, {}).get("ALL")
                if value is not None and value == value:
                    of_page[page][element] = _similarity(names, value) / 100
    found["overall"] = sum(found[f"{element} {name}"] for element, name in PARTS) / len(PARTS)
    return {"credits": {page: sum(own.values()) / len(own) for page, own in of_page.items()}, "metrics": found}


def _similarity(name: str, value: float) -> float:
    return 100 * value if "TEDS" in name else 100 - 100 * value


def _modules() -> tuple[Any, Any, Any]:
    """The dataset, the metrics and the means over pages, without the parts that these do not use."""
    sys.path.insert(0, str(FOLDER))
    for name, unused in (("evaluate", ""), ("mmeval", "COCODetection"), ("metrics.cdm_metric", "CDM")):
        sys.modules[name] = types.ModuleType(name)
        setattr(sys.modules[name], unused, None)
    import dataset.end2end_dataset as dataset
    import metrics.cal_metric as metrics
    from metrics.show_result import get_page_split

    return dataset.End2EndDataset, metrics, get_page_split


if __name__ == "__main__":
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("result").mkdir()
        loaded = _modules()
        verdicts = []
        for number, job in enumerate(jobs):
            Path(str(number)).mkdir()
            with contextlib.chdir(str(number)):
                Path("result").mkdir()
                verdicts.append(evaluated(job, loaded))
    json.dump(verdicts, sys.stdout)
