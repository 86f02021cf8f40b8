"""The numbers of a run: the tool's own of the whole, beside those of its samples."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from snellen.benchmarks.protocol.flows import Circular
from snellen.bridge.flow import Kept
from snellen.bridge.process import PeerFault, PeerLost, Session
from snellen.bridge.protocol import Aggregated
from snellen.core.atomic_write import save
from snellen.core.model import Identity
from snellen.core.record import KEPT, Record
from snellen.core.summary import FailurePolicy, Metric, Summary
from snellen.scoring.accuracy import summarise

_CLOSE = 1e-6
_UNGRADED = "graded by any judge"


class Whole(NamedTuple):
    """Asks the tool for the numbers of a run as a whole, once for the same replies."""

    session: Session
    identity: Identity
    folder: Path
    """Where they are kept."""
    title: str
    """Name of the tool."""
    headline: str
    has_judge: bool
    failures: FailurePolicy
    circular: Circular = "off"

    def summarise(self, records: Sequence[Record]) -> Summary:
        """Mean scores with their intervals; headline and metrics are the tool's own, where it gives
        some."""
        summary = summarise(records, headline=self.headline, failures=self.failures)
        notices = tuple(self._notices(summary, records))
        # What the tool says of a sample has its number of the whole, by the same name.
        of_samples = {name for record in records for name in record.values} - {"vanilla"}
        own = {name: one for name, one in summary.metrics.items() if name not in of_samples}
        own = own if self.circular != "off" else {self.headline: summary.headline}
        summary = structs.replace(summary, notices=notices, metrics=own)
        if not self.has_judge and any(_awaits_judge(one) for one in records):
            # The rest are those that rules could read, which says little about all.
            headline = Metric(self.headline, None, summary.n, note="needs a judge: give one with --judge")
            return structs.replace(summary, headline=headline, metrics={self.headline: headline}, groups={})
        kept = [msgspec.json.decode(one.metadata[KEPT], type=Kept) for one in records if KEPT in one.metadata]
        if not kept:
            return summary
        of_values = [one.values for one in records if KEPT in one.metadata]
        if any(one.values != values for one, values in zip(kept, of_values, strict=True)):
            why = f"questions were asked several times: these are means, and {self.title} gives no number of them"
            return structs.replace(summary, notices=(*summary.notices, why))
        try:
            whole = self.aggregate(kept)
        except (PeerFault, PeerLost) as error:
            why = f"{self.title} gives no numbers of the whole: {error}"
            return structs.replace(summary, notices=(*summary.notices, why))
        scored = list(_score_by_whole(records, whole))
        if scored != list(records):
            summary = summarise(scored, headline=self.headline, failures=self.failures)
            of_whole = (
                f"{self.title} scores these questions together: no sample has a score before the last is answered"
            )
            summary = structs.replace(summary, notices=(*self._notices(summary, scored), of_whole))
        return self._with_whole(summary, whole, len(kept))

    def aggregate(self, kept: Sequence[Kept]) -> Aggregated:
        """The tool's numbers for these samples. Raises PeerFault, PeerLost."""
        given = [
            {
                "index": one.index,
                "replies": one.replies,
                "state": one.state,
                **({"order": one.order} if one.order else {}),
            }
            for one in kept
        ]
        given.sort(key=lambda one: int(str(one["index"])))
        content = msgspec.json.encode((self.identity.digest(), given), order="sorted")
        file = self.folder / f"{hashlib.sha256(content).hexdigest()}.json"
        if file.is_file():
            return msgspec.json.decode(file.read_bytes(), type=Aggregated)
        limit = 3600.0
        whole = self.session.call(Aggregated, "aggregate", seconds=limit, records=given)
        self.folder.mkdir(parents=True, exist_ok=True)
        save(file, msgspec.json.encode(whole))
        return whole

    def _with_whole(self, summary: Summary, whole: Aggregated, count: int) -> Summary:
        mean = summary.headline.value
        name = whole.headline or self.headline
        value = whole.metrics.get(name)
        metrics = {key: _metric(key, one, count, whole) for key, one in whole.metrics.items() if one is not None}
        if self.circular != "off":
            vanilla = summary.metrics.get("vanilla")
            factor = None if value is None or vanilla is None else _factor(value, vanilla.value, whole.scales.get(name))
            if value is not None and factor is not None:
                metrics[name] = Metric(name, value * factor, count)
            note = f"{self.title}'s own numbers are those of the replies to the first rotation of each question"
            notices = (*summary.notices, note)
            return structs.replace(summary, metrics={**metrics, **summary.metrics}, notices=notices)
        if value is None:
            return structs.replace(summary, metrics={**metrics, **summary.metrics})
        factor = _factor(value, mean, whole.scales.get(name))
        if factor is not None and mean is not None and math.isclose(value * factor, mean, abs_tol=_CLOSE):
            # The interval is that of the mean of the samples' scores, which the number is.
            headline = structs.replace(summary.headline, name=name)
        elif factor is not None:
            headline = Metric(name, value * factor, count, note=self._no_interval(mean))
        else:
            headline = Metric(name, value, count, note=self._no_interval(mean), unit="points", top=max(100.0, value))
        groups = summary.groups if headline.interval is not None else {}
        return structs.replace(
            summary, headline=headline, metrics={**metrics, name: headline}, groups=groups, n=summary.n or count
        )

    def _no_interval(self, mean: float | None) -> str:
        if mean is None:
            return f"no interval: {self.title} gives no score of a single sample that says how right it is"
        return f"no interval: {self.title}'s number is not the mean of its samples' scores ({mean:.2f})"

    def _notices(self, summary: Summary, records: Sequence[Record]) -> Iterator[str]:
        for notice in summary.notices:
            if _UNGRADED not in notice:
                yield notice
        unscored = [one for one in records if _awaits_judge(one)]
        if unscored and not self.has_judge:
            yield (
                f"{len(unscored)} of {len(records)} samples are not scored: {self.title}'s code asks a judge about "
                "them; name one with --judge"
            )


def _score_by_whole(records: Sequence[Record], whole: Aggregated) -> Iterator[Record]:
    """The records; those without a score have that of the whole run, where there is one."""
    scores = {one.index: float(one.correct) for one in whole.values if one.correct is not None}
    for record in records:
        if record.score is None and KEPT in record.metadata:
            place = msgspec.json.decode(record.metadata[KEPT], type=Kept).index
            if place in scores:
                yield structs.replace(record, score=scores[place], unscored=None)
                continue
        yield record


def _awaits_judge(record: Record) -> bool:
    return record.unscored == "ungraded" and KEPT not in record.metadata


def _factor(value: float, mean: float | None, scale: float | None) -> float | None:
    """What makes percent of a number: known from what the tool says, or because the number is then
    the mean of the samples' scores; None if unknown."""
    if scale is not None:
        return 100.0 / scale
    if mean is None or mean == 0 == value:
        return None if mean is None else 1.0
    return next((one for one in (1.0, 100.0) if math.isclose(value * one, mean, abs_tol=_CLOSE)), None)


def _metric(name: str, value: float, count: int, whole: Aggregated) -> Metric:
    scale = whole.scales.get(name)
    if scale is not None:
        return Metric(name, value * 100.0 / scale, count)
    return Metric(name, value, count, unit="points", top=max(100.0, value))
