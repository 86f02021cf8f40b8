"""MME's numbers (Sec. 2.2): accuracy, accuracy+ and score by subtask, perception, cognition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from snellen.benchmarks.abilities.mme.subtasks import ABILITY, AREAS, SUBTASK, SUBTASKS, TOP, area_of
from snellen.core.record import Record
from snellen.core.summary import Bounds, FailurePolicy, HeadlineSums, Metric, Summary
from snellen.scoring.accuracy import cluster_samples, count_outcomes, counts_wrong, mean_metric, score_notices
from snellen.scoring.grouped import interval_of_mean
from snellen.scoring.headlines import RatioTerm, sum_of_ratios
from snellen.scoring.yes_no import NO, YES, PairScore, YesNoItem, count_by_image, sum_images
from snellen.stats.stratified import GroupSums, group_sums

_BY_RULES = "by_rules"

Scores = Sequence[tuple[float, str]]
"""Right (1) and wrong (0), each with the name of its cluster."""


class _SubtaskSums(NamedTuple):
    """One subtask by one parsing rule. `by_question` has a score for each question, `by_image` one
    for each image whose two questions both have one."""

    counts: PairScore
    by_question: Scores
    by_image: Scores

    @property
    def tallies(self) -> tuple[GroupSums, ...]:
        """Accuracy and accuracy+, of which the score is the sum."""
        return tuple(group_sums(*zip(*scores, strict=True)) for scores in (self.by_question, self.by_image) if scores)


def summarise_mme(
    records: Sequence[Record], *, parsing_rule: str, parsing_rules: Sequence[str], failures: FailurePolicy = "exclude"
) -> Summary:
    """Headline: perception + cognition, 0..2800. Perception, cognition and their sum are given
    only where every subtask of theirs has a score."""
    by_subtask = _group_by_subtask(records)
    cluster_of_id = dict(zip((record.id for record in records), cluster_samples(records), strict=True))
    owed = any(record.is_retryable for record in records)
    withheld = failures == "withhold" and owed
    tables = {
        name: {
            subtask: _subtask_sums(
                [(_yes_no_item(record, name, parsing_rule, failures), cluster_of_id[record.id]) for record in members]
            )
            for subtask, members in by_subtask.items()
        }
        for name in _all_rules(records, parsing_rule, parsing_rules)
    }
    headline_table = tables[parsing_rule]
    sums = _withhold_sums(dict(_area_sums(headline_table))) if withheld else dict(_area_sums(headline_table))
    sums["total"] = _add_note(sums["total"], f"replies read by the {parsing_rule} reading")
    return Summary(
        headline=sums["total"],
        metrics={
            **sums,
            **({} if withheld else dict(_other_rules(tables, parsing_rule))),
            **dict(_overall_metrics(records, headline_table, cluster_of_id)),
            **({} if sums["total"].value is None else dict(_guess_metrics(by_subtask))),
        },
        groups={} if withheld else _group_metrics(by_subtask, headline_table, cluster_of_id),
        outcomes=count_outcomes(records),
        n=sum(sums.counts.questions for sums in headline_table.values()),
        total=len(records),
        no_gold=sum(record.unscored == "no_gold" for record in records),
        bounds=_bounds(by_subtask) if owed else None,
        notices=(*score_notices(records, failures), *_notices(headline_table)),
        beside=tuple(AREAS),
    )


def total_sums(parsing_rule: str, failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    """The total as a function of sums: of each subtask the right answers over the questions, and
    the images with both right over those with two."""
    judged = [_yes_no_item(record, parsing_rule, parsing_rule, failures) for record in records]
    added: list[list[RatioTerm]] = [[] for _ in records]
    by_subtask: dict[str, list[int]] = defaultdict(list)
    for index, (record, item) in enumerate(zip(records, judged, strict=True)):
        subtask = record.groups[SUBTASK]
        if subtask in SUBTASKS and item.correct is not None:
            by_subtask[subtask].append(index)
            added[index].append(RatioTerm(subtask, float(item.correct)))
    for subtask, places in by_subtask.items():
        first = {judged[index].unit: index for index in reversed(places)}
        pictures = count_by_image(judged[index] for index in places)
        for index, picture in zip(sorted(first.values()), pictures, strict=True):
            if picture.pair:
                added[index].append(RatioTerm(f"{subtask}+", picture.both))
    names = {share.ratio for shares in added for share in shares}
    if len(names) < 2 * len(SUBTASKS):
        return None
    strata = [record.groups[SUBTASK] for record in records]
    return sum_of_ratios(added, dict.fromkeys(names, 100.0), strata=strata)


def _withhold_sums(sums: Mapping[str, Metric]) -> dict[str, Metric]:
    note = "withheld: samples failed or are missing"
    return {
        name: Metric(name, None, metric.n, note=note, unit="points", top=metric.top) for name, metric in sums.items()
    }


def _other_rules(tables: Mapping[str, Mapping[str, _SubtaskSums]], parsing_rule: str) -> Iterator[tuple[str, Metric]]:
    """Sums under the readings that did not make the headline, e.g. `perception_paper`; the total
    without an LLM extractor is `by_rules`."""
    for other, table in tables.items():
        if other == parsing_rule:
            continue
        for name, metric in _area_sums(table):
            key = f"{name}_{other}"
            if name == "total":
                if other != _BY_RULES:
                    continue
                key = _BY_RULES
            yield key, msgspec.structs.replace(metric, name=key)


def _group_by_subtask(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records by subtask: MME's own in its order, then others by name."""
    by_subtask: dict[str, list[Record]] = {}
    for record in records:
        by_subtask.setdefault(record.groups[SUBTASK], []).append(record)
    order = {name: index for index, name in enumerate(SUBTASKS)}
    return {name: by_subtask[name] for name in sorted(by_subtask, key=lambda n: (order.get(n, 99), n))}


