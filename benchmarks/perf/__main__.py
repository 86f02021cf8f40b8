"""Measure what Snellen costs, beside the least that could be done.

Each part runs in a process of its own: a process inherits the peak memory of the one that starts
it, so that one must be small.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import msgspec
from benchmarks.perf.comparison import Comparison
from benchmarks.perf.document import Results, missed, page, table
from benchmarks.perf.figures import SIZES, Part, SizeName
from benchmarks.perf.machine import this_machine
from benchmarks.perf.origin import FILES, origin_of

RESULTS = Path(__file__).with_name("results.json")
PEERS = Path(__file__).with_name("peers.json")
GPU = Path(__file__).with_name("gpu.json")
"""Figures of another machine: `python -m benchmarks.perf gpu --json benchmarks/perf/gpu.json`."""
FAULTS = Path(__file__).with_name("faults.json")
"""Figures that a busy machine does not change much, taken on their own."""
DOCUMENT = Path(__file__).parents[2] / "docs" / "performance.md"


def main() -> int:
    """0 when every bar is met, 1 when one is missed."""
    arguments = _arguments()
    if arguments.part:
        part = import_module(f"benchmarks.perf.{FILES[arguments.part]}").measure(SIZES[arguments.size])
        sys.stdout.buffer.write(msgspec.json.encode(part))
        return 0
    if arguments.page:
        results = msgspec.json.decode(RESULTS.read_bytes(), type=Results)
        peers = msgspec.json.decode(PEERS.read_bytes(), type=Comparison)
        others = [msgspec.json.decode(file.read_bytes(), type=Results) for file in (GPU, FAULTS) if file.exists()]
        DOCUMENT.write_text(page(results, peers, *others), encoding="utf-8")
        return 0
    machine = this_machine()
    words = ["python -m benchmarks.perf", *arguments.names, f"--size {arguments.size}"]
    parts: list[Part] = []
    for name in arguments.names or [name for name in FILES if name not in ("faults", "year", "store-size")]:
        part = _measured(name, arguments.size)
        if part.figures:
            parts.append(part)
        # What cannot be measured here says why, in place of figures.
        print(table(part) if part.figures else part.method, end="\n\n", flush=True)
        if arguments.json:
            # Each time: what was measured is kept when a later part fails.
            _write(arguments.json, Results(" ".join(words), machine, _merged(arguments, parts)))
    lines = missed(parts)
    for line in lines:
        print(line, file=sys.stderr)
    return 1 if lines else 0


def _merged(arguments: argparse.Namespace, parts: list[Part]) -> tuple[Part, ...]:
    """The parts measured now, among those that the file has of earlier measurements."""
    if not arguments.names or not arguments.json.exists():
        return tuple(parts)
    found = {part.name: part for part in msgspec.json.decode(arguments.json.read_bytes(), type=Results).parts}
    found |= {part.name: part for part in parts}
    return tuple(found[name] for name in FILES if name in found)


def _write(file: Path, results: Results) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n")


def _measured(name: str, size: SizeName) -> Part:
    command = [sys.executable, "-m", "benchmarks.perf", "--part", name, "--size", size]
    origin = origin_of(name, size)
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as cache:
        # The user's own indexes are neither used nor added to.
        environment = os.environ | {"SNELLEN_CACHE": cache}
        # Users' commands find Python's bytecode of earlier ones.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return msgspec.structs.replace(msgspec.json.decode(done.stdout, type=Part), origin=origin)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perf", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FILES)}")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--page", action="store_true", help="only write docs/performance.md, from the JSON files")
    parser.add_argument("--part", choices=FILES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(FILES))
    if unknown:
        parser.error(f"no measurement {unknown[0]!r}; expected {', '.join(FILES)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
