"""A leaderboard of many runs: ended ones, whose numbers are there, and killed ones, whose numbers
are summed up from their samples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
from benchmarks.perf.figures import seconds

RUNS = 30


def make_runs(data: Path, folder: Path, *, killed: bool) -> Path:
    """A folder of runs whose samples are one file under many names."""
    if not any(folder.glob("*/run.json")):
        command = [sys.executable, "-m", "snellen", "run", "-m", "random", "-b", str(data)]
        subprocess.run([*command, "--out", str(folder), "-q", "--no-html"], check=True, stdout=subprocess.DEVNULL)
    first = next(folder.glob("*/run.json")).parent
    runs = folder.with_name(f"{folder.name}-{'killed' if killed else 'ended'}")
    for number in range(RUNS):
        copy = runs / f"model-{number}"
        copy.mkdir(parents=True)
        os.link(first / "samples.jsonl", copy / "samples.jsonl")
        for name in ("run.json",) if killed else ("run.json", "report.json"):
            told = msgspec.json.decode((first / name).read_bytes())
            info = told.get("run", told)
            info["model"] = copy.name
            if killed:
                info["status"] = "running"
            (copy / name).write_bytes(msgspec.json.encode(told))
    return runs


def leaderboard_seconds(runs: Path) -> float:
    command = [sys.executable, "-m", "snellen", "leaderboard", str(runs)]
    return seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


def decode_lines(path: Path) -> int:
    decode = msgspec.json.Decoder().decode
    with path.open("rb") as file:
        return sum(1 for line in file if decode(line))
