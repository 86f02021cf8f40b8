"""Time and memory of `snellen curate filter` over stored runs.

`python -m benchmarks.perf.filter_runs [--items N] [--brief]`

The runs are made here: records as a run under CircularEval writes them, with prompts and replies,
three text-only models and five with pictures.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec.structs import replace

import snellen
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Pass, Record
from snellen.core.request import Message, Text, user
from snellen.core.run import RunInfo
from snellen.prompts.rotation import rotate_options

MODELS = {"text-only": 3, "vision": 5}
ABILITY = {"text-only": 0.1, "vision": 0.7}
"""Share of the questions that a model answers in every rotation."""
LABELS = "ABCD"
CATEGORIES = 20


def write_data(path: Path, items: int) -> None:
    """Questions with four options, in twenty categories and eight sources."""
    with path.open("wb") as file:
        for number in range(items):
            row = {
                "index": str(number),
                "question": f"What does the sign behind car number {number} say?",
                **{label: f"word {label} of {number}" for label in LABELS},
                "answer": LABELS[number % 4],
                "category": f"category {number % CATEGORIES}",
                "source": f"source {number % 8}",
            }
            file.write(msgspec.json.encode(row) + b"\n")


def write_runs(folder: Path, data: Path, items: int) -> None:
    """A run folder for each model; `run.json` is that of a real run."""
    for kind, count in MODELS.items():
        for number in range(count):
            variant = snellen.Variant(circular="early", control="blind" if kind == "text-only" else None)
            run = snellen.evaluate(
                f"random:seed={number}", str(data), out=folder, limit=1, html=False, variant=variant
            )[0]
            info = msgspec.json.decode((run.path / "run.json").read_bytes(), type=RunInfo)
            whole = replace(info, config=replace(info.config, limit=None))
            (run.path / "run.json").write_bytes(msgspec.json.encode(whole))
            write_samples(run.path / "samples.jsonl", items, random.Random(f"{kind} {number}"), kind)


def write_samples(path: Path, items: int, rng: random.Random, kind: str) -> None:
    """Records in the order of a run with many requests in flight: nearly that of the data."""
    order = sorted(range(items), key=lambda number: number + rng.random() * 64)
    encode = msgspec.json.Encoder().encode
    with path.open("wb") as file:
        for number in order:
            right = rng.random() < ABILITY[kind]
            file.write(encode(made_record(number, right, rng)) + b"\n")


def made_record(number: int, right: bool, rng: random.Random) -> Record:
    gold = LABELS[number % 4]
    options = {label: f"word {label} of {number}" for label in LABELS}
    failed_at = 4 if right else rng.randrange(2)
    passes = []
    for turn in range(min(4, failed_at + 1)):
        turned = rotate_options(options, gold, turn)
        assert turned.gold is not None
        label = turned.gold if turn < failed_at else LABELS[(LABELS.index(turned.gold) + 1) % 4]
        lines = [f"{name}. {text}" for name, text in turned.options.items()]
        prompt: tuple[Message, ...] = (
            user(
                Text(
                    "\n".join(
                        [
                            f"Question: What does the sign behind car number {number} say?",
                            "Options:",
                            *lines,
                            "Please select the correct answer from the options above.",
                        ]
                    )
                )
            ),
        )
        reply = f"{label}. {turned.options[label]}"
        passes.append(
            Pass(
                prompt,
                Generated(reply),
                ParsedAnswer(label, "label", (0, 1)),
                (turned.gold,),
                label == turned.gold,
                options=turned.options,
            )
        )
    return Record(
        id=str(number),
        kind="choice",
        question=f"What does the sign behind car number {number} say?",
        outcome="answered",
        score=float(right),
        answer=LABELS[number % 4],
        gold=(gold,),
        options=options,
        groups={"category": f"category {number % CATEGORIES}"},
        passes=tuple(passes),
        values={"vanilla": float(passes[0].correct or 0)},
        saved=4 - len(passes),
        requests=tuple(rng.randbytes(32).hex() for _ in passes),
        position=number,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--brief", action="store_true")
    arguments = parser.parse_args()
    items = arguments.items
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, runs = folder / "data.jsonl", folder / "runs"
        write_data(data, items)
        write_runs(runs, data, items)
        size = sum(path.stat().st_size for path in runs.glob("*/samples.jsonl"))
        command = [sys.executable, "-m", "snellen", "curate", "filter", str(data)]
        command += ["--runs", str(runs), "--out", str(folder / "out"), "-q"]
        command += ["--skip", "replies"] if arguments.brief else []
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(done.stderr)
        print(done.stdout.splitlines()[0])
        print(
            f"{items:,} items x {sum(MODELS.values())} runs ({size / 1e9:.2f} GB): "
            f"{seconds:.1f} s ({usage.ru_utime + usage.ru_stime:.1f} s of one core), "
            f"{usage.ru_maxrss * 1024 / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    main()
