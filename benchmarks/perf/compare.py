"""Two runs of tens of thousands of samples, compared."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.perf.figures import Part, Size, figure, profiled, seconds
from benchmarks.perf.many_runs import decode_lines
from benchmarks.perf.scoring import write_questions

import snellen
from snellen.analysis.comparison.paired import compare
from snellen.core.request import Request
from snellen.store.runs import RunFolder, find_runs

METHOD = (
    "`snellen compare A B` in a process of its own, over two finished runs of a TSV in twenty "
    "categories: difference, tests, ranks and groups. The bare loop decodes every line of both "
    "`samples.jsonl`."
)


class Guess:
    """Picks a reply at random, at once."""

    capabilities = snellen.Capabilities()

    def __init__(self, seed: int) -> None:
        self.identity = snellen.Identity("perf", f"guess-{seed}", {})
        self._draw = random.Random(seed)

    async def answer(self, request: Request) -> snellen.Generated:
        return snellen.Generated(f"The answer is {self._draw.choice('ABCD')}.")


def measure(size: Size) -> Part:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        data, out = Path(folder, "questions.tsv"), Path(folder, "out")
        write_questions(data, size.rows)
        snellen.evaluate([Guess(1), Guess(2)], [str(data)], out=out, html=False)
        runs = find_runs(out)
        command = [sys.executable, "-m", "snellen", "compare", *(str(run.path) for run in runs)]
        bare, called, whole = [], [], []
        for _ in range(size.repeats):
            bare.append(seconds(lambda: [decode_lines(run.path / "samples.jsonl") for run in runs]))
            called.append(seconds(lambda: compared(runs)))
            whole.append(seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)))
        limits = profiled(lambda: compared(runs))
    figures = (
        figure("bare loop", "s", bare),
        figure("comparison, in Python", "s", called, reference="bare loop", against=bare, ratio_bar=2.5),
        figure("snellen compare", "s", whole),
    )
    return Part("compare", f"Two runs of {size.rows:,} samples compared", METHOD, figures, limits)


def compared(runs: list[RunFolder]) -> object:
    return compare(runs, ["A", "B"])
