"""Runs of one benchmark, aligned sample by sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from snellen.core.answer import Outcome
from snellen.core.errors import UsageError
from snellen.core.record import Unscored
from snellen.core.run import RunInfo
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_SHOWN = 3


class Seen(Struct, frozen=True, gc=False):
    """What a comparison needs of a record."""

    id: str
    question: str
    outcome: Outcome
    score: float | None = None
    unscored: Unscored | None = None
    gold: tuple[str, ...] = ()
    options: dict[str, str] = {}
    groups: dict[str, str] = {}
    unit: str = ""

    def counted(self, failures: str) -> float | None:
        """The score it counts with under a run's rule for failures, as in `scoring.accuracy`."""
        if self.unscored in ("failed", "missing") and failures == "count-wrong":
            return 0.0 if self.gold else None
        return self.score

    def asks_as(self, other: Seen) -> bool:
        """Whether both are the same question with the same answers."""
        return (
            self.question == other.question
            and self.gold == other.gold
            and self.options == other.options
        )


class Aligned(NamedTuple):
    """Samples that every run scored, in the order of the first.

    `scores` (samples, runs) holds scores in 0..1, `clusters` the number of each sample's unit.
    """

    infos: tuple[RunInfo, ...]
    samples: tuple[Seen, ...]
    scores: NDArray[float64]
    clusters: NDArray[int64]
    notices: tuple[str, ...]
    unscored: int
    """Samples of all runs that some run did not score."""

    @property
    def clustered(self) -> bool:
        """Whether some samples belong together."""
        return len(self.samples) > int(self.clusters.max(initial=-1)) + 1


def aligned(runs: Sequence[RunFolder], *, common: bool = False) -> Aligned:
    """Align runs of one benchmark by sample id.

    Raises UsageError for runs on different data or different samples, unless only the `common`
    samples are asked for: those of the same id, question, options and gold answer. Also where
    nothing is left to compare.
    """
    import numpy as np

    infos = tuple(run.info for run in runs)
    tables = [{one.id: one for one in run.read_as(Seen)} for run in runs]
    shared, notices = _shared(runs, tables, common)
    kept, scores = [], []
    for name in shared:
        row = [
            table[name].counted(info.failures) for table, info in zip(tables, infos, strict=True)
        ]
        if all(value is not None for value in row):
            kept.append(tables[0][name])
            scores.append(row)
    if not kept:
        raise UsageError(
            f"{', '.join(run.name for run in runs)}: no sample was scored in all of them, so there "
            "is nothing to compare"
        )
    return Aligned(
        infos,
        tuple(kept),
        np.asarray(scores, dtype=np.float64),
        np.asarray(_numbered(kept), dtype=np.int64),
        (*notices, *_unlike(infos)),
        len(shared) - len(kept),
    )


def _shared(
    runs: Sequence[RunFolder], tables: Sequence[Mapping[str, Seen]], common: bool
) -> tuple[list[str], list[str]]:
    """Ids that all runs have, and what was left out."""
    first, *others = tables
    shared = [name for name in first if all(name in other for other in others)]
    same_data = len({run.info.data.digest for run in runs}) == 1
    if not same_data and not common:
        told = ", ".join(f"{run.name} on {run.info.data.digest[:8]}" for run in runs[:_SHOWN])
        raise UsageError(
            f"the runs were made on different data ({told}); compare the samples they share with "
            "--common, or run one of them again"
        )
    everything = len(set().union(*tables))
    if len(shared) < everything and not common:
        sizes = ", ".join(
            f"{run.name} has {len(table)}" for run, table in zip(runs, tables, strict=True)
        )
        raise UsageError(
            f"the runs hold different samples ({sizes}; {len(shared)} are in all of them); compare "
            "those with --common, or finish the runs"
        )
    asked = shared
    if not same_data:
        asked = [
            name for name in shared if all(first[name].asks_as(other[name]) for other in others)
        ]
    left_out = everything - len(asked)
    notices = []
    if left_out:
        notices.append(
            f"{len(asked)} of {everything} samples are compared: the others are not in all runs"
            + ("" if same_data else ", or not the same question")
        )
    return asked, notices


def _unlike(infos: Sequence[RunInfo]) -> list[str]:
    """What, beside the model, was not the same: scores may not mean the same then."""
    found = []
    versions = sorted({info.config.version for info in infos})
    if len(versions) > 1:
        found.append(f"versions of the benchmark differ: {', '.join(versions)}")
    keys = sorted({key for info in infos for key in info.config.parameters})
    for key in keys:
        values = list(dict.fromkeys(info.config.parameters.get(key, "–") for info in infos))
        if len(values) > 1:
            found.append(f"the runs were made with different {key}: {', '.join(values)}")
    if len({info.failures for info in infos}) > 1:
        found.append("failures count differently in these runs")
    return found


def _numbered(samples: Sequence[Seen]) -> list[int]:
    """The number of each sample's unit; one without a unit is its own."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(one.unit or f"\0{one.id}", len(numbers)) for one in samples]
