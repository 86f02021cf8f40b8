"""The store at size: how each of its operations grows from one size to the next."""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.perf.figures import Figure, Part, Size, figure
from benchmarks.perf.made_store import key, model, outputs, put_replies, replies_of, write_store
from benchmarks.perf.samples_file import write_samples

from snellen.core.output import Output
from snellen.store.merging import merge_stores
from snellen.store.responses import BRIEF, STORE_FILE, ResponseStore, StoreBusy, connect

METHOD = (
    "Stores are made by a generator, with the rows that a run writes, on pages as a compaction leaves them. Look-ups "
    "are of replies drawn at random, in processor time, once their pages are in memory; cold ones in wall time, after"
    " the system was told to drop the file from memory. A start is a command of its own over 50 questions whose "
    "replies are all stored, in a new folder. Insertions are committed one by one. A pause is the mean of the ten "
    "longest insertions, in wall time, beside that of the ten longest of as many lines appended to a file, both as a "
    "run does them: without waiting for another process for more than 20 ms at once. The shard that is merged has "
    "20,000 replies. A long reader is one that reads while the insertions go on. Ratios are to the smallest store "
    "unless they name another."
)
LOOKUP_BAR, START_BAR, MERGE_BAR = 2.0, 1.25, 3.0
"""Times what it takes at the smallest size."""
PAUSE_BAR = 10.0
"""Times the pause of a plain file."""
LOG_BAR = 70.0
"""Megabytes of the log once no reader holds it."""
_LOOKUPS, _COLD, _INSERTIONS, _SHARD, _QUESTIONS = 2_000, 300, 10_000, 20_000, 50
_TEN = 10


class _Made(NamedTuple):
    path: Path
    gigabytes: float
    replies: int

    @property
    def name(self) -> str:
        return f"{self.gigabytes:g} GB"

    @property
    def log_megabytes(self) -> float:
        return self.path.with_name(self.path.name + "-wal").stat().st_size / 1e6


Series = dict[str, list[float]]
"""Values by the name of a store."""


def measure(size: Size) -> Part:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        stores = [_make(Path(folder, f"{number}"), gigabytes) for number, gigabytes in enumerate(size.stores)]
        figures = (*_reading(stores, size), *_writing(stores, size), *_merging(stores), *_compacting(stores[0]))
    largest = stores[-1]
    title = f"A store of {largest.replies:,} replies, {largest.name}"
    return Part("store-size", title, METHOD, figures)


def _make(folder: Path, gigabytes: float) -> _Made:
    folder.mkdir()
    made = _Made(folder / STORE_FILE, gigabytes, replies_of(gigabytes * 1e9))
    write_store(made.path, made.replies)
    return made


def _grown(name: str, unit: str, found: Series, bar: float | None = None) -> Iterator[Figure]:
    """A figure for each size; the larger ones beside the smallest."""
    first, *others = found
    yield figure(f"{name}, {first}", unit, found[first])
    for one in others:
        reference = f"{name}, {first}"
        yield figure(f"{name}, {one}", unit, found[one], reference=reference, against=found[first], ratio_bar=bar)


def _reading(stores: Sequence[_Made], size: Size) -> Iterator[Figure]:
    hit: Series = {made.name: [] for made in stores}
    miss: Series = {made.name: [] for made in stores}
    cold: Series = {made.name: [] for made in stores}
    opened: Series = {made.name: [] for made in stores}
    start: Series = {made.name: [] for made in stores}
    for repeat in range(size.repeats):
        for made in stores:
            draw = random.Random(repeat)
            numbers = [draw.randrange(made.replies) for _ in range(_LOOKUPS)]
            _drop_from_memory(made.path)
            began = time.process_time()
            with ResponseStore(made.path) as store:
                opened[made.name].append(1e3 * (time.process_time() - began))
                get = store.get
                cold[made.name].append(1e3 * statistics.median(_waits(get, made, numbers[:_COLD])))
                for into, other in ((hit, 0), (miss, 1)):
                    keys = [key(number, made.replies, other) for number in numbers]
                    for found in map(get, keys):
                        assert (found is None) == bool(other)
                    into[made.name].append(1e6 * _cpu(lambda keys=keys, get=get: list(map(get, keys))) / _LOOKUPS)  # type: ignore[misc]
            start[made.name].append(_start_seconds(made, repeat))
    yield from _grown("look-up of a stored reply", "µs", hit, LOOKUP_BAR)
    yield from _grown("look-up of a reply that is not there", "µs", miss, LOOKUP_BAR)
    yield from _grown("cold look-up", "ms", cold)
    yield from _grown("opening", "ms", opened)
    yield from _grown("start of a run whose replies are stored", "s", start, START_BAR)


def _waits(get: Callable[[bytes], Output | None], made: _Made, numbers: Sequence[int]) -> Iterator[float]:
    for number in numbers:
        began = time.perf_counter()
        get(key(number, made.replies))
        yield time.perf_counter() - began


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _drop_from_memory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def _start_seconds(made: _Made, repeat: int) -> float:
    """Processor time of a run that finds every reply; the first time one asks them."""
    folder = made.path.parent
    if not repeat:
        write_samples(folder, _QUESTIONS)
        _run(folder, "first")
    return _run(folder, f"again-{repeat}")


