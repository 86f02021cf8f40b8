"""Benchmarks whose answers are records, scored field by field.

The headline is the mean over documents of the F1 of their fields (`scoring.fields`). Beside it stand
the F1 over all fields of all documents, and each field by its path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Headline, plain_sums
from snellen.core.record import Record
from snellen.core.summary import Summary, SummaryContext
from snellen.scoring.accuracy import counted_score
from snellen.scoring.fields import FieldResult, nearest_results
from snellen.scoring.headlines import RatioTerm, metric_of_terms

FIELD_F1, MICRO_F1 = "field_f1", "micro_field_f1"
FIELD = "field"
"""Grouping: the share of the gold values of a path that are right."""
_MAX_PATHS = 100
"""Paths that the grouping lists, the most frequent ones."""


def record_headline(name: str = "") -> Headline:
    """The mean F1 of the documents' fields, with what stands beside it."""
    name = name or FIELD_F1
    return Headline(name=name, summarise=partial(_summarise, name), sums=plain_sums, weighs_scores=True)


def plain_headline(name: str) -> Headline:
    """The mean of the scores under a name of its own, for the formula of another tool."""
    return Headline(name=name, summarise=partial(_rename, name), sums=plain_sums, weighs_scores=True)


def _rename(name: str, context: SummaryContext, records: Sequence[Record]) -> Summary:
    plain = context.plain(records)
    headline = structs.replace(plain.headline, name=name)
    others = {key: one for key, one in plain.metrics.items() if key != plain.headline.name}
    return structs.replace(plain, headline=headline, metrics={name: headline, **others})


def _summarise(name: str, context: SummaryContext, records: Sequence[Record]) -> Summary:
    plain = _rename(name, context, records)
    if plain.headline.value is None:
        return plain
    results = [_results(context, record) for record in records]
    micro = metric_of_terms(MICRO_F1, [[_f1_term(each)] if each is not None else [] for each in results], records)
    paths = Counter(one.path for each in results for one in each or () if one.outcome != "invented")
    cells = {
        path: metric_of_terms(path, _path_terms(path, results), records) for path, _ in paths.most_common(_MAX_PATHS)
    }
    return structs.replace(
        plain,
        metrics={**plain.metrics, MICRO_F1: micro},
        groups={**plain.groups, FIELD: cells},
        beside=(MICRO_F1, *plain.beside),
    )


def _results(context: SummaryContext, record: Record) -> list[FieldResult] | None:
    """The fields of a record; None if it does not count."""
    if record.kind != "fields" or counted_score(record, context.failures) is None:
        return None
    return nearest_results(record.answer, record.gold)


def _f1_term(results: Sequence[FieldResult]) -> RatioTerm:
    """2 * right over the fields of both records."""
    both = sum(2 if one.outcome in ("right", "wrong") else 1 for one in results)
    return RatioTerm("", 2 * sum(one.outcome == "right" for one in results), both)


def _path_terms(path: str, results: Sequence[list[FieldResult] | None]) -> list[list[RatioTerm]]:
    """What each document adds to the accuracy of a path: one term a gold value."""
    return [
        [
            RatioTerm("", float(one.outcome == "right"))
            for one in each or ()
            if one.path == path and one.outcome != "invented"
        ]
        for each in results
    ]
