"""A curve: the scores of a model's checkpoints over training steps, as the lines of `curve.jsonl`.

The first line is the head, every other one a point (a checkpoint on a benchmark) or a checkpoint
that could not be evaluated, with the reason. Lines are only ever added.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from filelock import FileLock, Timeout
from msgspec import Struct

from snellen.core.atomic_write import save
from snellen.core.errors import DataError, RunLocked, StorageError, UsageError, storage_errors
from snellen.core.output import Outcome
from snellen.core.summary import Metric

CURVE_FILE = "curve.jsonl"
LOCK_FILE = ".curve.lock"

Change = Literal["first", "better", "regression", "unclear", "no score"]
"""What the comparisons of a point say; `unclear` is no evidence of change."""


class StepDifference(Struct, frozen=True, omit_defaults=True, gc=False):
    """A point minus the point of an earlier step, over the samples that both scored, in points."""

    step: int
    """The earlier step."""
    difference: float
    level: float
    """Confidence of this interval. The levels of all pairs are such that all intervals of a curve,
    and of the other curves of the same command, hold at once with 95 % (`stats.alpha_spending`)."""
    low: float | None = None
    high: float | None = None
    n: int = 0
    changed: int = 0
    """Samples whose scores differ."""
    reason: str = ""
    """Why there is no interval."""

    @property
    def is_better(self) -> bool:
        """Whether the later point is better beyond chance."""
        return self.low is not None and self.low > 0

    @property
    def is_worse(self) -> bool:
        return self.high is not None and self.high < 0


class CurveHead(Struct, frozen=True, tag_field="kind", tag="curve"):
    """What all points of a curve have in common. Points of other settings would not be comparable,
    and so need another folder."""

    checkpoints: str
    """Where the checkpoints appear, as typed."""
    benchmarks: tuple[str, ...]
    settings: dict[str, str]
    """Options that change what is asked or how it is scored, where they are not the default."""


class CurvePoint(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="point"):
    """A checkpoint on a benchmark."""

    checkpoint: str
    step: int
    benchmark: str
    headline: Metric
    change: Change
    sentence: str
    run: str
    """Name of the run folder, next to the curve."""
    at: str
    """When it was added: UTC, ISO 8601."""
    total: int = 0
    """Samples of the run."""
    outcomes: dict[Outcome, int] = {}
    groups: dict[str, Metric] = {}
    """The headline of each label of the chosen grouping."""
    differences: tuple[StepDifference, ...] = ()
    """From each earlier step that was on the curve when the point was added."""
    epoch: float | None = None
    stamp: str = ""
    """Sizes and times of the checkpoint's weight files, by which another one of its name is
    noticed."""

    @property
    def score(self) -> float | None:
        return self.headline.value


class SkippedCheckpoint(Struct, frozen=True, tag_field="kind", tag="skipped"):
    """A checkpoint that could not be evaluated."""

    checkpoint: str
    reason: str
    at: str


CurveLine = CurveHead | CurvePoint | SkippedCheckpoint
_decoder = msgspec.json.Decoder(CurveLine)
_encode = msgspec.json.Encoder().encode


def now() -> str:
    """The time of a line: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Curve(Struct):
    """The lines of a curve, in the order in which they were added."""

    head: CurveHead
    points: list[CurvePoint] = []
    skipped: list[SkippedCheckpoint] = []

    def of(self, benchmark: str) -> list[CurvePoint]:
        """The points of a benchmark, by step."""
        chosen = [point for point in self.points if point.benchmark == benchmark]
        return sorted(chosen, key=lambda point: point.step)

    @property
    def benchmarks(self) -> list[str]:
        """Benchmarks with points, in the order of the first ones."""
        return list(dict.fromkeys(point.benchmark for point in self.points))

    def is_evaluated(self, checkpoint: str, benchmarks: Sequence[str] | int) -> bool:
        """Whether a checkpoint has a point on each of `benchmarks`, or on that many."""
        count = benchmarks if isinstance(benchmarks, int) else len(benchmarks)
        return sum(point.checkpoint == checkpoint for point in self.points) >= count

    def latest(self) -> list[CurvePoint]:
        """The points of the checkpoint that was added last."""
        if not self.points:
            return []
        name = self.points[-1].checkpoint
        return [point for point in self.points if point.checkpoint == name]