def _run(folder: Path, out: str) -> float:
    data, where = str(folder / f"q{_QUESTIONS}.tsv"), str(folder / out)
    words = ["run", "-m", "random", "-b", data, "--no-html", "-q", "--out", where, "--store", str(folder / STORE_FILE)]
    process = subprocess.Popen([sys.executable, "-m", "snellen", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return usage.ru_utime + usage.ru_stime


def _writing(stores: Sequence[_Made], size: Size) -> Iterator[Figure]:
    cost: Series = {made.name: [] for made in stores}
    pauses: Series = {made.name: [] for made in stores}
    beside: Series = {made.name: [] for made in stores}
    plain: list[float] = []
    plain_beside: list[float] = []
    for _ in range(size.repeats):
        plain.append(_plain_pause(stores[0].path.parent))
        for made in stores:
            waits, cpu = _insert(made.path)
            cost[made.name].append(1e6 * cpu / len(waits))
            pauses[made.name].append(_pause(waits))
    for _ in range(size.repeats):
        for made in stores:
            with _Compacting(made.path):
                if made is stores[0]:
                    plain_beside.append(_plain_pause(made.path.parent))
                waits, _ = _insert(made.path)
            beside[made.name].append(_pause(waits))
    yield from _grown("insertion with its commit", "µs", cost)
    yield figure("pause of a plain file", "ms", plain)
    for name, values in pauses.items():
        reference = "pause of a plain file"
        yield figure(f"pause, {name}", "ms", values, reference=reference, against=plain, ratio_bar=PAUSE_BAR)
    reference = "pause of a plain file beside a compaction"
    yield figure(reference, "ms", plain_beside)
    for name, values in beside.items():
        named = f"pause beside a compaction, {name}"
        yield figure(named, "ms", values, reference=reference, against=plain_beside, ratio_bar=PAUSE_BAR)
    yield from _long_reader(stores[0])


class _Compacting:
    """A compaction in a process of its own, which is killed at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        words = [sys.executable, "-m", "snellen", "doctor", str(self._path), "--compact"]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        time.sleep(2.0)

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def _insert(path: Path, count: int = _INSERTIONS) -> tuple[list[float], float]:
    """Insert replies under new keys as a run does; for how long each call kept the caller, and the processor time."""
    replies, waits = outputs(), []
    with ResponseStore(path) as store:
        number = store.model_key(model(0))
        began = time.process_time()
        for at in range(count):
            digest = os.urandom(32)
            while True:
                start = time.perf_counter()
                try:
                    store.put(digest, replies[at % len(replies)], number, wait=BRIEF)
                    waits.append(time.perf_counter() - start)
                    break
                except StoreBusy:
                    waits.append(time.perf_counter() - start)
                    time.sleep(BRIEF)
        return waits, time.process_time() - began


def _plain_pause(folder: Path) -> float:
    waits, line = [], os.urandom(4_000)
    with (folder / "plain").open("wb", buffering=0) as file:
        for _ in range(_INSERTIONS):
            start = time.perf_counter()
            file.write(line)
            waits.append(time.perf_counter() - start)
    return _pause(waits)


def _pause(waits: Sequence[float]) -> float:
    """Mean of the longest, in ms."""
    return 1e3 * statistics.mean(sorted(waits)[-_TEN:])


def _long_reader(made: _Made) -> Iterator[Figure]:
    reader = connect(made.path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM responses LIMIT 1").fetchone()
    _insert(made.path)
    held = made.log_megabytes
    reader.execute("COMMIT")
    reader.close()
    with ResponseStore(made.path):
        # Another keeps the log from being deleted when the last one closes.
        _insert(made.path)
        _insert(made.path, 2_000)
        after = made.log_megabytes
    yield figure(f"log after {_INSERTIONS:,} insertions beside a long reader", "MB", [held])
    yield figure("log after the reader has gone", "MB", [after], bar=LOG_BAR)


def _merging(stores: Sequence[_Made]) -> Iterator[Figure]:
    taken: Series = {}
    draw = random.Random(3)
    count = replies_of(1e12)
    for made in stores:
        shard = made.path.with_name("shard.sqlite")
        put_replies(shard, [draw.randrange(count) for _ in range(_SHARD)], count)
        cpu = _cpu(lambda shard=shard, made=made: merge_stores([shard], made.path))  # type: ignore[misc]
        taken[made.name] = [1e6 * cpu / _SHARD]
    yield from _grown("merging, a reply of a shard", "µs", taken, MERGE_BAR)


def _compacting(made: _Made) -> Iterator[Figure]:
    """Half of the replies are deleted; then the store is compacted."""
    from snellen.store.compaction import compact

    with ResponseStore(made.path) as store:
        before = len(store)
    connection = connect(made.path)
    connection.execute("DELETE FROM responses WHERE checksum % 2 = 0")
    (left,) = connection.execute("SELECT count(*) FROM responses").fetchone()
    connection.close()
    size = made.path.stat().st_size
    cpu = _cpu(lambda: compact(made.path))
    with ResponseStore(made.path) as store:
        assert len(store) == left < before
    yield figure(f"compaction, a reply, {made.name}", "µs", [1e6 * cpu / left])
    yield figure(
        f"file after half of the replies were deleted, of {size / 1e6:,.0f} MB",
        "MB",
        [made.path.stat().st_size / 1e6],
        bar=size * left / before / 1e6 * 1.2,
    )
