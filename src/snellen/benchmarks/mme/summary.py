"""MME's numbers (Sec. 2.2): accuracy, accuracy+ and score by subtask, perception, cognition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from snellen.benchmarks.mme.subtasks import ABILITY, AREAS, SUBTASK, SUBTASKS, TOP, area_of
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.summary import Bounds, Metric, Summary
from snellen.scoring.accuracy import FailurePolicy, count_outcomes, mean_metric, notices
from snellen.scoring.clusters import clusters
from snellen.scoring.grouped import interval_of_mean
from snellen.scoring.headlines import Share, sum_of_ratios
from snellen.scoring.yes_no import NO, YES, Judged, PairScore, images, total
from snellen.stats.stratified import Tally, tally

_BY_RULES = "by_rules"

Scores = Sequence[tuple[float, str]]
"""Right (1) and wrong (0), each with the name of its cluster."""


class _Subtask(NamedTuple):
    """One subtask under one reading. `right` has a score for each question, `both` one for each
    image of which both questions have one."""

    counts: PairScore
    right: Scores
    both: Scores

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Accuracy and accuracy+, of which the score is the sum."""
        return tuple(tally(*zip(*one, strict=True)) for one in (self.right, self.both) if one)


def summarise_mme(
    records: Sequence[Record],
    *,
    reading: str,
    readings: Sequence[str],
    failures: FailurePolicy = "exclude",
) -> Summary:
    """Headline: perception + cognition, 0..2800. Perception, cognition and their sum are given
    only where every subtask of theirs has a score."""
    found = _by_subtask(records)
    held = dict(zip((record.id for record in records), clusters(records), strict=True))
    owed = any(record.owed for record in records)
    withheld = failures == "withhold" and owed
    tables = {
        name: {
            subtask: _scored(
                [(_judged(record, name, reading, failures), held[record.id]) for record in members]
            )
            for subtask, members in found.items()
        }
        for name in _all_readings(records, reading, readings)
    }
    main = tables[reading]
    sums = _withheld(dict(_sums(main))) if withheld else dict(_sums(main))
    sums["total"] = _noted(sums["total"], f"replies read by the {reading} reading")
    return Summary(
        headline=sums["total"],
        metrics={
            **sums,
            **({} if withheld else dict(_other_readings(tables, reading))),
            **dict(_overall(records, main, held)),
            **({} if sums["total"].value is None else dict(_guesses(found))),
        },
        groups={} if withheld else _groups(found, main, held),
        outcomes=count_outcomes(records),
        n=sum(one.counts.questions for one in main.values()),
        total=len(records),
        no_gold=sum(record.unscored == "no_gold" for record in records),
        bounds=_bounds(found) if owed else None,
        notices=(*notices(records, failures), *_remarks(main)),
        beside=tuple(AREAS),
    )


def total_sums(
    reading: str, failures: FailurePolicy, records: Sequence[Record]
) -> HeadlineSums | None:
    """The total as a function of sums: of each subtask the right answers over the questions, and
    the images with both right over those with two."""
    judged = [_judged(record, reading, reading, failures) for record in records]
    added: list[list[Share]] = [[] for _ in records]
    by_subtask: dict[str, list[int]] = defaultdict(list)
    for at, (record, one) in enumerate(zip(records, judged, strict=True)):
        subtask = record.groups[SUBTASK]
        if subtask in SUBTASKS and one.correct is not None:
            by_subtask[subtask].append(at)
            added[at].append(Share(subtask, float(one.correct)))
    for subtask, places in by_subtask.items():
        first = {judged[at].unit: at for at in reversed(places)}
        pictures = images(judged[at] for at in places)
        for place, picture in zip(sorted(first.values()), pictures, strict=True):
            if picture.pair:
                added[place].append(Share(f"{subtask}+", picture.both))
    names = {share.ratio for shares in added for share in shares}
    if len(names) < 2 * len(SUBTASKS):
        return None
    strata = [record.groups[SUBTASK] for record in records]
    return sum_of_ratios(added, dict.fromkeys(names, 100.0), strata=strata)


