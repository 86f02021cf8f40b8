"""Samples a second of one checkpoint by the hf backend, beside transformers' generate one by one.

Prints the figures as JSON. `--model random:0.3 B` builds a model of that shape with random weights.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from benchmarks.perf.figures import SIZES
from benchmarks.perf.gpu import MODELS, measure_checkpoint
from benchmarks.perf.large_model import TINY, build

_SHAPES = {**MODELS, "tiny": TINY}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.rates")
    parser.add_argument("--model", required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--questions", type=int, default=SIZES["small"].many_questions)
    given = parser.parse_args(words)
    size = SIZES["small"]._replace(many_questions=given.questions)
    with tempfile.TemporaryDirectory(prefix="snellen-gpu-") as folder:
        kind, colon, shape = given.model.partition(":")
        checkpoint = given.model
        if colon and kind == "random":
            checkpoint = str(build(Path(folder, "model"), _SHAPES[shape], "bfloat16", given.device))
        figures = measure_checkpoint(given.label, checkpoint, given.device, size, Path(folder))
    sys.stdout.buffer.write(msgspec.json.encode(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
