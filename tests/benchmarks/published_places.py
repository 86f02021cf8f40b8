"""Predictions of ScreenSpot-Pro that other people published, scored by Snellen, against their own verdicts.

    python tests/benchmarks/published_places.py RESULTS.json ...

Each file is one that the authors' `eval_screenspot_pro.py` writes, with the point of every prediction in pixels
of the original picture, the box, and a verdict. The repositories that hold such files state no licence, so that
none is stored here; docs/design/places.md has the figures.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import snellen

_UNREADABLE = "none"
"""What stands for a prediction that the authors' reader could not read."""


def compare_verdicts(path: Path) -> tuple[int, int, float]:
    """Questions on which the verdicts agree, all questions, and Snellen's score in percent."""
    details = json.loads(path.read_text(encoding="utf-8"))["details"]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "predictions.jsonl")
        table.write_text("".join(map(_row, range(len(details)), details)), encoding="utf-8")
        scored = snellen.score(f"{table}:coordinates=pixels")
    right = {record.id: record.score == 1 for record in scored.records}
    agree = sum(right[str(number)] == (one["correctness"] == "correct") for number, one in enumerate(details))
    return agree, len(details), scored.summary.headline.value


def _row(number: int, one: dict[str, Any]) -> str:
    prediction = json.dumps(one["pred"]) if one["pred"] else _UNREADABLE
    row = {"id": number, "question": one["prompt_to_evaluate"], "type": "point", "bbox": one["bbox"]}
    return json.dumps({**row, "prediction": prediction}) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        agreeing, total, value = compare_verdicts(Path(name))
        print(f"{name}: {agreeing:,} of {total:,} verdicts agree; score {value:.2f}")
