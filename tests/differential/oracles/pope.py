"""POPE's `evaluate.py`, and LLaVA's copy of it, over replies on standard input.

Arguments of a job: none for the authors' script, {"script": "llava"} for LLaVA's function. Both are
run once for each track, as they are meant to be. F1 of a track is returned under its name.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKOUTS = Path(os.environ["SNELLEN_CHECKOUTS"])


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    judge = _llava if job["arguments"].get("script") == "llava" else _authors
    tracks: dict[str, list[Mapping[str, Any]]] = {}
    for row in job["rows"]:
        tracks.setdefault(row["cells"]["category"], []).append(row)
    credits: dict[str, float] = {}
    metrics: dict[str, float] = {}
    for track, rows in tracks.items():
        labels = [row["cells"]["answer"].lower() for row in rows]
        said, metrics[track] = judge([row["reply"] for row in rows], labels)
        for row, word, label in zip(rows, said, labels, strict=True):
            credits[row["id"]] = float(word == label)
    metrics["mean"] = sum(metrics.values()) / len(metrics)
    return {"credits": credits, "metrics": {k: 100 * v for k, v in metrics.items()}}


def _authors(replies: Sequence[str], labels: Sequence[str]) -> tuple[list[str], float]:
    """The script opens its answers first and its labels second; both paths in it are empty."""
    files = iter(
        (
            "\n".join(json.dumps({"answer": reply}) for reply in replies),
            "\n".join(json.dumps({"label": label}) for label in labels),
        )
    )
    script = CHECKOUTS / "POPE" / "evaluate.py"
    names: dict[str, Any] = {"open": lambda *_: io.StringIO(next(files))}
    exec(compile(script.read_text(), str(script), "exec"), names)
    return [answer["answer"] for answer in names["answers"]], names["f1"]


def _llava(replies: Sequence[str], labels: Sequence[str]) -> tuple[list[str], float]:
    script = CHECKOUTS / "LLaVA" / "llava" / "eval" / "eval_pope.py"
    names: dict[str, Any] = {"__name__": "eval_pope"}
    exec(compile(script.read_text(), str(script), "exec"), names)
    answers = [{"text": reply} for reply in replies]
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        file = Path(folder) / "labels.json"
        file.write_text("\n".join(json.dumps({"label": label}) for label in labels))
        names["eval_pope"](answers, str(file))
    f1 = next(line for line in printed.getvalue().splitlines() if line.startswith("F1 score"))
    return [answer["text"] for answer in answers], float(f1.split(":")[1])


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
