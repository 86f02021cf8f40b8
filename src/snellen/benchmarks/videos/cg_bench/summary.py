"""CG-Bench's six numbers, overall and by length of the video, domain and ability (Chen et al. 2024,
Sec. 4.1).

`long_acc`    right answers about whole videos;
`clue_acc`    right answers about the clues alone;
`crr`         clue recovery rate: the smaller of both over `clue_acc`;
`miou`        mean overlap (intersection over union) of the named intervals with the clues;
`rec_at_iou`  share of questions whose overlap reaches 0.1, ..., 0.5, mean over these five;
`acc_at_iou`  share of those whose answer about the whole video is right, too.

VLMEvalKit leaves replies that it cannot read out of all numbers, and an overlap must be larger than
a threshold (`--rule vlmevalkit`); here, as in the authors' script, it must be at least as large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from snellen.benchmarks.protocol.parsers import VLMEVALKIT
from snellen.benchmarks.videos.cg_bench.rows import ABILITY, CLUE, DOMAIN, DURATION, GROUNDING, LONG, TASK
from snellen.core.record import Record
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.scoring.accuracy import counted_score
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

HEADLINE = LONG
_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
_COLUMNS = (DURATION, DOMAIN, ABILITY)

_Scores = Sequence[float | None]
"""The score of each record, None where it does not count."""


def summarise_clues(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The six numbers; the share of right answers about whole videos is the headline."""
    summary = context.plain(records)
    if summary.headline.value is None:
        return structs.replace(summary, headline=structs.replace(summary.headline, name=HEADLINE), groups={})
    metrics = _numbers(context, records)
    headline = metrics.get(HEADLINE) or Metric(HEADLINE, None, 0, note="there are no questions about whole videos")
    groups: dict[str, dict[str, Metric]] = {}
    for column in _COLUMNS:
        for label in sorted({one.groups[column] for one in records if column in one.groups}):
            members = [one for one in records if one.groups.get(column) == label]
            for name, metric in _numbers(context, members).items():
                title = column if name == HEADLINE else f"{column} {name}"
                groups.setdefault(title, {})[label] = metric
    return structs.replace(
        summary,
        headline=headline,
        metrics={**metrics, HEADLINE: headline},
        groups=groups,
        beside=(*summary.beside, *(name for name in metrics if name != HEADLINE)),
        bounds=None,
        notices=(*summary.notices, *_left_out(context, records)),
    )


def long_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The headline as a function of sums."""
    return _mean_of_task(LONG, records, _scores(context, records))


def _numbers(context: SummaryContext, records: Sequence[Record]) -> dict[str, Metric]:
    """The numbers for which there are questions."""
    scores = _scores(context, records)
    reaches = _exceeds if context.rule == VLMEVALKIT else _reaches
    sums = {
        **{task: _mean_of_task(task, records, scores) for task in (LONG, CLUE, GROUNDING)},
        "crr": _recovery(records, scores),
        "rec_at_iou": _mean(_recall_shares(records, scores, reaches)),
        "acc_at_iou": _mean(_answered_and_recalled(records, scores, reaches)),
    }
    return {
        name: Metric(name, one.of_all(), int((one.rows != 0).any(axis=1).sum()), headline_interval(one, records))
        for name, one in sums.items()
        if one is not None
    }


def _scores(context: SummaryContext, records: Sequence[Record]) -> list[float | None]:
    return [
        None if context.rule == VLMEVALKIT and record.outcome != "answered" else counted_score(record, context.failures)
        for record in records
    ]


def _left_out(context: SummaryContext, records: Sequence[Record]) -> tuple[str, ...]:
    unread = sum(one.score is not None and one.outcome != "answered" for one in records)
    if context.rule != VLMEVALKIT or not unread:
        return ()
    plural = "reply" if unread == 1 else "replies"
    return (f"{unread} unreadable {plural} left out, as VLMEvalKit does",)


def _mean_of_task(task: str, records: Sequence[Record], scores: _Scores) -> HeadlineSums | None:
    return _mean(
        [score if record.groups.get(TASK) == task else None for record, score in zip(records, scores, strict=True)]
    )


def _mean(values: _Scores) -> HeadlineSums | None:
    """The mean of the values that count, in percent; None if none does."""
    return sum_of_ratios([[] if value is None else [RatioTerm("", value)] for value in values])


def _reaches(overlap: float, threshold: float) -> bool:
    return overlap >= threshold


def _exceeds(overlap: float, threshold: float) -> bool:
    return overlap > threshold


def _recall_shares(
    records: Sequence[Record], scores: _Scores, reaches: Callable[[float, float], bool]
) -> list[float | None]:
    """For each question about clues, the share of thresholds that its overlap reaches."""
    return [
        sum(reaches(score, threshold) for threshold in _THRESHOLDS) / len(_THRESHOLDS)
        if score is not None and record.groups.get(TASK) == GROUNDING
        else None
        for record, score in zip(records, scores, strict=True)
    ]


def _answered_and_recalled(
    records: Sequence[Record], scores: _Scores, reaches: Callable[[float, float], bool]
) -> list[float | None]:
    """The same where the answer about the whole video is right, else 0; only questions of which
    both replies count."""
    answers: Mapping[str, float] = {
        record.unit: score
        for record, score in zip(records, scores, strict=True)
        if score is not None and record.groups.get(TASK) == LONG
    }
    return [
        None if share is None or record.unit not in answers else share * (answers[record.unit] == 1.0)
        for record, share in zip(records, _recall_shares(records, scores, reaches), strict=True)
    ]


def _recovery(records: Sequence[Record], scores: _Scores) -> HeadlineSums | None:
    """The clue recovery rate from four sums: right and counted answers about whole videos and
    about clues. 0 without a right answer about clues."""
    import numpy as np

    rows = np.zeros((len(records), 4))
    for row, record, score in zip(rows, records, scores, strict=True):
        start = {LONG: 0, CLUE: 2}.get(record.groups.get(TASK, ""))
        if start is not None and score is not None:
            row[start : start + 2] = score, 1.0
    if not rows[:, 1].any() or not rows[:, 3].any():
        return None

    def value(sums: NDArray[float64]) -> NDArray[float64]:
        long = sums[:, 0] / np.maximum(sums[:, 1], 1.0)
        clue = sums[:, 2] / np.maximum(sums[:, 3], 1.0)
        share: NDArray[float64] = np.where(clue > 0, 100 * np.minimum(long, clue) / np.where(clue > 0, clue, 1.0), 0.0)
        return share

    return HeadlineSums(rows, value)
