"""Memory of a long run against a server, pictures included, as the run goes on.

`python -m benchmarks.perf.remote_memory TSV URL FOLDER` is the run that is watched.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from benchmarks.perf.figures import Part, Size, figure
from benchmarks.perf.remote import cores, server, write_pictures
from msgspec import Struct

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Variant
from snellen.core.run import Status
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.run import run
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore

METHOD = (
    "One run at 256 connections in a process of its own; each request carries a JPEG of about "
    "40 kB, 31 in 100 of which are distinct. The peak resident memory is read when a tenth of "
    "the requests have ended, when all have, and once the run is summed up."
)
WIDTH = 256
LONG = 50_000
BAR = 1.1
"""Peak memory after all requests, over that after the first tenth of them."""


class Peaks(Struct):
    """Peak resident memory in MB."""

    tenth: float = 0.0
    asked: float = 0.0
    ended: float = 0.0


class Watcher:
    """Notes the peaks as a run advances."""

    def __init__(self) -> None:
        self.peaks = Peaks()
        self._needed = 0

    def on_start(self, name: str, total: int, done: int) -> None:
        self._needed = total

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        if done == self._needed // 10:
            self.peaks.tenth = peak_megabytes()
        elif done == self._needed:
            self.peaks.asked = peak_megabytes()

    def on_finish(self, status: Status) -> None:
        """The peaks were noted before."""


def measure(size: Size) -> Part:
    count = size.samples
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder, cores():
        data = Path(folder, "questions.tsv")
        write_pictures(data, count, max(1, 31 * count // 100))
        with server() as url:
            peaks = [peaks_of(data, url, Path(folder, "out"))]
    tenth = f"peak, {count // 10:,} requests"
    against = [one.tenth for one in peaks]
    asked = [one.asked for one in peaks]
    growth = [one.asked / one.tenth for one in peaks]
    figures = (
        figure(tenth, "MB", against),
        figure(f"peak, {count:,} requests", "MB", asked, reference=tenth, against=against),
        # The tenth of a short run does not fill the cache of pictures.
        figure("after all over after a tenth", "×", growth, bar=BAR if count >= LONG else None),
        figure("peak, summed up", "MB", [one.ended for one in peaks]),
    )
    title = f"Memory of a run against a server, {count:,} requests with a picture each"
    return Part("remote-memory", title, METHOD, figures)


def peaks_of(data: Path, url: str, out: Path) -> Peaks:
    command = [sys.executable, "-m", "benchmarks.perf.remote_memory", data, url, out]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(done.stdout, type=Peaks)


def watched(data: str, url: str, out: Path) -> Peaks:
    """The peaks of a run in this process."""
    watcher, name = Watcher(), f"{url}#perf"
    plan = RunPlan(
        model=open_model(f"{name}:concurrency={WIDTH}"),
        model_name=name,
        benchmark=resolve_benchmark(data, Variant(), {}),
        out=out,
        progress=watcher,
    )
    with ResponseStore(out / "store.sqlite") as store:
        counts = run(plan, store).info.counts
    if counts.done != counts.samples:
        raise RuntimeError(str(counts))
    watcher.peaks.ended = peak_megabytes()
    return watcher.peaks


def peak_megabytes() -> float:
    """Of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    data, url, out = sys.argv[1:]
    sys.stdout.buffer.write(msgspec.json.encode(watched(data, url, Path(out))))


if __name__ == "__main__":
    main()
