"""What a score owes to the pictures, to the order of options, to thinking and to examples: runs
that differ in one such thing, compared sample by sample.

Multi-modal gain and leakage: L. Chen et al., "Are We on the Right Way for Evaluating Large
Vision-Language Models?" (2024, https://arxiv.org/abs/2403.20330), the two metrics introduced with
MMStar: gain = S_v - S_wv and leakage = max(0, S_wv - S_t), where S_v and S_wv are the scores of a
model with and without the pictures, and S_t that of the language model it was made from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.analysis.aligned import Aligned, aligned
from snellen.analysis.composite import composite
from snellen.benchmarks.questions import clustered_interval
from snellen.core.errors import UsageError
from snellen.core.run import RunInfo
from snellen.core.summary import Interval, Unit
from snellen.stats.paired import paired_mean
from snellen.store.runs import RunFolder, find_runs

Kind = Literal["control", "cot", "shots"]

BLIND = "blind"
_FACTORS: tuple[Kind, ...] = ("control", "cot", "shots")
_ALONGSIDE = frozenset({"cot_digest", "shots_seed"})
"""Parameters that come with a factor."""


class Share(Struct, frozen=True):
    """In percent."""

    value: float
    interval: Interval | None
    n: int


class Gain(Struct, frozen=True):
    """Two runs of one model on the same samples that differ in one factor alone.

    `gain` is the first score less the second for a control, and the second less the first for
    thinking (`cot=on`) and examples (`shots=5`): what the thing that is there is worth.
    """

    model: str
    benchmark: str
    kind: Kind
    factor: str
    """`blind`, `blur:5`, ..., `cot=on`, `shots=5`."""
    metric: str
    unit: Unit
    score: float
    """Without the factor."""
    other: float
    """With it."""
    gain: float
    interval: Interval | None
    n: int
    folder: str
    other_folder: str
    answerable: Share | None = None
    """Under `blind`: samples that are answered right from the text alone."""
    answerable_of_right: Share | None = None
    """The same among the samples that are right with the pictures."""


class Leakage(Struct, frozen=True):
    """How far a model without pictures goes beyond the language model it was made from: what it
    may have seen of the benchmark in training."""

    model: str
    language_model: str
    benchmark: str
    without: float
    """S_wv."""
    language: float
    """S_t."""
    leakage: float
    interval: Interval | None
    """Of the difference; its ends are cut at 0 as the leakage is."""
    n: int


class _Factors(NamedTuple):
    base: bytes
    """Everything else that makes a run."""
    chosen: dict[Kind, str]


def gains(runs: Sequence[RunFolder], of: Collection[str] | None = None) -> list[Gain]:
    """Every pair of these runs that differ in a control, in thinking or in examples alone; `of`
    names the folders one of which has to be in a pair. Raises UsageError as `aligned` does."""
    groups: dict[bytes, list[tuple[RunFolder, dict[Kind, str]]]] = defaultdict(list)
    for run in runs:
        base, chosen = _factors(run.info)
        groups[base].append((run, chosen))
    return [
        _gain(plain, changed, kind)
        for members in groups.values()
        for plain, one in members
        for changed, other in members
        for kind in _FACTORS
        if kind in other and one == {key: told for key, told in other.items() if key != kind}
        if of is None or plain.name in of or changed.name in of
    ]


def gains_beside(runs: Sequence[RunFolder]) -> list[Gain]:
    """The gains of these runs over, and of, those that lie in the same folders. None where a
    neighbour cannot be read: the runs' own numbers do not depend on it."""
    found = []
    for parent in dict.fromkeys(run.path.resolve().parent for run in runs):
        names = {run.name for run in runs if run.path.resolve().parent == parent}
        with suppress(UsageError):
            found += gains(find_runs(parent), names)
    return found


