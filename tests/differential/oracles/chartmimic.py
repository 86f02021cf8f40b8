"""VLMEvalKit's judgement of one ChartMimic reply, over replies on standard input.

Its own code extracts the program, writes it with its recorders before and behind it, and computes
the four scores. What it would start as `python FILE` is run in a forked process whose libraries are
loaded already: the same program in a fresh interpreter, without the seconds that each import takes.
Wants matplotlib 3.8, since its recorder finds no lines in a newer one, and the libraries of
`vlmeval/dataset/utils/chartmimic/eval_req.txt`. The picture for the judge is not converted: the
judge says what the row has.

The replies are programs that tests/differential/programs_chart.py writes; they are harmless.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import runpy
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(os.environ["SNELLEN_CHECKOUTS"]) / "VLMEvalKit"
LIBRARIES = (
    "colormath.color_diff",
    "matplotlib.backends.backend_pdf",
    "matplotlib.pyplot",
    "matplotlib_venn",
    "mpl_toolkits.mplot3d",
    "networkx",
    "numpy",
    "scipy.stats",
    "squarify",
)
PARTS = {
    "text_score": "text_metrics",
    "layout_score": "layout_metrics",
    "chart_type_score": "chart_type_metrics",
    "color_score": "color_metrics",
}


def run_forked(command: Sequence[str], **_: Any) -> Any:
    """Stands in place of `subprocess.run(["python", FILE])`."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for standard in range(3):
                os.dup2(nothing, standard)
            random.seed(0)
            sys.modules["numpy"].random.seed(0)
            runpy.run_path(command[1], run_name="__main__")
            code = 0
        finally:
            os._exit(code)
    until = time.monotonic() + 120
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return types.SimpleNamespace(returncode=code, stdout="", stderr="")
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise subprocess.TimeoutExpired(list(command), 120)


def load() -> Any:
    """Its module, with stand-ins for the rest of the toolkit."""
    for name in LIBRARIES:
        importlib.import_module(name)
    root = CHECKOUT / "vlmeval"
    quiet = types.SimpleNamespace(
        info=lambda *_: None,
        debug=lambda *_: None,
        warning=lambda *_: None,
        error=lambda *_: None,
        exception=lambda *_: None,
    )
    names = ("LMUDataRoot", "download_file", "dump", "file_size", "get_intermediate_file_path", "load", "md5")
    _module("vlmeval", path=root)
    _module("vlmeval.smp", get_logger=lambda *_: quiet, **dict.fromkeys(names))
    _module("vlmeval.dataset", path=root / "dataset")
    _module("vlmeval.dataset.utils", path=root / "dataset" / "utils", DEBUG_MESSAGE="", build_judge=None)
    _module("vlmeval.dataset.image_base", ImageBaseDataset=object)
    chartmimic = importlib.import_module("vlmeval.dataset.chartmimic")
    chartmimic.subprocess = types.SimpleNamespace(run=run_forked, TimeoutExpired=subprocess.TimeoutExpired)
    sys.modules["vlmeval.dataset.utils.chartmimic.eval_configs.global_config"].subprocess = types.SimpleNamespace(
        run=_checked, CalledProcessError=subprocess.CalledProcessError
    )
    return chartmimic


def _checked(command: Sequence[str], **_: Any) -> Any:
    done = run_forked(command)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, list(command), "", "")
    return done


def _module(name: str, path: Path | None = None, **content: Any) -> None:
    made = types.ModuleType(name)
    if path is not None:
        made.__path__ = [str(path)]
    vars(made).update(content)
    sys.modules[name] = made


def judged(module: Any, rows: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, Any]:
    """The credits of the rows, and the numbers of its table."""
    module.LMUDataRoot = lambda: str(folder)
    module.save_code_dir, module.sub_set_name = str(folder), "set"
    module._convert_single_page_pdf_to_png = lambda pdf, png: Path(png).write_bytes(b"")
    sums = dict.fromkeys(("exec_rate", *PARTS, "gpt_score"), 0.0)
    credits: dict[str, float] = {}
    readings: dict[str, str] = {}
    original = folder / "images" / "ChartMimic" / "v2"
    original.mkdir(parents=True)
    for row in rows:
        (original / f"{row['id']}.py").write_text(row["cells"]["ground_truth_code"])
        words = row["verdict"]
        module.run_once_with_images = lambda prompt, images, words=words: words
        item = {
            "index": row["id"],
            "task": row["cells"]["task"],
            "prediction": row["reply"],
            "ground_truth_figure_code": f"v2/{row['id']}.py",
        }
        _, scores = module._judge_one_item.__wrapped__(json.dumps(item))
        parts = {name: 100 * scores["low_level"][key]["f1"] for name, key in PARTS.items()}
        high = scores["high_level"]["score"]
        for name, value in parts.items():
            sums[name] += value
        sums["gpt_score"] += high
        sums["exec_rate"] += 100 * bool(scores["low_level"]["generated_py_file"])
        credits[row["id"]] = (sum(parts.values()) / 4 + high) / 200
        readings[row["id"]] = " ".join(f"{value:.4f}" for value in (*parts.values(), high))
    metrics = {name: value / len(rows) for name, value in sums.items()}
    average = sum(metrics[name] for name in PARTS) / 4
    metrics["overall"] = (average + metrics["gpt_score"]) / 2
    return {"credits": credits, "metrics": metrics, "readings": readings}


def main() -> None:
    jobs = json.load(sys.stdin)
    out = os.dup(1)
    os.dup2(2, 1)
    os.environ["MPLBACKEND"] = "agg"
    module = load()
    answers = []
    for job in jobs:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            answers.append(judged(module, job["rows"], Path(folder)))
            os.chdir("/")
    with os.fdopen(out, "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
