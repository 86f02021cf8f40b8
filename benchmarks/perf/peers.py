"""Snellen beside another tool on the same server: `python -m benchmarks.perf.peers`.

Inspect is installed into an environment of its own under `build/peers`, and asked the questions
of `remote.py` as it comes, and with as many connections as Snellen's widest run has.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import msgspec
from benchmarks.perf.remote import cores, server, snellen, write_pictures

from snellen.api.naming import named_benchmark
from snellen.core.benchmark import Variant

INSPECT = ("inspect-ai==0.3.*", "openai>=2")
TASK = Path(__file__).with_name("inspect_task.py")
BUILD = Path(__file__).parents[2] / "build" / "peers"
WIDE = 256
BAR = 10.0
"""Snellen's rate at `WIDE` connections must be so many times that of the peer as it comes."""


class Took(msgspec.Struct):
    seconds: float
    cpu: float


def main() -> int:
    """0 when the bar is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="requests of each run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--python", type=Path, help="a Python that has Inspect already")
    arguments = parser.parse_args()
    python = arguments.python or installed("inspect", INSPECT)
    ratios = []
    with tempfile.TemporaryDirectory(prefix="snellen-peers-") as folder, cores():
        os.environ["SNELLEN_CACHE"] = folder
        data = Path(folder, "questions.tsv")
        write_pictures(data, arguments.count)
        benchmark = named_benchmark(str(data), Variant(), {})
        benchmark.open()
        with server() as url:
            snellen(benchmark, url, 32, Path(folder, "warm"), 200)
            for repeat in range(arguments.repeats):
                default = asked(python, data, url, arguments.count)
                wide = asked(python, data, url, arguments.count, str(WIDE))
                print(told("Inspect as it comes", default, arguments.count))
                print(told(f"Inspect, {WIDE} connections", wide, arguments.count))
                for width in (32, WIDE):
                    ours = snellen(benchmark, url, width, Path(folder, f"{width}-{repeat}"), None)
                    print(line(f"Snellen, {width} connections", ours.rate, ours.cpu))
                ratios.append(ours.rate * default.seconds / arguments.count)
    ratio = statistics.median(ratios)
    print(f"Snellen at {WIDE} connections is {ratio:.1f} times as fast as Inspect as it comes")
    return 0 if ratio >= BAR else 1


def installed(name: str, packages: tuple[str, ...]) -> Path:
    """The Python of an environment that has the packages."""
    home = BUILD / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        (home / "ready").touch()
    return python


def asked(python: Path, data: Path, url: str, count: int, *connections: str) -> Took:
    command = [python, TASK, data, url, str(count), *connections]
    done = subprocess.run(command, cwd=data.parent, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Took)


def told(name: str, took: Took, count: int) -> str:
    return line(name, count / took.seconds, 1000 * took.cpu / count)


def line(name: str, rate: float, cpu: float) -> str:
    return f"{name:<28} {rate:8.1f} /s {cpu:8.2f} ms of CPU per request"


if __name__ == "__main__":
    sys.exit(main())
