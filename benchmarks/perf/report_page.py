"""A run of tens of thousands of samples, and its report page."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.perf.engine import AtOnce
from benchmarks.perf.figures import Part, Size, figure, profiled, seconds
from benchmarks.perf.many_runs import decode_lines
from benchmarks.perf.scoring import write_questions

import snellen
from snellen.report.page.html import write_html

METHOD = (
    "`snellen.evaluate` runs a model that answers at once on a TSV, from opening the file to "
    "`report.json`; then `report.html` is written from the run folder. The bare loop decodes "
    "every line of `samples.jsonl`."
)


def measure(size: Size) -> Part:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        data = Path(folder, "questions.tsv")
        write_questions(data, size.rows)
        whole: list[float] = []
        for repeat in range(min(size.repeats, 3)):
            out = Path(folder, f"out{repeat}")
            whole.append(seconds(lambda out=out: snellen.evaluate([AtOnce()], [str(data)], out=out, html=False)))
        run = snellen.open_run(next(out.glob("*/run.json")).parent)
        bare, written = [], []
        for _ in range(size.repeats):
            bare.append(seconds(lambda: decode_lines(run.path / "samples.jsonl")))
            written.append(seconds(lambda: write_html(run)))
        megabytes = (run.path / "report.html").stat().st_size / 1e6
        limits = profiled(lambda: write_html(run))
    figures = (
        figure("bare loop", "s", bare),
        figure("report.html", "s", written, reference="bare loop", against=bare),
        figure("report.html, size", "MB", [megabytes], bar=15.0),
        figure("the whole run before it", "s", whole),
    )
    return Part("page", f"A run of {size.rows:,} samples and its page", METHOD, figures, limits)
