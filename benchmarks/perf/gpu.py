"""Local models on a GPU, in bfloat16: against transformers' generate, one request after the other.

`python -m benchmarks.perf gpu` measures where torch finds a GPU. `python -m benchmarks.perf.gpu
--device cpu --size tiny` tries the same steps on a small model anywhere.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from benchmarks.perf.document import table
from benchmarks.perf.figures import SIZES, Figure, Part, Size, figure
from benchmarks.perf.large_model import B2_5, M300, TINY, Shape, build
from benchmarks.perf.questions import TOKENS
from benchmarks.perf.reference import forced, generated

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Request
from snellen.models.hf.model import HuggingFace
from snellen.models.image_cache import ImageCache
from snellen.store.runs import RunFolder

TITLE = "Local models on a GPU"
METHOD = (
    "{device}. Models of random weights in bfloat16: a LLaVA (SigLIP, Llama with grouped queries) "
    "of 0.3 B parameters and 256 tokens a picture, and one of 2.5 B and 576. Whole runs of the "
    "bundled benchmark with all rotations and 16 forced new tokens: reference A answers one "
    "request after the other with transformers' processor and generate; Snellen with what prompts "
    "share computed once, and with `sharing=off`. Loading is not counted, the test of whether "
    "sharing is safe is. How busy the GPU was is the mean of what nvidia-smi told every "
    "half second. In bfloat16 the order of sums changes with the shape of a batch, so that replies "
    "of random weights may differ: the share that is equal is told."
)
ABSENT = "No GPU is here that torch can use, so the part `gpu` was not measured and is left out."
MODELS = {"0.3 B": M300, "2.5 B": B2_5}
_LOOK_EVERY = 0.5
"""Seconds between two looks at how busy the GPU is."""
_AS_MANY = 4
"""Times as many questions for Snellen as for reference A, so that batches have time to grow."""


def measure(size: Size, device: str = "cuda", models: Mapping[str, Shape] | None = None) -> Part:
    """Without figures where torch finds no GPU."""
    import torch

    on_gpu = device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        return Part("gpu", TITLE, ABSENT, ())
    figures: list[Figure] = []
    for label, shape in (models or MODELS).items():
        with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
            built = build(Path(folder, "model"), shape, "bfloat16", device)
            figures += measure_checkpoint(label, str(built), device, size, Path(folder))
    name = torch.cuda.get_device_name() if on_gpu else device
    return Part("gpu", TITLE, METHOD.format(device=name), tuple(figures))


class _Ran(NamedTuple):
    rate: float
    """Samples a second."""
    replies: dict[str, list[str]]
    """By sample, of each pass."""
    busy: list[float]
    largest_batch: int
    memory: int
    """Bytes of the device at the highest."""


def measure_checkpoint(label: str, name: str, device: str, size: Size, folder: Path) -> list[Figure]:
    """A checkpoint, by its folder or hub id, one by one and by Snellen."""
    few, many = size.many_questions, _AS_MANY * size.many_questions
    # What CUDA sets up on first use belongs to no measurement.
    _ran(OneByOne(_forced(name, device)), 2, folder / "warm")
    reference = _ran(OneByOne(_forced(name, device)), few, folder / "reference")
    apart = _ran(_forced(name, device, sharing="off"), many, folder / "apart")
    shared = _ran(_forced(name, device), many, folder / "shared")
    plain = f"{label}: reference A"
    found = [figure(plain, "samples/s", [reference.rate])]
    for how, ran in (("Snellen", shared), ("Snellen, sharing=off", apart)):
        what = f"{label}: {how}"
        found += [
            figure(f"{what}", "samples/s", [ran.rate], reference=plain, against=[reference.rate]),
            figure(f"{what}: largest batch", "prompts", [ran.largest_batch]),
            figure(f"{what}: replies equal to A's", "%", [_equal(ran.replies, reference.replies)]),
        ]
        if ran.busy:
            busy = sum(ran.busy) / len(ran.busy)
            found.append(figure(f"{what}: GPU busy", "%", [busy]))
        if ran.memory:
            found.append(figure(f"{what}: GPU memory, highest", "GB", [ran.memory / 1e9]))
    if reference.busy:
        busy = sum(reference.busy) / len(reference.busy)
        found.append(figure(f"{plain}: GPU busy", "%", [busy]))
    return found


def _ran(model: Any, questions: int, out: Path) -> _Ran:
    """A run of so many questions; its model is let go of afterwards."""
    with _watched(model) as busy:
        started = perf_counter()
        results = evaluate(
            [model],
            ["eyechart"],
            variant=Variant(circular="full", max_new_tokens=TOKENS),
            limit=questions,
            out=out,
            html=False,
        )
        took = perf_counter() - started
    run: RunFolder = results.runs[0]
    counts = run.info.counts
    found = _Ran(counts.done / took, _replies(run), busy, counts.largest_batch, counts.device_memory)
    del model, results
    _let_go()
    return found


def _replies(run: RunFolder) -> dict[str, list[str]]:
    """Raises RuntimeError where a request failed."""
    found = {}
    for record in run.records():
        outputs = [one.output for one in record.passes]
        if record.failure is not None or not all(isinstance(one, Generated) for one in outputs):
            raise RuntimeError(f"sample {record.id} was not answered: {record.failure}")
        found[record.id] = [one.text for one in outputs if isinstance(one, Generated)]
    return found


def _equal(some: Mapping[str, Sequence[str]], others: Mapping[str, Sequence[str]]) -> float:
    """Per cent, of the replies that both gave."""
    pairs = [pair for name in some.keys() & others.keys() for pair in zip(some[name], others[name], strict=True)]
    return 100 * sum(one == other for one, other in pairs) / len(pairs)


def _forced(name: str, device: str, **options: str) -> HuggingFace:
    return forced(f"hf/{name}", {"device": device, "dtype": "bfloat16", **options})


class OneByOne:
    """Reference A as a model."""

    def __init__(self, model: HuggingFace) -> None:
        self._model = model
        self._pictures = ImageCache()
        self.identity = msgspec.structs.replace(model.identity, provider="reference")
        self.capabilities = model.capabilities
        self.device = model.load().device

    def answer(self, request: Request) -> Output:
        assert isinstance(request, Generate)
        return generated(self._model, request, self._pictures)


@contextmanager
def _watched(model: Any) -> Iterator[list[float]]:
    """How busy the first GPU is meanwhile, in per cent; nothing where nvidia-smi does not tell."""
    found: list[float] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_EVERY):
            told = _told()
            if told is None:
                return
            found.append(told)

    device = model.device if isinstance(model, OneByOne) else model.load().device
    watcher = threading.Thread(target=look, daemon=True)
    if device.startswith("cuda"):
        watcher.start()
    try:
        yield found
    finally:
        over.set()
        if watcher.ident is not None:
            watcher.join()


def _told() -> float | None:
    words = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=10).stdout
        return float(told.splitlines()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _let_go() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def main(words: Sequence[str]) -> int:
    """On another device the models are small: what they show is that every step works."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perf.gpu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", choices=SIZES, default="full")
    given = parser.parse_args(words)
    models = None if given.device.startswith("cuda") else {"tiny": TINY}
    part = measure(SIZES[given.size], given.device, models)
    print(table(part) if part.figures else part.method)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