def leakages(runs: Sequence[RunFolder], language_model: RunFolder) -> list[Leakage]:
    """The leakage of every run without pictures among these. `language_model` is a run of the
    language model on the same samples; it sees no pictures either.

    Raises UsageError where it did see some, and as `aligned` does.
    """
    control = language_model.info.config.parameters.get("control")
    capabilities = language_model.info.capabilities
    sees = capabilities is None or "image" in capabilities.inputs
    if control != BLIND and sees:
        raise UsageError(
            f"{language_model.name}: the run of the language model shows pictures; make it with "
            "--control blind"
        )
    return [
        _leakage(run, language_model)
        for run in runs
        if run.info.config.parameters.get("control") == BLIND
        and run.info.benchmark == language_model.info.benchmark
        and run.path != language_model.path
    ]


def _factors(info: RunInfo) -> _Factors:
    parameters = info.config.parameters
    chosen: dict[Kind, str] = {kind: parameters[kind] for kind in _FACTORS if kind in parameters}
    rest = {
        name: value
        for name, value in parameters.items()
        if name not in _FACTORS and name not in _ALONGSIDE
    }
    # Thinking allows longer replies.
    base = msgspec.structs.replace(info.config, parameters=rest, max_new_tokens=0)
    return _Factors(msgspec.json.encode(base, order="sorted"), chosen)


def _gain(plain: RunFolder, changed: RunFolder, kind: Kind) -> Gain:
    together = aligned([plain, changed], common=True)
    scores, clusters = together.scores, together.clusters
    sign = 1 if kind == "control" else -1
    measure = composite(together)
    if measure is None:
        mean = paired_mean(sign * (scores[:, 0] - scores[:, 1]), clusters)
        first, second = (100 * scores.mean(axis=0)).tolist()
        gain, interval = 100 * mean.value, _percent(mean.interval)
    else:
        first, second = measure.values()
        pair = (1, 0) if kind == "control" else (0, 1)
        drawn = measure.difference(*pair, f"gain {plain.info.benchmark}", 0.95)
        gain, interval = drawn.value, drawn.interval
    factor = changed.info.config.parameters[kind]
    without_pictures = kind == "control" and factor == BLIND
    return Gain(
        model=plain.info.model,
        benchmark=plain.info.benchmark,
        kind=kind,
        factor=factor if kind == "control" else f"{kind}={factor}",
        metric=measure.name if measure else plain.info.headline,
        unit=measure.unit if measure else "percent",
        score=first,
        other=second,
        gain=gain,
        interval=interval,
        n=len(together.samples),
        folder=plain.name,
        other_folder=changed.name,
        answerable=_right_without(together) if without_pictures else None,
        answerable_of_right=_right_without(together, seen=True) if without_pictures else None,
    )


def _right_without(together: Aligned, *, seen: bool = False) -> Share | None:
    """Samples that the second run has right, of all or of those that the first has right."""
    rows = [at for at in range(len(together.samples)) if not seen or together.scores[at, 0] == 1.0]
    if not rows:
        return None
    right = [float(together.scores[at, 1] == 1.0) for at in rows]
    interval = clustered_interval(right, [together.samples[at].unit for at in rows])
    return Share(100 * sum(right) / len(right), _percent(interval), len(right))


def _leakage(run: RunFolder, language_model: RunFolder) -> Leakage:
    together = aligned([run, language_model], common=True)
    mean = paired_mean(together.scores[:, 0] - together.scores[:, 1], together.clusters)
    interval = _percent(mean.interval)
    if interval is not None:
        low, high = max(0.0, interval.low), max(0.0, interval.high)
        interval = msgspec.structs.replace(interval, low=low, high=high)
    without, language = (100 * together.scores.mean(axis=0)).tolist()
    return Leakage(
        model=run.info.model,
        language_model=language_model.info.model,
        benchmark=run.info.benchmark,
        without=without,
        language=language,
        leakage=max(0.0, 100 * mean.value),
        interval=interval,
        n=len(together.samples),
    )


def _percent(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(100 * interval.low, 100 * interval.high, interval.method, interval.level)


def told(gain: Gain) -> Iterator[str]:
    """What a gain says beside its number, as clauses."""
    if gain.answerable is not None:
        yield f"{gain.answerable.value:.1f} % answered right from the text alone"
    if gain.answerable_of_right is not None:
        yield f"{gain.answerable_of_right.value:.1f} % of those right with the pictures"
