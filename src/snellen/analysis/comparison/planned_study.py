"""Plan a study of two models on a benchmark: samples, repeats and dollars needed to detect a
difference, or to show that there is none of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from snellen.analysis.comparison.alignment import align_runs
from snellen.core.errors import UsageError
from snellen.stats.draws import variance_components
from snellen.stats.paired import detectable_difference, paired_mean, required_samples
from snellen.stats.power import design_effect_of_sizes, discordance_of_means, min_margin, required_samples_no_worse
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

ASSUMED_CORRELATION = 0.2
"""Correlation of the differences of two models on questions about one image, if it was not
measured."""
_REPEATS = (1, 2, 4, 8)
"""Numbers of repeats to plan for if the variance between draws is known."""


class Aims(Struct, frozen=True, kw_only=True):
    """The aims of a study, and what is known beforehand. Differences in points of 100."""

    detect: float | None = None
    """The difference to detect."""
    no_worse: float | None = None
    """The margin for non-inferiority and equivalence."""
    power: float = 0.8
    level: float = 0.95
    discordance: float | None = None
    """Fraction of samples on which the two models differ; for partial scores the mean square."""
    correlation: float | None = None
    """Of the differences within a cluster."""
    draw_share: float | None = None
    """Fraction of the discordance that comes from sampling replies, which repeats reduce."""


class Spread(NamedTuple):
    """How two models differ from sample to sample: mean squares of the differences between
    questions and between single draws of their replies (None if unknown), and the design effect of
    the clusters (None if unknown)."""

    questions: float
    draws: float | None
    design: float | None
    notes: tuple[str, ...]

    def discordance(self, repeats: int) -> float:
        if self.draws is None:
            return self.questions
        return discordance_of_means(self.questions, self.draws, repeats)


class BenchmarkSize(NamedTuple):
    """A benchmark's samples, and the requests and dollars to ask both models once about all of them
    (None if unknown)."""

    sizes: tuple[int, ...]
    """Samples of each cluster."""
    requests: float | None = None
    dollars: float | None = None

    @property
    def samples(self) -> int:
        return sum(self.sizes)


class Need(Struct, frozen=True):
    """The cost of one aim. `requests` and `dollars` are for both models; None if unknown."""

    aim: str
    points: float
    repeats: int
    samples: int
    is_sufficient: bool | None = msgspec.field(name="enough")
    """Whether the benchmark has that many samples; None if it is not known."""
    requests: float | None
    dollars: float | None


class StudyPlan(Struct, frozen=True, kw_only=True):
    """A planned study."""

    benchmark: str
    models: tuple[str, str]
    samples: int | None
    clusters: int | None
    power: float
    level: float
    discordance: float
    design: float
    needs: tuple[Need, ...]
    detectable: float | None
    """The smallest difference, in points, that all samples detect; None if they detect none, or if
    their number is unknown."""
    margin: float | None
    """The smallest margin within which all samples show that two equally good models are
    equivalent."""
    notices: tuple[str, ...] = msgspec.field(name="said")
    """The assumptions behind the numbers."""


class SampleDraws(Struct, frozen=True, gc=False):
    """The scores of a sample's draws."""

    id: str
    repeats: tuple[DrawScore, ...] = ()


class DrawScore(Struct, frozen=True, gc=False):
    score: float | None = None


def spread_of_runs(runs: Sequence[RunFolder]) -> Spread:
    """Estimate the spread from two finished runs on one benchmark, of any two models. Raises
    UsageError unless there are two runs, of one benchmark, that share a scored sample."""
    if len(runs) != 2 or runs[0].info.benchmark != runs[1].info.benchmark:
        runs_text = ", ".join(f"{run.info.model} on {run.info.benchmark}" for run in runs)
        raise UsageError(f"--runs takes two runs of one benchmark; got {runs_text or 'none'}")
    aligned_runs = align_runs(runs, common=True)
    differences = aligned_runs.scores[:, 1] - aligned_runs.scores[:, 0]
    square = float((differences**2).mean())
    paired = paired_mean(differences, aligned_runs.clusters)
    variance = float(differences.var(ddof=1)) / len(differences) if len(differences) > 1 else 0.0
    design = None
    if aligned_runs.is_clustered and paired.error is not None and variance:
        # Clusters hardly ever decrease the variance; an estimate below 1 is mostly noise.
        design = max(1.0, paired.error**2 / variance)
    names = " and ".join(run.info.model for run in runs)
    n = len(differences)
    notes = [f"the two differ on {100 * square:.1f} % of samples (from {n:,} of {names})"]
    parts = [_draw_variance(run) for run in runs]
    if None in parts:
        return Spread(square, None, design, tuple(notes))
    # Each run answers with the mean of its draws, so the observed mean square contains the variance
    # of a draw divided by the number of draws. Subtracting it leaves what is between questions.
    single = sum(part.draws for part in parts if part)
    expected_draws = sum(part.draws / part.repeats for part in parts if part)
    notes.append(f"{100 * single:.1f} points of it, with one draw each, come from drawing replies")
    return Spread(max(0.0, square - expected_draws), single, design, tuple(notes))


class _DrawVariance(NamedTuple):
    draws: float
    repeats: int


