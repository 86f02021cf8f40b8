"""The gain of one setting: two runs of one model that differ in it only, sample by sample.

Images against none (MMT-Bench Table A13; the multi-modal gain S_v - S_wv of L. Chen et al., "Are We
on the Right Way for Evaluating Large Vision-Language Models?", 2024,
https://arxiv.org/abs/2403.20330), thinking, examples, several images against one (MMT-Bench Fig.
3a-h), ways of marking a region (Fig. 3i), Chinese against English (MMBench Fig. 7): one rule.

The multi-modal leakage introduced with MMStar (the same paper) is max(0, S_wv - S_t), where S_wv is the score of a
model without images, and S_t that of the language model it was trained from: what the model knows of a benchmark
without its images and its language model does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.analysis.comparison.alignment import AlignedRuns, ComparableRecord, align_runs
from snellen.analysis.comparison.groups import in_points
from snellen.analysis.comparison.headlines import headlines
from snellen.core.arrays import Floats, Ints
from snellen.core.errors import UsageError
from snellen.core.grouping import group_by
from snellen.core.run import RunInfo
from snellen.core.summary import Interval, Unit
from snellen.stats.intervals import score_interval
from snellen.stats.paired import holm_of_tested, paired_mean
from snellen.store.runs import RunFolder

CONTROL = "control"
BLIND = "blind"
IMAGES = "images"
NATIVE = "native"
ABSENT = "none"
"""The value of a setting that a run does not have, e.g. no control."""
FACTORS = (CONTROL, "cot", "shots")
"""Settings searched by default: they have a plain run to compare with."""
DATA_SETTINGS = frozenset({"lang", IMAGES, "split"})
"""Settings with which the data file, and the wording of its questions, change too."""
_COMPANION_PARAMETERS = {"cot": {"cot_digest"}, "shots": {"shots_seed", "shots_from"}}
"""Further parameters that change together with a setting."""


class Percentage(Struct, frozen=True):
    """A fraction in percent."""

    value: float
    interval: Interval | None
    n: int


class Gain(Struct, frozen=True):
    """Two runs of one model that differ in one setting only, over the samples both scored.

    `gain` is the benefit of what the setting adds: the base minus the other run for a control,
    which removes something; the other run minus the base for every other setting.
    """

    model: str
    benchmark: str
    setting: str
    """The name of the parameter: `control`, `cot`, `shots`, `images`, ..."""
    base: str
    """Its value in the base run; `none` if that run does not have it."""
    value: str
    group: str
    """Empty: over all samples."""
    metric: str
    unit: Unit
    base_score: float
    score: float
    gain: float
    interval: Interval | None
    """Paired, and clustered by unit (`stats.paired.paired_mean`); for a headline that is not a mean
    over samples, by its own test (`stats.paired_statistics`)."""
    p: float | None
    """For no difference; None with too few clusters."""
    n: int
    left_out: int
    """Samples that only one run scored, or that were not the same question."""
    base_folder: str
    folder: str
    p_holm: float | None = None
    """Adjusted by Holm for the gains of the same list that have a p."""
    answerable: Percentage | None = None
    """Under `blind`: samples answered right from the text only."""
    answerable_of_right: Percentage | None = None
    """The same among the samples that are right with images."""


class _SettingRun(NamedTuple):
    """A run, and its value of the setting in question."""

    value: str
    run: RunFolder


class _Numbers(NamedTuple):
    base_score: float
    score: float
    gain: float
    interval: Interval | None
    p: float | None
    n: int


def gains(
    runs: Sequence[RunFolder],
    setting: str | None = None,
    *,
    base: str | None = None,
    group: str | None = None,
    folders: Collection[str] | None = None,
) -> list[Gain]:
    """Every pair of these runs that differ in one setting only.

    Without `setting`: in a control, in thinking or in examples, against the run that has none. With
    it: every value against `base`, or against the run that does not have the setting, or else
    against the first value. With `group` also by its labels. `folders` names folders of which each
    pair must contain one. Raises UsageError as `align_runs` does.
    """
    settings = FACTORS if setting is None else (setting,)
    if setting is None:
        base = base or ABSENT
    return adjust_p_values(
        [
            gain
            for name in settings
            for first, other in _pairs(runs, name, base)
            if folders is None or first.run.name in folders or other.run.name in folders
            for gain in _pair_gains(first, other, name, group)
        ]
    )


def adjust_p_values(unadjusted: Sequence[Gain]) -> list[Gain]:
    """The gains with p-values adjusted for their number."""
    adjusted = holm_of_tested([gain.p for gain in unadjusted])
    return [msgspec.structs.replace(gain, p_holm=p) for gain, p in zip(unadjusted, adjusted, strict=True)]


def _pairs(runs: Sequence[RunFolder], setting: str, base: str | None) -> Iterator[tuple[_SettingRun, _SettingRun]]:
    with_values = (_SettingRun(_value_of(run.info, setting), run) for run in runs)
    for members in group_by(with_values, lambda one: _key_without_setting(one.run.info, setting)).values():
        values = [member.value for member in members]
        first = base or (ABSENT if ABSENT in values else values[0])
        for member in members:
            for other in members:
                if member.value == first != other.value:
                    yield member, other


def _value_of(info: RunInfo, setting: str) -> str:
    """A run's value of a setting; `none` if it does not have it.

    How several images are given is decided by the benchmark (`images=stitch`: side by side in one)
    and, where it leaves them apart, by the model (`images=concat-embeddings`, `images=first`).
    """
    value = info.config.parameters.get(setting, ABSENT)
    if setting == IMAGES and value in (ABSENT, NATIVE):
        return info.config.identity.facts.get(IMAGES, value)
    return value


def _key_without_setting(info: RunInfo, setting: str) -> bytes:
    """The settings of a run, without the given setting and its companions."""
    parameters = {
        name: value
        for name, value in info.config.parameters.items()
        if name != setting and name not in _COMPANION_PARAMETERS.get(setting, ())
    }
    data = "" if setting in DATA_SETTINGS else info.config.data
    examples = None if setting == "shots" else info.config.examples
    # The reply limit is not compared: runs with thinking have a higher one.
    identity = info.config.identity
    if setting == IMAGES:
        facts = {name: value for name, value in identity.facts.items() if name != IMAGES}
        identity = msgspec.structs.replace(identity, facts=facts)
    remaining = msgspec.structs.replace(
        info.config, identity=identity, parameters=parameters, data=data, max_new_tokens=0, examples=examples
    )
    return msgspec.json.encode(remaining, order="sorted")


def _pair_gains(first: _SettingRun, other: _SettingRun, setting: str, group: str | None) -> Iterator[Gain]:
    """The gain of a pair of runs over all samples, then by the labels of `group`."""
    same_question = _same_gold if setting in DATA_SETTINGS else ComparableRecord.is_same_question
    aligned_runs = align_runs([first.run, other.run], common=True, same_question=same_question)
    overall = _overall_gain(aligned_runs, first, other, setting)
    yield overall
    if group is None:
        return
    samples = aligned_runs.samples
    having = (index for index, sample in enumerate(samples) if group in sample.groups)
    parts = group_by(having, lambda index: samples[index].groups[group])
    if not parts:
        groupings = sorted({name for sample in samples for name in sample.groups})
        raise UsageError(f"{first.run.name} has no grouping {group!r}; it has {', '.join(groupings) or 'none'}")
    for label, rows in parts.items():
        yield msgspec.structs.replace(
            overall,
            group=label,
            metric=first.run.info.headline,
            unit="percent",
            answerable=None,
            answerable_of_right=None,
            left_out=0,
            **_means(*aligned_runs.part(rows), setting)._asdict(),
        )


def _same_gold(first: ComparableRecord, second: ComparableRecord) -> bool:
    """Whether two samples of one id have the same gold, whatever their wording."""
    return first.gold == second.gold


def _overall_gain(aligned_runs: AlignedRuns, first: _SettingRun, other: _SettingRun, setting: str) -> Gain:
    """The gain over all samples that both runs scored, by the headline."""
    info = first.run.info
    measure = headlines([first.run, other.run], aligned_runs)
    if measure is None:
        numbers = _means(aligned_runs.scores, aligned_runs.clusters, setting)
    else:
        pair = (1, 0) if setting == CONTROL else (0, 1)
        (gain,) = measure.differences([pair], 0.95)
        base_score, score = measure.values
        numbers = _Numbers(base_score, score, gain.mean, gain.interval, gain.p, len(aligned_runs.samples))
    blind = setting == CONTROL and first.value == ABSENT and other.value == BLIND
    return Gain(
        model=info.model,
        benchmark=info.benchmark,
        setting=setting,
        base=first.value,
        value=other.value,
        group="",
        metric=measure.name if measure else info.headline,
        unit=measure.unit if measure else "percent",
        left_out=aligned_runs.unscored_count + aligned_runs.unmatched,
        base_folder=first.run.name,
        folder=other.run.name,
        answerable=_percentage_right(aligned_runs) if blind else None,
        answerable_of_right=_percentage_right(aligned_runs, among_right=True) if blind else None,
        **numbers._asdict(),
    )


def _means(scores: Floats, clusters: Ints, setting: str) -> _Numbers:
    """Means of scores (samples, 2), the base first."""
    sign = -1 if setting == CONTROL else 1
    mean = paired_mean(sign * (scores[:, 1] - scores[:, 0]), clusters)
    base_score, score = (100 * scores.mean(axis=0)).tolist()
    interval = in_points(mean.interval)
    return _Numbers(base_score, score, 100 * mean.mean, interval, mean.p, len(scores))


def _percentage_right(aligned_runs: AlignedRuns, *, among_right: bool = False) -> Percentage | None:
    """Samples that the second run has right, of all or of those that the first has right."""
    rows = [
        index for index in range(len(aligned_runs.samples)) if not among_right or aligned_runs.scores[index, 0] == 1.0
    ]
    if not rows:
        return None
    right = [float(aligned_runs.scores[index, 1] == 1.0) for index in rows]
    interval = score_interval(right, [str(aligned_runs.clusters[index]) for index in rows])
    return Percentage(100 * sum(right) / len(right), in_points(interval), len(right))


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