def _all_rules(records: Sequence[Record], parsing_rule: str, parsing_rules: Sequence[str]) -> list[str]:
    """The headline's first; with an LLM extractor also what the rules alone would give."""
    extracted = any(_BY_RULES in record.values for record in records)
    others = [name for name in parsing_rules if name != parsing_rule]
    return [parsing_rule, *others, *([_BY_RULES] if extracted else ())]


def _yes_no_item(record: Record, name: str, parsing_rule: str, failures: FailurePolicy) -> YesNoItem:
    unit = record.unit or record.id
    if record.score is None:
        lost = counts_wrong(record.unscored, failures)
        return YesNoItem(unit, False if lost else None)
    value = record.score if name == parsing_rule else record.values.get(name)
    return YesNoItem(unit, None if value is None else value == 1.0)


def _subtask_sums(items: Sequence[tuple[YesNoItem, str]]) -> _SubtaskSums:
    scored = [(item, cluster) for item, cluster in items if item.correct is not None]
    counts = count_by_image(item for item, _ in scored)
    # In the order of the images: that in which their first questions come.
    cluster_of_image = {item.unit: cluster for item, cluster in scored}
    return _SubtaskSums(
        sum_images(counts),
        [(float(item.correct or 0), cluster) for item, cluster in scored],
        [
            (float(image.both), cluster)
            for image, cluster in zip(counts, cluster_of_image.values(), strict=True)
            if image.pair
        ],
    )


def _area_sums(table: Mapping[str, _SubtaskSums]) -> Iterator[tuple[str, Metric]]:
    yield "total", _sum_metric("total", SUBTASKS, table)
    for area, subtasks in AREAS.items():
        yield area, _sum_metric(area, subtasks, table)


def _sum_metric(name: str, subtasks: Sequence[str], table: Mapping[str, _SubtaskSums]) -> Metric:
    have = [table[subtask] for subtask in subtasks if subtask in table]
    scores = [sums.counts.score for sums in have]
    n = sum(sums.counts.questions for sums in have)
    top = TOP * len(subtasks)
    present = [score for score in scores if score is not None]
    if len(present) < len(subtasks):
        note = f"{len(present)} of {len(subtasks)} subtasks have a score"
        return Metric(name, None, n, note=note, unit="points", top=top)
    interval = interval_of_mean([part for sums in have for part in sums.tallies], top=top)
    return Metric(name, sum(present), n, interval, unit="points", top=top)


def _overall_metrics(
    records: Sequence[Record], table: Mapping[str, _SubtaskSums], cluster_of_id: Mapping[str, str]
) -> Iterator[tuple[str, Metric]]:
    """Over all questions and images alike: plain means, no scores of MME's."""
    for name, scores in (
        ("accuracy", [score for sums in table.values() for score in sums.by_question]),
        ("accuracy_plus", [score for sums in table.values() for score in sums.by_image]),
    ):
        if scores:
            yield name, _mean_metric(name, scores)
    yes = _yes_rate(records, cluster_of_id)
    if yes is not None:
        yield "yes_rate", yes


