"""Multi-modal leakage: what a model knows of a benchmark without its images and its language model
does not.

L. Chen et al., "Are We on the Right Way for Evaluating Large Vision-Language Models?" (2024,
https://arxiv.org/abs/2403.20330): the multi-modal leakage introduced with MMStar is max(0, S_wv -
S_t), where S_wv is the score of a model without images, and S_t that of the language model it was
trained from. The multi-modal gain is in `analysis.causes.gains`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from snellen.analysis.causes.gains import BLIND, CONTROL
from snellen.analysis.comparison.alignment import align_runs
from snellen.analysis.comparison.groups import in_points
from snellen.core.errors import UsageError
from snellen.core.summary import Interval
from snellen.stats.paired import paired_mean
from snellen.store.runs import RunFolder


class Leakage(Struct, frozen=True):
    """How far a model without images exceeds the language model it was trained from: what it may
    have seen of the benchmark in training. In percent."""

    model: str
    language_model: str
    benchmark: str
    without: float
    """S_wv."""
    language: float
    """S_t."""
    leakage: float
    interval: Interval | None
    """Of the difference; clipped at 0 as the leakage is."""
    n: int


def leakages(runs: Sequence[RunFolder], language_model: RunFolder) -> list[Leakage]:
    """The leakage of every run without images among `runs`. `language_model` is a run of the
    language model on the same samples, also without images.

    Raises UsageError if the language model's run used images, and as `align_runs` does.
    """
    control = language_model.info.config.parameters.get(CONTROL)
    capabilities = language_model.info.capabilities
    sees = capabilities is None or "image" in capabilities.inputs
    if control != BLIND and sees:
        raise UsageError(
            f"{language_model.name}: the run of the language model uses images; make it with --control blind"
        )
    return [
        _leakage(run, language_model)
        for run in runs
        if run.info.config.parameters.get(CONTROL) == BLIND
        and run.info.benchmark == language_model.info.benchmark
        and run.path != language_model.path
    ]


def _leakage(run: RunFolder, language_model: RunFolder) -> Leakage:
    aligned_runs = align_runs([run, language_model], common=True)
    mean = paired_mean(aligned_runs.scores[:, 0] - aligned_runs.scores[:, 1], aligned_runs.clusters)
    interval = in_points(mean.interval)
    if interval is not None:
        low, high = max(0.0, interval.low), max(0.0, interval.high)
        interval = msgspec.structs.replace(interval, low=low, high=high)
    without, language = (100 * aligned_runs.scores.mean(axis=0)).tolist()
    return Leakage(
        model=run.info.model,
        language_model=language_model.info.model,
        benchmark=run.info.benchmark,
        without=without,
        language=language,
        leakage=max(0.0, 100 * mean.mean),
        interval=interval,
        n=len(aligned_runs.samples),
    )
