"""What one setting brings: runs that differ in it alone, sample by sample.

Several images against one (MMT-Bench Fig. 3a-h), ways of showing a region (Fig. 3i), pictures
against none (Table A13), English against Chinese (MMBench Fig. 7): all are runs of one model on
one benchmark that differ in a single recorded parameter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from snellen.core.errors import UsageError
from snellen.core.record import Unscored
from snellen.core.run import RunInfo
from snellen.core.summary import Interval
from snellen.stats.paired import mcnemar, paired_mean
from snellen.store.runs import RunFolder

ABSENT = "none"
"""What a parameter is called that a run does not have, e.g. no control."""
WITH_DATA = frozenset({"lang", "images", "split"})
"""Parameters with which the data file changes too."""


class _Seen(Struct, frozen=True, gc=False):
    id: str
    score: float | None = None
    unscored: Unscored | None = None
    gold: tuple[str, ...] = ()
    groups: dict[str, str] = {}
    unit: str = ""


class Gain(NamedTuple):
    """`value` less `base` over the samples that both scored, in points of 100."""

    model: str
    base: str
    value: str
    group: str
    """Empty: over all samples."""
    base_score: float
    value_score: float
    difference: float
    interval: Interval | None
    p: float
    """McNemar's mid-p over questions right in one setting alone."""
    n: int


class Gains(NamedTuple):
    parameter: str
    gains: tuple[Gain, ...]
    notices: tuple[str, ...]


def gains(runs: Sequence[RunFolder], parameter: str, group: str = "", base: str = "") -> Gains:
    """Every setting of `parameter` against the first one, or against `base`, model by model; by
    `group` too where one is named.

    Raises UsageError where no two runs differ in the parameter alone.
    """
    sets: dict[tuple[object, ...], list[RunFolder]] = defaultdict(list)
    for run in runs:
        sets[_alike(run.info, parameter)].append(run)
    found: list[Gain] = []
    notices: list[str] = []
    for members in sets.values():
        settings = {setting(run.info, parameter): run for run in members}
        if len(settings) < 2:
            continue
        first = base or (ABSENT if ABSENT in settings else next(iter(settings)))
        if first not in settings:
            notices.append(f"{members[0].info.model}: no run with {parameter}={first}")
            continue
        tables = {name: _scored(run) for name, run in settings.items()}
        for name in settings:
            if name != first:
                made, told = _compared(tables[first], tables[name], group)
                model = members[0].info.model
                found += [one._replace(model=model, base=first, value=name) for one in made]
                notices += [f"{model}, {parameter}={name}: {one}" for one in told]
    if not found:
        raise UsageError(
            f"no two of the {len(runs)} runs differ in {parameter!r} alone; give runs of one model "
            f"and benchmark with different settings of it"
        )
    return Gains(parameter, tuple(found), tuple(notices))


def setting(info: RunInfo, parameter: str) -> str:
    return info.config.parameters.get(parameter, ABSENT)


def _alike(info: RunInfo, parameter: str) -> tuple[object, ...]:
    config = info.config
    others = tuple(sorted((k, v) for k, v in config.parameters.items() if k != parameter))
    data = "" if parameter in WITH_DATA else config.data
    return info.model, config.benchmark, config.version, others, data


def _scored(run: RunFolder) -> dict[str, _Seen]:
    return {one.id: one for one in run.read_as(_Seen) if one.score is not None}


def _compared(
    first: Mapping[str, _Seen], second: Mapping[str, _Seen], group: str
) -> tuple[list[Gain], list[str]]:
    both = [name for name in first if name in second]
    shared = [name for name in both if first[name].gold == second[name].gold]
    told = []
    if len(shared) < len(both):
        told.append(f"{len(both) - len(shared)} samples have another gold answer, left out")
    if len(both) < max(len(first), len(second)):
        told.append(f"{max(len(first), len(second)) - len(both)} samples were scored in one alone")
    if not shared:
        return [], [*told, "no sample was scored in both"]
    parts = {"": shared}
    if group:
        for name in shared:
            parts.setdefault(first[name].groups.get(group, "-"), []).append(name)
    return [_gain(label, first, second, names) for label, names in parts.items()], told


def _gain(
    label: str, first: Mapping[str, _Seen], second: Mapping[str, _Seen], names: Sequence[str]
) -> Gain:
    import numpy as np

    one = np.array([first[name].score for name in names], dtype=np.float64)
    other = np.array([second[name].score for name in names], dtype=np.float64)
    units = _numbered(first[name].unit or name for name in names)
    mean = paired_mean(other - one, np.array(units, dtype=np.int64))
    spread = mean.interval
    return Gain(
        "", "", "", label,
        100 * float(one.mean()), 100 * float(other.mean()), 100 * mean.value,
        Interval(100 * spread.low, 100 * spread.high, spread.method, spread.level)
        if spread else None,
        mcnemar(int((one > other).sum()), int((other > one).sum())).mid_p,
        len(names),
    )  # fmt: skip


def _numbered(names: Iterable[str]) -> list[int]:
    known: dict[str, int] = {}
    return [known.setdefault(name, len(known)) for name in names]
