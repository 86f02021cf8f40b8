"""Metrics of places over a whole run, which are no mean over pictures.

| name | what it is |
| --- | --- |
| `map` | mAP, macro: the mean over labels of their average precision, over the thresholds 0.5 to 0.95 |
| `map_micro` | the same of the boxes of all labels in one ranking |
| `ap@T`, `ap_micro@T` | at the threshold T alone |
| `iou_micro` | the pixels or seconds that both cover / those that either does, added up: cIoU |
| `f1_micro@T`, `precision_micro@T`, `recall_micro@T` | of the pairs of all pictures added up |

Beside them the score of one picture is its `f1@0.5`, or F1 at their threshold. Pictures without a
scored reply are left out, as everywhere; a reply without places leaves its gold places unfound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from snellen.core import lazy_re as re
from snellen.core.arrays import Floats, np
from snellen.core.place import Places, load_places
from snellen.core.record import Record
from snellen.core.summary import FailurePolicy, HeadlineSums, Metric
from snellen.scoring.accuracy import counted_score
from snellen.scoring.headlines import headline_interval
from snellen.scoring.places.average_precision import THRESHOLDS, average_precision, judge_boxes, mean_by_label
from snellen.scoring.places.matching import count_pairs
from snellen.scoring.places.metrics import place_metric
from snellen.scoring.places.overlap import shared_area

_NAME = re.compile(r"(map|map_micro|iou_micro)|(ap|ap_micro|f1_micro|precision_micro|recall_micro)@(0?\.\d+|1(?:\.0)?)")
_IOU = "iou_micro"
_RATIOS: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    _IOU: lambda sums: (sums[:, 0], sums[:, 1]),
    "f1_micro": lambda sums: (2 * sums[:, 0], sums[:, 1] + sums[:, 2]),
    "precision_micro": lambda sums: (sums[:, 0], sums[:, 1]),
    "recall_micro": lambda sums: (sums[:, 0], sums[:, 2]),
}
"""Numerator and denominator of sums: of shared and covered area, or of pairs, places of replies and gold
places."""


def is_run_metric(name: str) -> bool:
    """Whether a name is of a metric over a whole run."""
    return _NAME.fullmatch(name) is not None


def is_average_precision(name: str) -> bool:
    """Whether a metric ranks the boxes of a run by their confidences."""
    return is_run_metric(name) and name.startswith(("map", "ap"))


def confidence_notice(names: Sequence[str], failures: FailurePolicy, records: Sequence[Record]) -> Iterator[str]:
    """A sentence on what stands for confidences that replies do not state, for average precisions of a run."""
    counted = (record for record in records if counted_score(record, failures) is not None and record.answer)
    replies = [reply for reply in map(load_places, (record.answer or "" for record in counted)) if len(reply)]
    without = sum(not reply.scores for reply in replies)
    if without:
        yield (
            f"{', '.join(names)}: {without:,} of {len(replies):,} replies state no confidence of each box; their boxes "
            "have 1 and are ranked in the order of the data, which makes the number too high where there are few "
            "pictures; f1_micro@0.5 needs no confidences"
        )


def metric_of_one(name: str) -> str:
    """The metric of one picture's score: `name` itself unless it is of a whole run. Raises
    UnknownName."""
    match = _NAME.fullmatch(name)
    if match is not None:
        return "iou" if name == _IOU else f"f1@{match[3] or '0.5'}"
    place_metric(name)
    return name


def run_sums(name: str, failures: FailurePolicy, records: Sequence[Record], over: str = "") -> HeadlineSums | None:
    """A metric of a whole run as a function of sums over pictures, in percent; None without gold
    places. With `over`, a grouping, it is the mean over the labels that have gold places. Average
    precision is linear in the weights of the pictures here, to first order."""
    match = _NAME.fullmatch(name)
    assert match is not None, f"{name} is no metric of a whole run"
    if over:
        return _mean_over(name, failures, records, over)
    counted = [index for index, record in enumerate(records) if counted_score(record, failures) is not None]
    pairs = [_places_of(records[index]) for index in counted]
    if not any(len(gold) for _, gold in pairs):
        return None
    kind, threshold = match[1] or match[2], float(match[3] or 0)
    if kind in _RATIOS:
        areas = (shared_area(*pair) for pair in pairs)
        counts = (count_pairs(reply, gold, threshold) for reply, gold in pairs)
        rows = np.zeros((len(records), 2 if kind == _IOU else 3))
        rows[counted] = np.array(list(areas if kind == _IOU else counts), dtype=np.float64)
        return HeadlineSums(rows, partial(_ratio, _RATIOS[kind]))
    replies, golds = zip(*pairs, strict=True)
    judged = judge_boxes(replies, golds, (threshold,) if threshold else THRESHOLDS)
    found = average_precision(judged) if kind.endswith("_micro") else mean_by_label(judged)
    assert found is not None
    # The influence of each picture, and 1 for each that counts.
    rows = np.zeros((len(records), 2))
    rows[counted] = np.column_stack([found.influences * len(counted), np.ones(len(counted))])

    def value(sums: Floats) -> Floats:
        drawn = np.where(sums[:, 1] > 0, sums[:, 1], 1.0)
        linear: Floats = 100 * (found.value + sums[:, 0] / drawn)
        return linear

    return HeadlineSums(rows, value)


def _mean_over(name: str, failures: FailurePolicy, records: Sequence[Record], column: str) -> HeadlineSums | None:
    """The mean of a metric over the labels of a grouping, each with the sums of its own pictures."""
    places: dict[str, list[int]] = {}
    for index, record in enumerate(records):
        places.setdefault(record.groups.get(column, ""), []).append(index)
    parts = []
    for _, indices in sorted(places.items()):
        sums = run_sums(name, failures, [records[index] for index in indices])
        if sums is not None:
            rows = np.zeros((len(records), sums.rows.shape[1]))
            rows[indices] = sums.rows
            parts.append((rows, sums.value))
    if not parts:
        return None
    ends = np.cumsum([rows.shape[1] for rows, _ in parts])[:-1]

    def value(sums: Floats) -> Floats:
        values = [of(part) for (_, of), part in zip(parts, np.split(sums, ends, axis=1), strict=True)]
        mean: Floats = np.mean(values, axis=0)
        return mean

    return HeadlineSums(np.hstack([rows for rows, _ in parts]), value)


def run_metrics(
    names: Sequence[str], failures: FailurePolicy, records: Sequence[Record], over: str = ""
) -> dict[str, Metric]:
    """The metrics of these names, in percent, each with its interval over pictures."""
    n = sum(counted_score(record, failures) is not None for record in records)
    metrics = {}
    for name in names:
        sums = run_sums(name, failures, records, over)
        value = None if sums is None else sums.of_all()
        note = "" if value is not None else "there are no gold places"
        metrics[name] = Metric(name, value, n, headline_interval(sums, records), note=note)
    return metrics


def _ratio(parts: Callable[[Floats], tuple[Floats, Floats]], sums: Floats) -> Floats:
    part, whole = parts(sums)
    ratio: Floats = 100 * np.where(whole > 0, part, 0.0) / np.where(whole > 0, whole, 1.0)
    return ratio


def _places_of(record: Record) -> tuple[Places, Places]:
    """The places of a reply, none where it names none, and those of the first gold answer."""
    return load_places(record.answer) if record.answer else Places(), load_places(record.gold[0])
