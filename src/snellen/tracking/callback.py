"""`SnellenCallback`: the Trainer of transformers evaluates the model it trains on benchmarks."""

from __future__ import annotations

import math
import random
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Unpack

from snellen.api.evaluation import evaluate
from snellen.api.options import RunOptionChanges, RunOptions, as_list, change_options, check_options
from snellen.core.arrays import np
from snellen.core.benchmark import Benchmark
from snellen.core.errors import MissingExtra, SnellenError, UsageError
from snellen.engine.loop.run import RunInterrupted
from snellen.models.naming.wrapping import wrap_model
from snellen.store.runs import RunFolder
from snellen.tracking.curve import Curve, CurvePoint, CurveWriter, keep_points
from snellen.tracking.recording import add_runs, curve_benchmarks, curve_head
from snellen.tracking.trackers import Tracker, open_tracker

try:
    from transformers import TrainerCallback
except ImportError:
    raise MissingExtra("SnellenCallback", "hf", "transformers") from None

PREFIX = "snellen/"
"""Prefix of the logged names: `snellen/eyechart`, and with `_low` and `_high` its interval."""
_EVAL = "eval_"
"""The Trainer's own prefix, which `metric_for_best_model` is looked up with."""
_OUT = "snellen"

When = Literal["evaluate", "save"] | int


class SnellenCallback(TrainerCallback):  # type: ignore[misc]
    """Evaluates the model in memory while it is trained, and logs `snellen/BENCHMARK`.

        trainer = Trainer(..., callbacks=[SnellenCallback("eyechart", limit=200)])

    The scores are among the Trainer's evaluation metrics: `metric_for_best_model=
    "snellen/eyechart"` chooses the best checkpoint by them. The runs, their curve (`curve.html`)
    and what it says are kept in the folder `snellen` of the Trainer's `output_dir`.

    Training goes on exactly as without it: weights, gradients, modes and random numbers are left
    as they are. In a distributed training the main process evaluates, and the others wait.
    """

    def __init__(
        self,
        benchmarks: Sequence[str | Benchmark] | str,
        *,
        when: When = "evaluate",
        processor: Any = None,
        options: RunOptions | None = None,
        batch_size: int = 8,
        group: str | None = None,
        tracks: Sequence[str] = (),
        trainer: Any = None,
        stop_on_regression: bool = False,
        **changes: Unpack[RunOptionChanges],
    ) -> None:
        """`when`: at each evaluation or save of the Trainer, or at an interval in steps; only at
        evaluations can a score choose the best checkpoint.

        `processor`: of the model; by default the Trainer's `processing_class`. `batch_size`: how
        many requests at once; the optimizer holds most of the memory. `options` and `changes` are
        as in `evaluate`, by default with `out` in the Trainer's folder. `group` and `tracks` are
        as in `WatchOptions`. With the `trainer`, scores go through its `log` to whatever it reports
        to. Raises UsageError for impossible options.
        """
        if when not in ("evaluate", "save") and (not isinstance(when, int) or when < 1):
            raise UsageError(f"when is {when!r}; expected 'evaluate', 'save' or a number of steps")
        self.options = change_options(options or RunOptions(), changes)
        check_options(self.options)
        if self.options.until is not None:
            raise UsageError("checkpoints are compared on the same samples; leave out `until`")
        self.benchmarks = as_list(benchmarks)
        self.when = when
        self.processor = processor
        self.batch_size = batch_size
        self.group = group
        self.tracks = tracks
        self.trainer = trainer
        self.stop_on_regression = stop_on_regression
        self.curve: Curve | None = None
        """The points so far; on the main process alone."""
        # Replies are stored under this name: weights of another training are never taken for these.
        self._training = secrets.token_hex(8)
        self._trackers: list[Tracker] = []
        self._evaluated: dict[int, dict[str, float]] = {}
        self._names: tuple[str, ...] = ()
        self._is_training = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Raises UsageError for a model or benchmark that cannot be evaluated."""
        _check_whole(args, objects.get("model"))
        self._find_processor(objects)
        self._prepare(args)
        self._is_training = True
        if not state.is_world_process_zero:
            return
        never = _reason_to_never_evaluate(self.when, args, state)
        if never:
            _warn(never)
        keep_points(Path(self.options.out), int(state.global_step))
        name = Path(args.output_dir).resolve().name
        self._trackers = [open_tracker(spec, name) for spec in self.tracks]

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **objects: Any) -> None:
        if self.when != "evaluate":
            return
        self._prepare(args)
        scores = self._scores(state, control, objects)
        if metrics is not None:
            # The same dictionary in which the Trainer looks up the best metric. A score that is
            # missing is never the best one.
            expected = {f"{PREFIX}{name}": math.nan for name in self._names}
            metrics.update({f"{_EVAL}{name}": v for name, v in {**expected, **scores}.items()})

    def on_save(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        if self.when == "save":
            self._scores(state, control, objects)

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        if isinstance(self.when, int) and state.global_step % self.when == 0:
            self._scores(state, control, objects)

    def on_train_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        for tracker in self._trackers:
            tracker.close()
        self._trackers = []
        self._is_training = False
        # The weights may now be those of another step (`load_best_model_at_end`).
        self._evaluated.clear()

    def _prepare(self, args: Any) -> None:
        """Resolve the names of the benchmarks and the folder of the runs, once."""
        if self._names:
            return
        if self.options.out == RunOptions().out:
            self.options = change_options(self.options, {"out": Path(args.output_dir) / _OUT})
        self._names = curve_benchmarks(self.benchmarks, self.options)

    def _scores(self, state: Any, control: Any, objects: dict[str, Any]) -> dict[str, float]:
        """The scores of this step by name, on every process; the first call of a step logs them."""
        step = int(state.global_step)
        if self._is_training and step in self._evaluated:
            return self._evaluated[step]
        scores: dict[str, float] = {}
        regressed = False
        if state.is_world_process_zero:
            scores, regressed = self._evaluate(state, objects)
        scores, regressed = _from_main_process((scores, regressed))
        self._evaluated[step] = scores
        self._log(state, scores)
        if regressed and self.stop_on_regression:
            control.should_training_stop = True
        return scores

    def _evaluate(self, state: Any, objects: dict[str, Any]) -> tuple[dict[str, float], bool]:
        """Scores of the model as it is, and whether it is a regression; on the main process.

        Any error becomes one warning and no score: the training goes on."""
        model, processor = objects["model"], self._find_processor(objects)
        step = int(state.global_step)
        # Outside of training, weights belong to no step: a random identity never matches stored
        # replies.
        training = self._training if self._is_training else secrets.token_hex(8)
        try:
            with _keep_random_states():
                wrapped = wrap_model(
                    model,
                    name=f"step-{step}",
                    processor=processor,
                    revision=f"training {training}, step {step}",
                    batch_size=self.batch_size,
                    sharing="off",  # its cache would take the memory of the next training step
                )
                results = evaluate([wrapped], self.benchmarks, self.options)
            for skipped in results.skipped:
                _warn(f"step {step}: {skipped.reason}")
            if not self._is_training:
                return _named_scores(results.runs), False
            points = self._record(step, results.runs, state.epoch)
        except RunInterrupted:
            raise KeyboardInterrupt from None
        except SnellenError as error:
            _warn(f"step {step} was not evaluated: {error}")
            return {}, False
        regressed = any(point.change == "regression" for point in points)
        return _named_scores(results.runs), regressed

    def _record(self, step: int, runs: Sequence[RunFolder], epoch: float | None) -> list[CurvePoint]:
        """Add the runs to the curve, and print what it says."""
        out = Path(self.options.out)
        with CurveWriter(out, curve_head("training", self._names, self.options)) as writer:
            points = add_runs(
                writer, f"step-{step}", step, runs, group=self.group, epoch=epoch, trackers=self._trackers
            )
            self.curve = writer.curve
        for point in points:
            print(point.sentence, file=sys.stderr)
        return points

    def _log(self, state: Any, scores: dict[str, float]) -> None:
        """Add the scores to the Trainer's logs."""
        if not scores:
            return
        if self.trainer is not None:
            self.trainer.log(dict(scores))
            return
        entry = {**scores, "step": state.global_step}
        if state.epoch is not None:
            entry["epoch"] = state.epoch
        state.log_history.append(entry)

    def _find_processor(self, objects: dict[str, Any]) -> Any:
        processor = self.processor or objects.get("processing_class")
        if processor is None:
            raise UsageError(
                "SnellenCallback needs the model's processor: give the Trainer "
                "processing_class=PROCESSOR, or the callback processor=PROCESSOR"
            )
        return processor