class CurveWriter:
    """The only writer of the curve of a folder, which it locks; a context manager.

    Raises RunLocked if another process has the lock, UsageError if the folder holds a curve of
    other checkpoints or settings, and StorageError if it cannot be written.
    """

    def __init__(self, out: Path, head: CurveHead) -> None:
        self.path = out / CURVE_FILE
        self._lock = FileLock(out / LOCK_FILE)
        try:
            out.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunLocked(f"another process is adding to {self.path}; wait for it, or use another --out") from None
        except OSError as error:
            raise StorageError(f"cannot write to {out}: {error.strerror or error}") from error
        try:
            self.curve = self._recover(head)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> CurveWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def add(self, line: CurvePoint | SkippedCheckpoint) -> None:
        """Append a point, or a checkpoint that was skipped."""
        self._append(line)
        if isinstance(line, CurvePoint):
            self.curve.points.append(line)
        else:
            self.curve.skipped.append(line)

    def _recover(self, head: CurveHead) -> Curve:
        """Read the curve of an earlier start; an incomplete last line is cut off."""
        if not self.path.exists():
            self._append(head)
            return Curve(head)
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
        if not whole:
            self._append(head)
            return Curve(head)
        curve = parse_curve(whole, self.path)
        if not curve.points and not curve.skipped:
            # Nothing was evaluated with the settings of that head.
            self.path.unlink()
            self._append(head)
            return Curve(head)
        _check_same(curve.head, head, self.path)
        return curve

    def _append(self, line: CurveLine) -> None:
        with storage_errors("write", self.path):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, _encode(line) + b"\n")
            finally:
                os.close(descriptor)


def keep_points(out: Path, last_step: int) -> None:
    """Continue the curve in a training that begins at `last_step`: later points, of an earlier or
    stopped training, are dropped. The old file is kept as `curve-1.jsonl`, or with the next free
    number. Does nothing without a curve. Raises StorageError and DataError."""
    path = out / CURVE_FILE
    if not path.exists():
        return
    curve = read_curve(out)
    kept = [point for point in curve.points if point.step <= last_step]
    if len(kept) == len(curve.points):
        return
    number = 1
    while (old := out / f"curve-{number}.jsonl").exists():
        number += 1
    with storage_errors("write to", out):
        path.rename(old)
    if kept:
        save(path, b"".join(_encode(line) + b"\n" for line in (curve.head, *kept)))


def read_curve(out: Path | str) -> Curve:
    """The curve of a folder; may be read while it grows. Raises UsageError if there is none."""
    path = Path(out) / CURVE_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{out} has no {CURVE_FILE}; `snellen watch` writes one") from None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    return parse_curve(content[: content.rfind(b"\n") + 1], path)


def parse_curve(content: bytes, path: Path) -> Curve:
    """The curve in the lines of a file. Raises DataError."""
    curve: Curve | None = None
    for number, text in enumerate(content.splitlines(), 1):
        try:
            line = _decoder.decode(text)
        except msgspec.DecodeError as error:
            raise DataError(
                f"line {number} of {path} is not what Snellen writes there: {error}; move the file "
                "away and start again: the replies are in the store"
            ) from error
        if isinstance(line, CurveHead):
            curve = Curve(line)
        elif curve is None:
            raise DataError(f"{path} does not begin with the head of a curve; move it away")
        elif isinstance(line, CurvePoint):
            curve.points.append(line)
        else:
            curve.skipped.append(line)
    if curve is None:
        raise DataError(f"{path} is empty; move it away")
    return curve


def _check_same(old: CurveHead, new: CurveHead, path: Path) -> None:
    """Raises UsageError if the points of both heads would not be comparable."""
    differing = [
        f"{name} {before or 'none'} there, {after or 'none'} here"
        for name, before, after in (
            ("checkpoints", old.checkpoints, new.checkpoints),
            ("benchmarks", " ".join(old.benchmarks), " ".join(new.benchmarks)),
            *(
                (key, old.settings.get(key, ""), new.settings.get(key, ""))
                for key in sorted({**old.settings, **new.settings})
            ),
        )
        if before != after
    ]
    if differing:
        raise UsageError(
            f"{path} is a curve of other settings ({'; '.join(differing)}), and its points would "
            "not be comparable with new ones; use another --out"
        )
