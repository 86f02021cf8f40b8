"""`watch`: evaluate the checkpoints of a training run as they appear, and keep their curve."""

from __future__ import annotations

import gc
import shlex
import shutil
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

from snellen.api.evaluation import evaluate
from snellen.api.options import RunOptionChanges, RunOptions, as_list, change_options, check_options
from snellen.api.results import Results
from snellen.core.benchmark import Benchmark, FetchProgress
from snellen.core.errors import MissingExtra, RunLocked, StorageError, UnknownName, UsageError
from snellen.engine.loop.progress import Progress
from snellen.engine.servers.process import Notify
from snellen.tracking.checkpoints import CHANGING, CheckpointFolder, CheckpointScan
from snellen.tracking.curve import Curve, CurvePoint, CurveWriter, SkippedCheckpoint, now
from snellen.tracking.recording import add_runs, curve_benchmarks, curve_head
from snellen.tracking.sources import KEPT_FOLDER, CheckpointSource, open_source
from snellen.tracking.trackers import Tracker, open_trackers

MAX_ATTEMPTS = 3
"""Attempts to evaluate a checkpoint."""
_SETTLE_SECONDS = 1.0
"""Pause before a second look at files that may still be written, if there is no time to wait."""
_LOG = "watch-errors.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How long to wait for checkpoints, and what to do about a regression."""

    every: float = 30.0
    """Seconds between two scans for new checkpoints."""
    once: bool = False
    """Evaluate what is there, then end."""
    until_file: Path | str | None = None
    """End when this file exists, after the checkpoints that are there by then."""
    seconds: float | None = None
    """End after this many seconds; an evaluation in progress is finished."""
    base: str | None = None
    """The model the checkpoints were trained from: its tokenizer and processor where they have
    none, and the model below LoRA adapters."""
    group: str | None = None
    """A grouping, such as `category`, whose scores are kept too."""
    tracks: Sequence[str] = ()
    """Trackers by name, e.g. `tensorboard:logs`."""
    fail_on_regression: bool = False
    """End at the first regression."""
    on_regression: str | None = None
    """A command to run after each regression, split as a shell does but run without one; {step},
    {checkpoint}, {benchmark} and {sentence} are filled in."""


@dataclass(slots=True)
class WatchMessages:
    """Callbacks of `watch`; all are optional."""

    point: Callable[[CurvePoint], object] = field(default=lambda point: None)
    """A new point."""
    note: Notify = field(default=lambda line: None)
    """A sentence about a checkpoint that is skipped or waited for, or a tracker that failed."""
    progress: Progress | None = None
    fetching: FetchProgress | None = None
    warned: Notify | None = None
    serving: Notify | None = None


def watch(
    checkpoints: str | Path,
    benchmarks: Sequence[str | Benchmark] | str,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    watching: WatchOptions = WatchOptions(),
    *,
    command: str = "",
    messages: WatchMessages | None = None,
    **changes: Unpack[RunOptionChanges],
) -> Curve:
    """Evaluate checkpoints as they appear, in the order of their steps; returns their curve.

    `checkpoints` is a folder, a pattern with `*`, or the URL of a server whose list of models
    grows, with model options after a colon as in `evaluate`. `changes` are fields of `options`.
    What an earlier call evaluated is not evaluated again. A checkpoint that cannot be evaluated is
    a line of the curve with the reason, and tried `MAX_ATTEMPTS` times.

    Raises UsageError subclasses for what concerns all checkpoints, and `RunInterrupted` or
    KeyboardInterrupt on Ctrl-C.
    """
    options = change_options(options, changes)
    names = _check(benchmarks, options, watching)
    source = open_source(str(checkpoints), options, watching.base)
    head = curve_head(str(checkpoints), names, options, watching.base or "")
    messages = messages or WatchMessages()
    out = Path(options.out)
    with (
        open_trackers(watching.tracks, out.resolve().name, messages.note) as trackers,
        CurveWriter(out, head) as writer,
    ):
        session = _WatchSession(source, as_list(benchmarks), options, watching, command, messages, writer, trackers)
        session.run()
        return writer.curve


def _check(benchmarks: Sequence[str | Benchmark] | str, options: RunOptions, watching: WatchOptions) -> tuple[str, ...]:
    """The names of the benchmarks. Raises UsageError for what would fail for every checkpoint."""
    check_options(options)
    if options.until is not None:
        raise UsageError(
            "checkpoints are compared on the same samples, and --until would stop each after "
            "others; leave it out, and choose their number with --limit"
        )
    if len(options.extractors) > 1:
        raise UsageError("a curve has one run of each checkpoint; give a single --extractor")
    if watching.every <= 0:
        raise UsageError(f"--every is {watching.every:g}; expected seconds above 0")
    return curve_benchmarks(as_list(benchmarks), options)