def _withheld(sums: Mapping[str, Metric]) -> dict[str, Metric]:
    note = "withheld: samples failed or are missing"
    return {
        name: Metric(name, None, one.n, note=note, unit="points", top=one.top)
        for name, one in sums.items()
    }


def _other_readings(
    tables: Mapping[str, Mapping[str, _Subtask]], reading: str
) -> Iterator[tuple[str, Metric]]:
    """Sums under the readings that did not make the headline, e.g. `perception_paper`; the total
    without an LLM extractor is `by_rules`."""
    for other, table in tables.items():
        if other == reading:
            continue
        for name, metric in _sums(table):
            key = f"{name}_{other}"
            if name == "total":
                if other != _BY_RULES:
                    continue
                key = _BY_RULES
            yield key, msgspec.structs.replace(metric, name=key)


def _by_subtask(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records by subtask: MME's own in its order, then others by name."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.groups[SUBTASK], []).append(record)
    order = {name: at for at, name in enumerate(SUBTASKS)}
    return {name: found[name] for name in sorted(found, key=lambda n: (order.get(n, 99), n))}


def _all_readings(records: Sequence[Record], reading: str, readings: Sequence[str]) -> list[str]:
    """The headline's first; with an LLM extractor also what the rules alone would give."""
    extracted = any(_BY_RULES in record.values for record in records)
    others = [name for name in readings if name != reading]
    return [reading, *others, *([_BY_RULES] if extracted else ())]


def _judged(record: Record, name: str, reading: str, failures: FailurePolicy) -> Judged:
    unit = record.unit or record.id
    if record.score is None:
        lost = record.owed and failures == "count-wrong"
        return Judged(unit, False if lost else None)
    value = record.score if name == reading else record.values.get(name)
    return Judged(unit, None if value is None else value == 1.0)


def _scored(judged: Sequence[tuple[Judged, str]]) -> _Subtask:
    known = [(one, cluster) for one, cluster in judged if one.correct is not None]
    found = images(one for one, _ in known)
    # In the order of the images: that in which their first questions come.
    held = {one.unit: cluster for one, cluster in known}
    return _Subtask(
        total(found),
        [(float(one.correct or 0), cluster) for one, cluster in known],
        [
            (float(image.both), cluster)
            for image, cluster in zip(found, held.values(), strict=True)
            if image.pair
        ],
    )


def _sums(table: Mapping[str, _Subtask]) -> Iterator[tuple[str, Metric]]:
    yield "total", _sum("total", SUBTASKS, table)
    for area, subtasks in AREAS.items():
        yield area, _sum(area, subtasks, table)


def _sum(name: str, subtasks: Sequence[str], table: Mapping[str, _Subtask]) -> Metric:
    have = [table[subtask] for subtask in subtasks if subtask in table]
    scores = [one.counts.score for one in have]
    n = sum(one.counts.questions for one in have)
    top = TOP * len(subtasks)
    known = [score for score in scores if score is not None]
    if len(known) < len(subtasks):
        note = f"{len(known)} of {len(subtasks)} subtasks have a score"
        return Metric(name, None, n, note=note, unit="points", top=top)
    interval = interval_of_mean([part for one in have for part in one.tallies], top=top)
    return Metric(name, sum(known), n, interval, unit="points", top=top)


def _overall(
    records: Sequence[Record], table: Mapping[str, _Subtask], held: Mapping[str, str]
) -> Iterator[tuple[str, Metric]]:
    """Over all questions and images alike: plain means, no scores of MME's."""
    for name, scores in (
        ("accuracy", [score for one in table.values() for score in one.right]),
        ("accuracy_plus", [score for one in table.values() for score in one.both]),
    ):
        if scores:
            yield name, _share(name, scores)
    yes = _yes_rate(records, held)
    if yes is not None:
        yield "yes_rate", yes


def _guesses(found: Mapping[str, list[Record]]) -> Iterator[tuple[str, Metric]]:
    """What a coin would score (accuracy 50, accuracy+ 25, Sec. 2.2), and always one answer."""
    top = TOP * len(SUBTASKS)
    n = sum(len(found[subtask]) for subtask in SUBTASKS)
    yield "chance", Metric("chance", 75.0 * len(SUBTASKS), n, unit="points", top=top)
    best = 0.0
    for answer in (YES, NO):
        judged = {
            subtask: images(
                Judged(one.unit or one.id, answer in one.gold if one.gold else None)
                for one in found[subtask]
            )
            for subtask in SUBTASKS
        }
        best = max(best, sum(total(pictures).score or 0.0 for pictures in judged.values()))
    yield "frequent", Metric("frequent", best, n, unit="points", top=top)


def _groups(
    found: Mapping[str, list[Record]], table: Mapping[str, _Subtask], held: Mapping[str, str]
) -> dict[str, dict[str, Metric]]:
    areas = {area: _sum(area, subtasks, table) for area, subtasks in AREAS.items()}
    groups: dict[str, dict[str, Metric]] = {
        ABILITY: {area: metric for area, metric in areas.items() if metric.value is not None},
        SUBTASK: {},
        "accuracy": {},
        "accuracy_plus": {},
        "yes_rate": {},
    }
    for subtask, one in table.items():
        counts = one.counts
        interval = interval_of_mean(one.tallies, top=TOP) if counts.images else None
        groups[SUBTASK][subtask] = Metric(
            "score", counts.score, counts.questions, interval, unit="points", top=TOP
        )
        if counts.questions:
            groups["accuracy"][subtask] = _share("accuracy", one.right)
        if counts.images:
            groups["accuracy_plus"][subtask] = _share("accuracy_plus", one.both)
        yes = _yes_rate(found[subtask], held)
        if yes is not None:
            groups["yes_rate"][subtask] = yes
    return {column: labels for column, labels in groups.items() if labels}


def _share(name: str, scores: Scores) -> Metric:
    return mean_metric(name, [score for score, _ in scores], [cluster for _, cluster in scores])


def _yes_rate(records: Sequence[Record], held: Mapping[str, str]) -> Metric | None:
    """Share of yes among the answered, beside the share of yes in their gold: a bias shows."""
    answered = [one for one in records if one.answer is not None and one.gold]
    if not answered:
        return None
    gold = 100 * sum(YES in one.gold for one in answered) / len(answered)
    metric = _share("yes_rate", [(float(one.answer == YES), held[one.id]) for one in answered])
    bias = (metric.value or 0.0) - gold
    return _noted(metric, f"gold {gold:.1f}, bias {bias:+.1f}")


def _bounds(found: Mapping[str, list[Record]]) -> Bounds | None:
    """The total if every failed or missing sample were wrong, or right."""
    ends = []
    for owed in (False, True):
        scores = [
            total(
                images(
                    Judged(
                        one.unit or one.id,
                        (owed if one.owed else None) if one.score is None else one.score == 1.0,
                    )
                    for one in found.get(subtask, ())
                )
            ).score
            for subtask in SUBTASKS
        ]
        if any(score is None for score in scores):
            return None
        ends.append(sum(score or 0.0 for score in scores))
    return Bounds(*ends)


def _remarks(table: Mapping[str, _Subtask]) -> Iterator[str]:
    counts = [one.counts for one in table.values()]
    halves = sum(one.incomplete for one in counts)
    pictures = halves + sum(one.images for one in counts)
    if halves:
        yield (
            f"{halves} of {pictures} images have only one question with a score and are left out "
            "of accuracy+"
        )
    absent = [name for name in SUBTASKS if name not in table or table[name].counts.score is None]
    if absent:
        shown = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
        yield f"no total: {len(absent)} of {len(SUBTASKS)} subtasks have no score ({shown})"
    strange = [name for name in table if area_of(name) is None]
    if strange:
        yield f"not subtasks of MME, in neither sum: {', '.join(strange[:4])}"


def _noted(metric: Metric, note: str) -> Metric:
    joined = f"{metric.note}; {note}" if metric.note else note
    return msgspec.structs.replace(metric, note=joined)
