"""Snellen beside other tools on the same server: `python -m benchmarks.perf.peers`.

Each is installed into an environment of its own under `build/peers`, and asked the questions of
`remote.py` as it comes, and with as many connections as Snellen's widest run has. What was
measured is written to `peers.json`, which the page of figures is written from.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from benchmarks.perf.comparison import BAR, WIDE, WIDTHS, Comparison, Measured, Rates
from benchmarks.perf.machine import this_machine
from benchmarks.perf.remote import Cost, cores, server, snellen, write_pictures
from msgspec import Struct

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Variant

RESULTS = Path(__file__).with_name("peers.json")
BUILD = Path(__file__).parents[2] / "build" / "peers"


class Peer(NamedTuple):
    name: str
    package: str
    more: tuple[str, ...]
    task: str


PEERS = (
    Peer("Inspect", "inspect-ai", ("openai>=2",), "inspect_task.py"),
    Peer("lmms-eval", "lmms-eval", (), "lmms_task.py"),
)


class Took(Struct):
    seconds: float
    cpu: float


def main() -> int:
    """0 when every peer was measured and the bar is met for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of Inspect, lmms-eval")
    parser.add_argument("--count", type=int, default=1000, help="requests of each run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    arguments = parser.parse_args()
    machine = this_machine()
    chosen = [peer for peer in PEERS if not arguments.names or peer.name in arguments.names]
    pythons = {peer.name: installed(peer) for peer in chosen}
    with tempfile.TemporaryDirectory(prefix="snellen-peers-") as folder, cores():
        os.environ["SNELLEN_CACHE"] = folder
        found = compared(chosen, pythons, Path(folder), arguments.count, arguments.repeats)
    result = Comparison(machine, arguments.count, arguments.repeats, *found)
    arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    print("\n".join(lines(result)))
    return 0 if all(one.ratio is not None and one.ratio >= BAR for one in result.peers) else 1


def compared(
    chosen: list[Peer], pythons: dict[str, Path | str], folder: Path, count: int, repeats: int
) -> tuple[dict[int, Rates], tuple[Measured, ...]]:
    data = folder / "questions.tsv"
    write_pictures(data, count)
    benchmark = resolve_benchmark(str(data), Variant(), {})
    benchmark.open()
    ours: dict[int, list[Cost]] = {width: [] for width in WIDTHS}
    taken: dict[str, list[tuple[Cost, Cost]]] = {peer.name: [] for peer in chosen}
    failed = {name: said for name, said in pythons.items() if isinstance(said, str)}
    with server() as url:
        snellen(benchmark, url, 32, folder / "warm", min(count, 200))
        for repeat in range(repeats):
            for width in WIDTHS:
                out = folder / f"{width}-{repeat}"
                ours[width].append(snellen(benchmark, url, width, out, None))
            for peer in chosen:
                if peer.name in failed:
                    continue
                python = pythons[peer.name]
                default = asked(python, peer, data, url, count)
                wide = asked(python, peer, data, url, count, str(WIDE))
                if isinstance(default, Cost) and isinstance(wide, Cost):
                    taken[peer.name].append((default, wide))
                else:
                    failed[peer.name] = next(s for s in (default, wide) if isinstance(s, str))
    rates = [cost.rate for cost in ours[WIDE]]
    measured = tuple(
        Measured(peer.name, peer.package, missing=failed[peer.name])
        if peer.name in failed
        else told(peer, pythons[peer.name], taken[peer.name], rates)
        for peer in chosen
    )
    return {width: medians(costs) for width, costs in ours.items()}, measured


def told(peer: Peer, python: Path | str, taken: list[tuple[Cost, Cost]], rates: list[float]) -> Measured:
    ratio = statistics.median(rate / default.rate for rate, (default, _) in zip(rates, taken, strict=True))
    return Measured(
        peer.name,
        peer.package,
        version_of(python, peer.package),
        medians([default for default, _ in taken]),
        medians([wide for _, wide in taken]),
        round(ratio, 1),
    )


def medians(costs: list[Cost]) -> Rates:
    rate = statistics.median(cost.rate for cost in costs)
    return Rates(round(rate, 1), round(statistics.median(cost.cpu for cost in costs), 3))


def installed(peer: Peer) -> Path | str:
    """The Python of an environment that has the peer, or why there is none."""
    home = BUILD / peer.name.lower()
    python = home / "bin" / "python"
    if (home / "ready").exists():
        return python
    venv.create(home, with_pip=True, clear=True)
    packages = (*peer.more, peer.package)
    done = subprocess.run([python, "-m", "pip", "install", "-q", *packages], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return f"pip install {' '.join(packages)} failed: {' '.join(said)[-300:]}"
    (home / "ready").touch()
    return python


def asked(python: Path | str, peer: Peer, data: Path, url: str, count: int, *connections: str) -> Cost | str:
    """What a run of the peer cost, or how it ended."""
    task = Path(__file__).with_name(peer.task)
    command = [str(python), str(task), str(data), url, str(count), *connections]
    done = subprocess.run(command, cwd=data.parent, capture_output=True, text=True)
    if done.returncode:
        return f"it ended with {done.returncode}: {done.stderr.strip().splitlines()[-1][-300:]}"
    took = msgspec.json.decode(done.stdout.splitlines()[-1], type=Took)
    return Cost(count / took.seconds, 1000 * took.cpu / count)


def version_of(python: Path | str, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def lines(result: Comparison) -> Iterator[str]:
    """For the terminal."""
    for width, ours in result.snellen.items():
        yield line(f"Snellen, {width} connections", ours)
    for one in result.peers:
        if one.default is None or one.wide is None:
            yield f"{one.name}: not measured: {one.missing}"
            continue
        name = f"{one.name} {one.version}"
        yield line(f"{name} as it comes", one.default)
        yield line(f"{name}, {WIDE} connections", one.wide)
        yield f"Snellen, {WIDE} connections: {one.ratio} times as fast as {one.name} as it comes"


def line(name: str, rates: Rates) -> str:
    return f"{name:<36} {rates.rate:8.1f} /s {rates.cpu:8.2f} ms of CPU per request"


if __name__ == "__main__":
    sys.exit(main())
