"""How far annotators agree with each other, and, where they saw no key, with the key.

Agreement beyond chance of two annotators is Cohen's kappa; of any number, with items that not all
of them saw, Krippendorff's alpha (see `snellen.stats.agreement`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from snellen.core.summary import Interval
from snellen.curate.items import item_kind
from snellen.curate.review.edits import DROPPED, item_fields, key_value, same_answer
from snellen.curate.review.entries import ItemReviews, ReviewEntry
from snellen.curate.review.queue import QueuedItem, ReviewQueue, ReviewSettings
from snellen.stats.agreement import (
    AgreementEstimate,
    estimate_alpha,
    estimate_kappa,
    estimate_raw_agreement,
)
from snellen.stats.intervals import wilson


class PairAgreement(Struct, frozen=True):
    """The agreement of two annotators on the items that both decided."""

    first: str
    second: str
    raw: AgreementEstimate
    kappa: AgreementEstimate


class KeyAgreement(Struct, frozen=True):
    """How often an annotator who saw no key chose it."""

    annotator: str
    items: int
    share: float
    interval: Interval


class FieldAgreement(Struct, frozen=True):
    """The agreement of all annotators on one thing that they decide."""

    field: str
    """"decision", "answer" or "ability"."""
    annotators: tuple[str, ...]
    raw: AgreementEstimate
    alpha: AgreementEstimate
    pairs: tuple[PairAgreement, ...]
    with_key: tuple[KeyAgreement, ...] = ()


Value = Callable[[QueuedItem, ReviewEntry], str | None]


def measure_agreement(
    queue: ReviewQueue, reviews: Mapping[str, ItemReviews], settings: ReviewSettings
) -> list[FieldAgreement]:
    """The agreement on decisions; in a blind review on answers and on abilities. Adjudicators do
    not count."""
    if not settings.blind:
        return [_measure("decision", _decision, queue, reviews)]
    answers = _measure("answer", _answer, queue, reviews, _key_answer)
    if not queue.abilities.column:
        return [answers]
    column = queue.abilities.column
    return [
        answers,
        _measure(
            "ability", _ability, queue, reviews,
            lambda queued: item_fields(queued.item).get(column, ""),
        ),
    ]  # fmt: skip


def _measure(
    field: str,
    value: Value,
    queue: ReviewQueue,
    reviews: Mapping[str, ItemReviews],
    key: Callable[[QueuedItem], str] | None = None,
) -> FieldAgreement:
    """Agreement on one field: `value` is what an entry says of it, None for nothing, and `key` what
    the data have."""
    rows: list[tuple[QueuedItem, dict[str, str]]] = []
    for name, queued in queue.items.items():
        decisions = reviews[name].decisions() if name in reviews else {}
        values = {by: value(queued, entry) for by, entry in decisions.items()}
        rows.append((queued, {by: each for by, each in values.items() if each is not None}))
    names = tuple(sorted({by for _, values in rows for by in values}))
    matrix = [[values.get(name) for name in names] for _, values in rows]
    return FieldAgreement(
        field,
        names,
        estimate_raw_agreement(matrix),
        estimate_alpha(matrix),
        tuple(_pair(first, second, rows) for first, second in combinations(names, 2)),
        tuple(_with_key(names, rows, key)) if key else (),
    )


def _pair(
    first: str, second: str, rows: Sequence[tuple[QueuedItem, Mapping[str, str]]]
) -> PairAgreement:
    shared = [
        (values[first], values[second])
        for _, values in rows
        if first in values and second in values
    ]
    kappa = estimate_kappa([a for a, _ in shared], [b for _, b in shared])
    return PairAgreement(first, second, estimate_raw_agreement(shared), kappa)


def _with_key(
    names: Iterable[str],
    rows: Sequence[tuple[QueuedItem, Mapping[str, str]]],
    key: Callable[[QueuedItem], str],
) -> Iterable[KeyAgreement]:
    for name in names:
        pairs = [(queued, values[name], key(queued)) for queued, values in rows if name in values]
        known = [(queued, value, right) for queued, value, right in pairs if right]
        if known:
            same = sum(
                value == right or _same(queued, value, right) for queued, value, right in known
            )
            yield KeyAgreement(name, len(known), same / len(known), wilson(same, len(known)))


def _same(queued: QueuedItem, value: str, right: str) -> bool:
    return value != DROPPED and same_answer(queued.item, value, right)


def _decision(_: QueuedItem, entry: ReviewEntry) -> str:
    return entry.action


def _answer(queued: QueuedItem, entry: ReviewEntry) -> str:
    if entry.action != "answer":
        return DROPPED
    # The same open answer in other letters is the same value.
    text = " ".join(entry.answer.casefold().split())
    return text if item_kind(queued.item) == "open" else entry.answer


def _ability(_: QueuedItem, entry: ReviewEntry) -> str | None:
    return entry.ability or None


def _key_answer(queued: QueuedItem) -> str:
    return key_value(queued.item)