def _guess_metrics(by_subtask: Mapping[str, list[Record]]) -> Iterator[tuple[str, Metric]]:
    """What a coin would score (accuracy 50, accuracy+ 25, Sec. 2.2), and always one answer."""
    top = TOP * len(SUBTASKS)
    n = sum(len(by_subtask[subtask]) for subtask in SUBTASKS)
    yield "chance", Metric("chance", 75.0 * len(SUBTASKS), n, unit="points", top=top)
    best = 0.0
    for answer in (YES, NO):
        judged = {
            subtask: count_by_image(
                YesNoItem(record.unit or record.id, answer in record.gold if record.gold else None)
                for record in by_subtask[subtask]
            )
            for subtask in SUBTASKS
        }
        best = max(best, sum(sum_images(pictures).score or 0.0 for pictures in judged.values()))
    yield "frequent", Metric("frequent", best, n, unit="points", top=top)


def _group_metrics(
    by_subtask: Mapping[str, list[Record]], table: Mapping[str, _SubtaskSums], cluster_of_id: Mapping[str, str]
) -> dict[str, dict[str, Metric]]:
    """Scores by area and subtask, and accuracy, accuracy+ and yes rate by subtask."""
    areas = {area: _sum_metric(area, subtasks, table) for area, subtasks in AREAS.items()}
    groups: dict[str, dict[str, Metric]] = {
        ABILITY: {area: metric for area, metric in areas.items() if metric.value is not None},
        SUBTASK: {},
        "accuracy": {},
        "accuracy_plus": {},
        "yes_rate": {},
    }
    for subtask, sums in table.items():
        counts = sums.counts
        interval = interval_of_mean(sums.tallies, top=TOP) if counts.images else None
        groups[SUBTASK][subtask] = Metric("score", counts.score, counts.questions, interval, unit="points", top=TOP)
        if counts.questions:
            groups["accuracy"][subtask] = _mean_metric("accuracy", sums.by_question)
        if counts.images:
            groups["accuracy_plus"][subtask] = _mean_metric("accuracy_plus", sums.by_image)
        yes = _yes_rate(by_subtask[subtask], cluster_of_id)
        if yes is not None:
            groups["yes_rate"][subtask] = yes
    return {column: labels for column, labels in groups.items() if labels}


def _mean_metric(name: str, scores: Scores) -> Metric:
    return mean_metric(name, [score for score, _ in scores], [cluster for _, cluster in scores])


def _yes_rate(records: Sequence[Record], cluster_of_id: Mapping[str, str]) -> Metric | None:
    """Share of yes among the answered, beside the share of yes in their gold: a bias shows."""
    answered = [record for record in records if record.answer is not None and record.gold]
    if not answered:
        return None
    gold = 100 * sum(YES in record.gold for record in answered) / len(answered)
    metric = _mean_metric("yes_rate", [(float(record.answer == YES), cluster_of_id[record.id]) for record in answered])
    bias = (metric.value or 0.0) - gold
    return _add_note(metric, f"gold {gold:.1f}, bias {bias:+.1f}")


def _bounds(by_subtask: Mapping[str, list[Record]]) -> Bounds | None:
    """The total if every failed or missing sample were wrong, or right."""
    ends = []
    for owed in (False, True):
        scores = [
            sum_images(
                count_by_image(
                    YesNoItem(
                        record.unit or record.id,
                        (owed if record.is_retryable else None) if record.score is None else record.score == 1.0,
                    )
                    for record in by_subtask.get(subtask, ())
                )
            ).score
            for subtask in SUBTASKS
        ]
        if any(score is None for score in scores):
            return None
        ends.append(sum(score or 0.0 for score in scores))
    return Bounds(*ends)


def _notices(table: Mapping[str, _SubtaskSums]) -> Iterator[str]:
    counts = [sums.counts for sums in table.values()]
    halves = sum(count.incomplete for count in counts)
    pictures = halves + sum(count.images for count in counts)
    if halves:
        yield (f"{halves} of {pictures} images have only one question with a score and are left out of accuracy+")
    absent = [name for name in SUBTASKS if name not in table or table[name].counts.score is None]
    if absent:
        examples = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
        yield f"no total: {len(absent)} of {len(SUBTASKS)} subtasks have no score ({examples})"
    strange = [name for name in table if area_of(name) is None]
    if strange:
        yield f"not subtasks of MME, in neither sum: {', '.join(strange[:4])}"


def _add_note(metric: Metric, note: str) -> Metric:
    joined = f"{metric.note}; {note}" if metric.note else note
    return msgspec.structs.replace(metric, note=joined)