@dataclass(slots=True)
class _WatchSession:
    """One call of `watch`."""

    source: CheckpointSource
    benchmarks: Sequence[str | Benchmark]
    options: RunOptions
    watching: WatchOptions
    command: str
    messages: WatchMessages
    writer: CurveWriter
    trackers: Sequence[Tracker]
    _noted: dict[str, str] = field(default_factory=dict)
    """The last sentence about each checkpoint that was not taken."""
    _seen: set[str] = field(default_factory=set)
    """Checkpoints that a scan found and that have no point yet."""

    def run(self) -> None:
        """Look, evaluate and wait until the end that the options name."""
        started = time.monotonic()
        has_settled = False
        # Left by a killed process: the lock shows that no other process uses it.
        shutil.rmtree(self.writer.path.parent / KEPT_FOLDER, ignore_errors=True)
        while True:
            stops = self.watching.once or self._stop_file_exists()
            scan = self.source.scan()
            self._note_waiting(scan)
            if not stops:
                self._note_none(scan)
            due = self._due(scan)
            if due:
                has_settled = False
                if not self._evaluate(due[0]):
                    return
                if self._is_over(started):
                    return
                continue
            self._note_deleted(scan)
            if self._is_over(started):
                return
            if stops:
                if not scan.may_change or has_settled:
                    self._check_any(scan)
                    return
                # Files that were copied a moment ago look like files being written: look again.
                has_settled = True
                time.sleep(_SETTLE_SECONDS)
                continue
            has_settled = False
            self._sleep(started)

    def _due(self, scan: CheckpointScan) -> list[CheckpointFolder]:
        """Complete checkpoints without a point that may be tried (again), by step."""
        attempts = Counter(line.checkpoint for line in self.writer.curve.skipped)
        count = len(self.writer.curve.head.benchmarks)
        return [
            checkpoint
            for checkpoint in scan.ready
            if not self.writer.curve.is_evaluated(checkpoint.name, count) and attempts[checkpoint.name] < MAX_ATTEMPTS
        ]

    def _evaluate(self, checkpoint: CheckpointFolder) -> bool:
        """Evaluate a checkpoint and add its points; returns whether to go on."""
        try:
            results = self._ask(checkpoint)
        except (StorageError, RunLocked, MissingExtra, UnknownName):
            raise  # not the checkpoint's fault: the next one would fail as well
        except UsageError as error:
            self._skip(checkpoint, str(error))
            return True
        except Exception as error:  # noqa: BLE001 - foreign code reads foreign files
            self._log(checkpoint)
            first = (str(error).strip().splitlines() or [""])[0]
            self._skip(checkpoint, f"{type(error).__name__}: {first} (more in {_LOG})")
            return True
        for skipped in results.skipped:
            self._skip(checkpoint, skipped.reason)
        ended = [run for run in results.runs if run.info.status in ("complete", "incomplete")]
        for run in results.runs:
            if run not in ended:
                self._skip(checkpoint, run.info.stopped or f"the run was {run.info.status}")
        for lost in results.lost:
            self.messages.note(str(lost))
        points = add_runs(
            self.writer,
            checkpoint.name,
            checkpoint.step,
            ended,
            group=self.watching.group,
            epoch=checkpoint.epoch,
            stamp=checkpoint.stamp,
            trackers=self.trackers,
        )
        self._seen.discard(checkpoint.name)
        for point in points:
            self.messages.point(point)
        regressions = [point for point in points if point.change == "regression"]
        for point in regressions:
            self._call_hook(point)
        return not (regressions and self.watching.fail_on_regression)

    def _ask(self, checkpoint: CheckpointFolder) -> Results:
        try:
            with self.source.open(checkpoint) as model:
                return evaluate(
                    [model],
                    self.benchmarks,
                    self.options,
                    command=self.command,
                    progress=self.messages.progress,
                    fetching=self.messages.fetching,
                    warned=self.messages.warned if not self.writer.curve.points else None,
                    serving=self.messages.serving,
                )
        finally:
            _free_memory()

    def _skip(self, checkpoint: CheckpointFolder, reason: str) -> None:
        self.writer.add(SkippedCheckpoint(checkpoint.name, reason, now()))
        tries = sum(line.checkpoint == checkpoint.name for line in self.writer.curve.skipped)
        again = "" if tries >= MAX_ATTEMPTS else "; it is tried again"
        self.messages.note(f"{checkpoint.name} was not evaluated: {reason}{again}")
        if not again:
            self._seen.discard(checkpoint.name)

    def _note_waiting(self, scan: CheckpointScan) -> None:
        """Say once why checkpoints are not taken."""
        evaluated = {point.checkpoint: point.stamp for point in self.writer.curve.points}
        for checkpoint in scan.ready:
            stamp = evaluated.get(checkpoint.name, checkpoint.stamp)
            if stamp != checkpoint.stamp and self._noted.get(checkpoint.name) != checkpoint.stamp:
                self._noted[checkpoint.name] = checkpoint.stamp
                self.messages.note(
                    f"{checkpoint.name} has been written again since it was evaluated; if this is "
                    "another training, evaluate it into another --out"
                )
        self._seen |= {checkpoint.name for checkpoint in scan.ready} - evaluated.keys()
        for name, reason in scan.waiting.items():
            if name in evaluated or reason == CHANGING or self._noted.get(name) == reason:
                continue
            self._noted[name] = reason
            self.messages.note(f"{name} is not evaluated yet: {reason}")

    def _note_none(self, scan: CheckpointScan) -> None:
        """Say once that nothing is there to evaluate yet."""
        curve = self.writer.curve
        if scan.ready or scan.waiting or curve.points or self._noted:
            return
        sentence = (
            f"no checkpoint is in {curve.head.checkpoints} yet; looking again every "
            f"{self.watching.every:g} s for folders such as checkpoint-500"
        )
        self._noted[curve.head.checkpoints] = sentence
        self.messages.note(sentence)

    def _note_deleted(self, scan: CheckpointScan) -> None:
        """Record complete checkpoints that were deleted before their turn came."""
        if not scan.ready and not scan.waiting and not self._seen:
            return
        there = {checkpoint.name for checkpoint in scan.ready} | set(scan.waiting)
        for name in sorted(self._seen - there):
            reason = "it was deleted before it could be evaluated (save_total_limit?)"
            self.writer.add(SkippedCheckpoint(name, reason, now()))
            self.messages.note(f"{name} was not evaluated: {reason}")
            self._seen.discard(name)

    def _check_any(self, scan: CheckpointScan) -> None:
        """Raises UsageError if there was nothing to evaluate, now or before."""
        curve = self.writer.curve
        if curve.points or curve.skipped:
            return
        reasons = "; ".join(f"{name}: {reason}" for name, reason in scan.waiting.items())
        raise UsageError(
            f"no checkpoint is in {curve.head.checkpoints}"
            + (f" yet ({reasons})" if reasons else "")
            + "; expected folders such as checkpoint-500 with config.json and weights"
        )

    def _call_hook(self, point: CurvePoint) -> None:
        """Run the command for a regression. Its failure is a note."""
        if self.watching.on_regression is None:
            return
        values = {
            "{step}": str(point.step),
            "{checkpoint}": point.checkpoint,
            "{benchmark}": point.benchmark,
            "{sentence}": point.sentence,
        }
        words = []
        for word in shlex.split(self.watching.on_regression):
            for name, value in values.items():
                word = word.replace(name, value)
            words.append(word)
        try:
            code = subprocess.run(words, check=False).returncode
        except OSError as error:
            self.messages.note(f"--on-regression: {words[0]}: {error.strerror or error}")
            return
        if code:
            self.messages.note(f"--on-regression: {words[0]} ended with {code}")

    def _log(self, checkpoint: CheckpointFolder) -> None:
        with (self.writer.path.parent / _LOG).open("a", encoding="utf-8") as file:
            file.write(f"{now()} {checkpoint.path}\n{traceback.format_exc()}\n")

    def _stop_file_exists(self) -> bool:
        return self.watching.until_file is not None and Path(self.watching.until_file).exists()

    def _is_over(self, started: float) -> bool:
        return self.watching.seconds is not None and time.monotonic() - started >= self.watching.seconds

    def _sleep(self, started: float) -> None:
        """Wait for the next look; a stop file or the end of the time ends the wait."""
        end = time.monotonic() + self.watching.every
        while (left := end - time.monotonic()) > 0:
            if self._stop_file_exists() or self._is_over(started):
                return
            time.sleep(min(left, 1.0))


def _free_memory() -> None:
    """Give back the memory of a model that is no longer needed, also that of the GPU."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
