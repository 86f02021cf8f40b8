"""olmOCR-Bench's unit tests over replies on standard input.

Formulas are drawn by KaTeX, as there, in a Chromium that is on the path. Wants beautifulsoup4, fuzzysearch,
lxml, playwright, rapidfuzz and tqdm.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHECKOUT = Path(os.environ["SNELLEN_CHECKOUTS"]) / "olmocr"


def evaluated(job: Mapping[str, Any], tests: Any) -> dict[str, Any]:
    """The share of its tests that each reply passes, with the baseline that a page gets which states none;
    `metrics` has the share of each category, and their mean."""
    credits: dict[str, float] = {}
    passed = defaultdict(list)
    for row in job["rows"]:
        declared = json.loads(row["cells"]["answer"])
        results = [(test["pdf"].split("/")[0], tests.load_single_test(test).run(row["reply"])[0]) for test in declared]
        if not any(test["type"] == "baseline" for test in declared):
            added = tests.BaselineTest(id="added", pdf=declared[0]["pdf"], page=1, type="baseline")
            results.append(("baseline", added.run(row["reply"])[0]))
        credits[row["id"]] = sum(result for _, result in results) / len(results)
        for category, result in results:
            passed[category].append(float(result))
    shares = {name: 100 * sum(values) / len(values) for name, values in passed.items()}
    return {"credits": credits, "metrics": {**shares, "mean of categories": sum(shares.values()) / len(shares)}}


def _load_tests() -> Any:
    """The module, drawing in the Chromium of this machine."""
    from playwright.sync_api import BrowserType

    launch = BrowserType.launch
    BrowserType.launch = functools.partialmethod(
        launch, executable_path=shutil.which("chromium"), args=["--no-sandbox"]
    )
    sys.path.insert(0, str(CHECKOUT))
    return importlib.import_module("olmocr.bench.tests")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home, contextlib.redirect_stdout(io.StringIO()):
        os.environ["HOME"] = home
        module = _load_tests()
        verdicts = [evaluated(job, module) for job in json.load(sys.stdin)]
    json.dump(verdicts, sys.stdout)
    sys.stdout.flush()
    # The threads that draw do not end by themselves.
    os._exit(0)
