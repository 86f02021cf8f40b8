"""CDM as its authors' code gives it, over formulas on standard input: that of the folder which the argument `folder`
names, in opendatalab/UniMERNet or in OmniDocBench, which holds an older copy.

The credit of a row is F1 of the cell `gold` and the reply, its reading recall and precision. A formula is drawn
once, however many rows have it; where nothing of the gold formula can be drawn there is no credit. Wants
node, pdflatex with CJK and the font gkai (the older copy: xelatex with xeCJK and Source Han Sans), ImageMagick as
`magick`, matplotlib, opencv, scikit-image and scipy.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True


def judged(job: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The credit of each row, and its details."""
    from evaluation import evaluation, gen_color_list
    from modules.latex2bbox_color import latex2bbox_color

    rows = job["rows"]
    formulas = [*dict.fromkeys(text for row in rows for text in (row["cells"]["gold"], row["reply"]))]
    drawn, scratch, colours = root / "drawn", root / "scratch", gen_color_list(num=5800)
    for folder in (drawn / "bbox", drawn / "vis", scratch):
        folder.mkdir(parents=True)
    jobs = [(text, str(number), str(drawn), str(scratch), colours) for number, text in enumerate(formulas)]
    with ThreadPoolExecutor(int(os.environ.get("CDM_AT_ONCE", "2"))) as pool:
        list(pool.map(_attempt(latex2bbox_color), jobs))
    of_text = {text: number for number, text in enumerate(formulas)}
    for side in ("gt", "pred"):
        for kind in ("bbox", "vis"):
            (root / "pairs" / side / kind).mkdir(parents=True)
    for row in rows:
        for side, text in (("gt", row["cells"]["gold"]), ("pred", row["reply"])):
            for kind, end in (("bbox", ".jsonl"), ("vis", "_base.png")):
                source = drawn / kind / f"{of_text[text]}{end}"
                if source.exists():
                    shutil.copy(source, root / "pairs" / side / kind / f"{row['id']}{end}")
    found = evaluation(str(root), "pairs")[0]["details"]
    credits = {name: value["F1_score"] for name, value in found.items()}
    readings = {
        row["id"]: f"recall {value['recall']}, precision {value['precision']}"
        for row in rows
        if (value := found.get(row["id"]))
    }
    mean = 100 * sum(credits.values()) / len(credits)
    return {"credits": credits, "readings": readings, "metrics": {"F1": mean}}


def _attempt(draw: Any) -> Any:
    def attempt(job: Any) -> None:
        with contextlib.suppress(Exception):
            draw(job)

    return attempt


if __name__ == "__main__":
    jobs = json.load(sys.stdin)
    # Both copies have modules of the same names: all jobs of a process are judged by one.
    (chosen,) = {job["arguments"]["folder"] for job in jobs}
    sys.path.insert(0, str(Path(os.environ["SNELLEN_CHECKOUTS"]) / chosen))
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
        verdicts = [judged(job, Path(folder) / str(number)) for number, job in enumerate(jobs)]
    json.dump(verdicts, sys.stdout)
