"""One replica of a checkpoint on Ray, and one on each GPU: samples a second, as JSON."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import msgspec
from benchmarks.perf.figures import figure

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.engine.ray.placement import RayCluster


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.placement")
    parser.add_argument("--model", required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--replicas", type=int, required=True)
    parser.add_argument("--questions", type=int, required=True)
    given = parser.parse_args(words)
    gpus = 1.0 if given.device == "cuda" else 0.0
    rates = {}
    with tempfile.TemporaryDirectory(prefix="snellen-gpu-") as folder:
        for replicas in (1, given.replicas):
            cluster = RayCluster(replicas=replicas, gpus=gpus)
            rates[replicas] = _rate(given.model, given.questions * replicas, cluster, Path(folder, str(replicas)))
    one, many = rates[1], rates[given.replicas]
    name = f"{given.label}: one replica"
    figures = [
        figure(name, "samples/s", [one]),
        figure(f"{given.label}: {given.replicas} replicas", "samples/s", [many], reference=name, against=[one]),
    ]
    sys.stdout.buffer.write(msgspec.json.encode(figures))
    return 0


def _rate(model: str, questions: int, cluster: RayCluster, out: Path) -> float:
    """Samples a second, once the replicas have answered a first question."""
    evaluate(f"hf/{model}", "eyechart", cluster=cluster, limit=2, out=out / "warm", html=False)
    started = perf_counter()
    variant = Variant(circular="full", max_new_tokens=16)
    results = evaluate(
        f"hf/{model}", "eyechart", cluster=cluster, limit=questions, variant=variant, out=out / "run", html=False
    )
    return results.runs[0].info.counts.done / (perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
