"""The COCO evaluation tools (pycocoevalcap), over captions on standard input.

With {"tokenizer": "PTB"} captions are split by the tools' Java program first, as their `eval.py`
does; without it they are given as they stand, as VLMEvalKit's `COCO_Caption_Scorer` does. The
credit of a row is its ROUGE-L.
"""

from __future__ import annotations

import ast
import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    rows = job["rows"]
    said = {row["id"]: [row["reply"]] for row in rows}
    held = {row["id"]: list(ast.literal_eval(row["cells"]["answer"])) for row in rows}
    if job["arguments"].get("tokenizer"):
        split = PTBTokenizer()
        said, held = (
            split.tokenize({key: [{"caption": one} for one in many] for key, many in part.items()})
            for part in (said, held)
        )
    rouge, by_row = Rouge().compute_score(held, said)
    bleu, _ = Bleu(4).compute_score(held, said)
    cider, _ = Cider().compute_score(held, said)
    metrics = {"ROUGE_L": 100 * rouge, "CIDEr": 100 * cider}
    metrics |= {f"Bleu_{order}": 100 * value for order, value in enumerate(bleu, 1)}
    # The scorers go through the keys in the order in which they were given.
    credits = {key: float(value) for key, value in zip(held, by_row, strict=True)}
    return {"credits": credits, "metrics": {key: float(value) for key, value in metrics.items()}}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