def _named_scores(runs: Sequence[RunFolder]) -> dict[str, float]:
    """Scores and ends of their intervals, as they are logged."""
    scores: dict[str, float] = {}
    for run in runs:
        headline, name = run.report().summary.headline, f"{PREFIX}{run.info.benchmark}"
        if headline.value is None or not math.isfinite(headline.value):
            continue
        scores[name] = headline.value
        if headline.interval is not None:
            scores[f"{name}_low"] = headline.interval.low
            scores[f"{name}_high"] = headline.interval.high
    return scores


@contextmanager
def _keep_random_states() -> Iterator[None]:
    """Restore, at the end of the block, the generators of random numbers of Python, numpy, and
    torch on every device of CUDA."""
    import torch

    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        if cuda:
            torch.cuda.set_rng_state_all(cuda)


def _from_main_process(value: Any) -> Any:
    """The value of the main process, on every process of a distributed training."""
    import torch.distributed as distributed

    if not distributed.is_available() or not distributed.is_initialized():
        return value
    values = [value]
    distributed.broadcast_object_list(values, src=0)
    return values[0]


def _check_whole(args: Any, model: Any) -> None:
    """Raises UsageError if no process has all weights, so that none can generate alone."""
    from transformers.integrations import is_deepspeed_zero3_enabled

    sharded = ""
    if is_deepspeed_zero3_enabled():
        sharded = "DeepSpeed ZeRO-3"
    elif getattr(args, "fsdp", None):
        sharded = "FSDP"
    if sharded:
        raise UsageError(
            f"the weights are sharded by {sharded}, and SnellenCallback needs them whole; save "
            "whole checkpoints, and evaluate them with `snellen watch`"
        )
    if not hasattr(model, "generate"):
        raise UsageError(f"{type(model).__name__} cannot generate, so no benchmark can ask it")


def _reason_to_never_evaluate(when: When, args: Any, state: Any) -> str:
    """Why the settings of the training give this callback nothing to do; empty if they do not."""
    if when == "evaluate" and args.eval_strategy == "no":
        remedy = 'set eval_strategy="steps" or "epoch" in TrainingArguments, or when="save"'
        return f'eval_strategy is "no", so the Trainer never evaluates, nor does this: {remedy}'
    if when == "save" and args.save_strategy == "no":
        remedy = 'set save_strategy="steps" or "epoch" in TrainingArguments, or when=STEPS'
        return f'save_strategy is "no", so the Trainer never saves and this never evaluates: {remedy}'
    if isinstance(when, int) and when > state.max_steps:
        return f"when is {when} and the training has {state.max_steps} steps: this never evaluates"
    return ""


def _warn(text: str) -> None:
    print(f"snellen: {text}", file=sys.stderr)
