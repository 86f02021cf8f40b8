"""Peak memory of `snellen run` as runs grow."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.perf.figures import Part, Size, figure
from benchmarks.perf.scoring import write_questions

METHOD = (
    "`snellen run -m random` on text questions, in a process of its own; the peak resident memory "
    "is what the system reports when it ends. The reference is a run a tenth as long. Samples are "
    "made one by one and written when they end. What grows with their number: their ids, and at "
    "the end a record of each without its prompts and replies, to be summed up. Where rows of the "
    "data are rotations of each other, all samples are held. Pictures stay in their file."
)


def measure(size: Size) -> Part:
    few = max(10, size.samples // 10)
    small = [peak_megabytes(few) for _ in range(min(size.repeats, 3))]
    large = [peak_megabytes(size.samples) for _ in range(min(size.repeats, 3))]
    name = f"{few:,} samples"
    more = size.samples - few
    each = [1000 * (b - a) / more for a, b in zip(small, large, strict=True)]
    figures = (
        figure(name, "MB", small),
        figure(f"{size.samples:,} samples", "MB", large, reference=name, against=small),
        figure("each further sample", "kB", each),
    )
    return Part("memory", "Peak memory of a run", METHOD, figures)


def peak_megabytes(samples: int) -> float:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        write_questions(Path(folder, "questions.tsv"), samples)
        command = [sys.executable, "-m", "snellen", "run", "-m", "random", "-b", "questions.tsv"]
        process = subprocess.Popen([*command, "--quiet", "--no-html"], cwd=folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"snellen run ended with {process.returncode}")
    return usage.ru_maxrss / 1024