def _draw_variance(run: RunFolder) -> _DrawVariance | None:
    """The variance between the draws of a run; None without repeats."""
    repeats = run.info.config.repeats
    if repeats < 2:
        return None
    scores = [[draw.score for draw in sample.repeats if draw.score is not None] for sample in run.read_as(SampleDraws)]
    variance = variance_components(scores)
    return None if variance is None else _DrawVariance(variance.draws, repeats)


def assumed_spread(aims: Aims, accuracy: float) -> Spread:
    """The spread from the user's assumptions, or from two models that are right independently of
    each other."""
    if aims.discordance is not None:
        square = aims.discordance
        note = f"the two differ on {100 * square:g} % of samples (assumed)"
    else:
        square = 2 * accuracy * (1 - accuracy)
        note = (
            f"the two differ on {100 * square:.0f} % of samples (assumed: as if they were right "
            f"independently of each other, {100 * accuracy:g} % of the time; models mostly differ "
            "on fewer, which two short runs tell: --runs A --runs B)"
        )
    if aims.draw_share is None:
        return Spread(square, None, None, (note,))
    draws = aims.draw_share * square
    draw_note = f"{100 * aims.draw_share:g} % of that come from drawing replies (assumed)"
    return Spread(square - draws, draws, None, (note, draw_note))


def plan_study(
    benchmark: str,
    models: tuple[str, str],
    aims: Aims,
    spread: Spread,
    size: BenchmarkSize | None,
    repeats: int = 1,
    *,
    is_mean: bool = True,
) -> StudyPlan:
    """Plan what the aims need. `size` is None if the data is not available; `is_mean` says whether
    the benchmark's headline is the mean of its samples' scores, which the plan assumes."""
    design, design_notes = _design(aims, spread, size)
    times = sorted({repeats, *_REPEATS}) if spread.draws is not None else [repeats]
    needs = tuple(
        _with_costs(need, size) for each in times for need in _needs(aims, spread.discordance(each), design, each)
    )
    square = spread.discordance(repeats)
    min_detectable = margin = None
    if size is not None:
        min_detectable = detectable_difference(square, size.samples / design, level=aims.level, power=aims.power)
        margin = min_margin(square, size.samples / design, level=aims.level, power=aims.power)
    notes = [*spread.notes, *design_notes, *_notices(benchmark, spread, repeats, is_mean)]
    return StudyPlan(
        benchmark=benchmark,
        models=models,
        samples=None if size is None else size.samples,
        clusters=None if size is None else len(size.sizes),
        power=aims.power,
        level=aims.level,
        discordance=square,
        design=design,
        needs=needs,
        detectable=None if min_detectable is None else 100 * min_detectable,
        margin=None if margin is None else 100 * margin,
        notices=tuple(notes),
    )


def _notices(benchmark: str, spread: Spread, repeats: int, is_mean: bool) -> Iterator[str]:
    if not is_mean:
        yield (
            f"the headline of {benchmark} is no mean over samples: these numbers are about the "
            "mean of the samples' scores"
        )
    if spread.draws is None and repeats > 1:
        yield (
            f"what {repeats} repeats are worth is not known, so that they count as one: name two "
            "runs with --repeats by --runs, or --assume draw_share=SHARE"
        )


def _design(aims: Aims, spread: Spread, size: BenchmarkSize | None) -> tuple[float, list[str]]:
    """The design effect of the clusters, and a note on where it comes from."""
    if spread.design is not None and aims.correlation is None:
        worth = f"{spread.design:.2f} samples in clusters tell as much as one alone (measured)"
        return spread.design, [worth]
    if size is None:
        return 1.0, ["the data are not here: samples count as independent"]
    if len(size.sizes) == size.samples:
        return 1.0, []
    rho, origin = aims.correlation, "--assume correlation"
    if rho is None:
        rho, origin = ASSUMED_CORRELATION, "assumed; --assume correlation=R"
    design = design_effect_of_sizes(size.sizes, rho)
    return design, [
        f"{size.samples:,} samples lie in {len(size.sizes):,} clusters; with a correlation of "
        f"{rho:g} within them ({origin}) {design:.2f} tell as much as one alone"
    ]


def _needs(aims: Aims, square: float, design: float, repeats: int) -> Iterator[Need]:
    """Samples needed for each aim; no costs yet."""
    settings = {"level": aims.level, "power": aims.power, "design": design}
    if aims.detect is not None:
        samples = required_samples(aims.detect / 100, max(square, aims.detect / 100), **settings)
        if samples is not None:
            yield Need("difference", aims.detect, repeats, samples, None, None, None)
    if aims.no_worse is not None:
        margin = aims.no_worse / 100
        for aim, both in (("no worse", False), ("alike", True)):
            samples = required_samples_no_worse(margin, square, both=both, **settings)
            yield Need(aim, aims.no_worse, repeats, samples, None, None, None)


def _with_costs(need: Need, size: BenchmarkSize | None) -> Need:
    """The need with requests and dollars in proportion to the benchmark."""
    if size is None:
        return need
    times = need.repeats * need.samples / size.samples
    return msgspec.structs.replace(
        need,
        is_sufficient=need.samples <= size.samples,
        requests=None if size.requests is None else times * size.requests,
        dollars=None if size.dollars is None else times * size.dollars,
    )
