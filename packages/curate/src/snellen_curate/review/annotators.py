"""How far annotators agree with each other, what the decisions say of each, and what their records
say of each item.

Agreement beyond chance of two annotators is Cohen's kappa; of any number, with items that not all
of them saw, Krippendorff's alpha (see `snellen.stats.agreement`). The probability of each value of
an item is that of Dawid and Skene (`snellen.stats.dawid_skene`): a vote counts by how its annotator
errs. It stands beside the vote and decides nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from snellen.data_sets.items import item_kind
from snellen.stats.agreement import AgreementEstimate, estimate_alpha, estimate_kappa, estimate_raw_agreement
from snellen_curate.review.edits import DROPPED, WRITTEN, answer_choices, answer_value, key_value, same_answer
from snellen_curate.review.entries import ItemReviews, ReviewEntry
from snellen_curate.review.queue import QueuedItem, ReviewQueue, ReviewSettings

if TYPE_CHECKING:
    from snellen.stats.dawid_skene import VotePosterior


class PairAgreement(Struct, frozen=True):
    """The agreement of two annotators on the items that both decided."""

    first: str
    second: str
    raw: AgreementEstimate
    kappa: AgreementEstimate


class FieldAgreement(Struct, frozen=True):
    """The agreement of all annotators on one thing that they decide."""

    field: str
    """"decision", "answer" or "ability"."""
    annotators: tuple[str, ...]
    raw: AgreementEstimate
    alpha: AgreementEstimate
    pairs: tuple[PairAgreement, ...]


Value = Callable[[QueuedItem, ReviewEntry], str | None]


def measure_agreement(
    queue: ReviewQueue, reviews: Mapping[str, ItemReviews], settings: ReviewSettings
) -> list[FieldAgreement]:
    """The agreement on decisions; in a blind review on answers and on abilities. Adjudicators and
    gold items do not count."""
    if not settings.blind:
        return [_measure_field("decision", lambda _, entry: entry.action, queue, reviews)]
    answers = _measure_field("answer", answer_text, queue, reviews)
    if not queue.abilities.column:
        return [answers]
    return [answers, _measure_field("ability", lambda _, entry: entry.ability or None, queue, reviews)]


def _measure_field(field: str, value: Value, queue: ReviewQueue, reviews: Mapping[str, ItemReviews]) -> FieldAgreement:
    """Agreement on one field: `value` is what an entry says of it, None for nothing."""
    rows: list[dict[str, str]] = []
    for name, queued in queue.items.items():
        if queued.gold is None:
            decisions = reviews[name].decisions() if name in reviews else {}
            values = {by: value(queued, entry) for by, entry in decisions.items()}
            rows.append({by: each for by, each in values.items() if each is not None})
    names = tuple(sorted({by for values in rows for by in values}))
    matrix = [[values.get(name) for name in names] for values in rows]
    pairs = []
    for first, second in combinations(names, 2):
        shared = [(row[first], row[second]) for row in rows if first in row and second in row]
        kappa = estimate_kappa([a for a, _ in shared], [b for _, b in shared])
        pairs.append(PairAgreement(first, second, estimate_raw_agreement(shared), kappa))
    return FieldAgreement(field, names, estimate_raw_agreement(matrix), estimate_alpha(matrix), tuple(pairs))


def answer_text(queued: QueuedItem, entry: ReviewEntry) -> str:
    """What an annotator of a blind review answered; `DROPPED` for an item that they drop."""
    if entry.action != "answer":
        return DROPPED
    # The same open answer in other letters is the same value.
    text = " ".join(entry.answer.casefold().split())
    return text if item_kind(queued.item) in WRITTEN else entry.answer


DECISIONS = ("keep", "fix", "drop")
POOR_KAPPA, POOR_GOLD, FEWEST_ITEMS = 0.4, 0.8, 10
"""An annotator whose 95 % interval lies below is named: of the agreement with the others beyond
chance ("fair" at most, J. R. Landis and G. G. Koch, Biometrics 33 (1977)), and of the share of
right decisions about gold items; of fewer items than that, nobody is."""


class AnnotatorFigures(Struct, frozen=True):
    """One annotator, measured."""

    annotator: str
    items: int
    """Items decided, gold ones too."""
    choices: dict[str, float]
    """The share of each decision or answer, the most frequent first."""
    kappa: AgreementEstimate
    """Cohen's kappa with what the others' votes, or the gold, make the likeliest value."""
    confusion: dict[str, dict[str, int]]
    """That likeliest value to how often the annotator chose what of it."""
    gold: AgreementEstimate
    """The share of gold items decided right."""
    key: AgreementEstimate
    """Blind: how often the annotator chose the data's key."""
    seconds: float | None
    """Median time in front of an item."""

    warning: str
    """Why the decisions need a look, such as "91 % keep, kappa 0.1"; empty if nothing is odd."""


class ReviewFigures(NamedTuple):
    """The annotators, and the probability of each value of each item with a decision."""

    annotators: list[AnnotatorFigures]
    chances: dict[str, dict[str, float]]


class _Vote(NamedTuple):
    queued: QueuedItem
    entry: ReviewEntry
    value: str
    likely: str = ""
    """The likeliest value by the votes of the others; "" without any."""


def measure_annotators(queue: ReviewQueue, reviews: Mapping[str, ItemReviews], blind: bool) -> ReviewFigures:
    """Measure the annotators by their decisions so far. Adjudicators do not count."""
    votes = [
        _Vote(queued, entry, _value(queued, entry, blind))
        for name, queued in queue.items.items()
        if name in reviews
        for entry in reviews[name].decisions().values()
    ]
    if not votes:
        return ReviewFigures([], {})
    given: dict[str, list[_Vote]] = defaultdict(list)
    for vote in votes:
        given[vote.entry.item].append(vote)
    values = {name: _values(each, blind) for name, each in given.items()}
    found = _posterior(votes, values, blind)
    people: dict[str, list[_Vote]] = defaultdict(list)
    for vote, others in zip(votes, found.without, strict=True):
        name = vote.entry.item
        has_others = vote.queued.gold is not None or len(given[name]) > 1
        likely = values[name][int(others.argmax())] if has_others else ""
        people[vote.entry.by].append(vote._replace(likely=likely))
    chances = {
        name: dict(zip(values[name], row.tolist(), strict=False)) for name, row in zip(values, found.items, strict=True)
    }
    measured = [_measure(name, people[name], blind) for name in sorted(people)]
    return ReviewFigures(measured, chances)


def _posterior(votes: list[_Vote], values: Mapping[str, list[str]], blind: bool) -> VotePosterior:
    import numpy as np

    from snellen.stats.dawid_skene import Votes, vote_posterior

    items = {name: at for at, name in enumerate(values)}
    people = {name: at for at, name in enumerate({vote.entry.by: None for vote in votes})}
    rows = [(items[entry.item], people[entry.by], values[entry.item].index(value)) for _, entry, value, _ in votes]
    known = {
        items[vote.entry.item]: values[vote.entry.item].index(right)
        for vote in votes
        if (right := _right_value(vote.queued, blind))
    }
    sizes = np.array(list(map(len, values.values())))
    return vote_posterior(Votes(*np.array(rows).T), sizes, known, one_coin=blind)


def _measure(name: str, votes: list[_Vote], blind: bool) -> AnnotatorFigures:
    counts = Counter(vote.value for vote in votes)
    shares = {value: count / len(votes) for value, count in counts.most_common()}
    judged = [vote for vote in votes if vote.likely]
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for vote in judged:
        confusion[vote.likely][vote.value] += 1
    kappa = estimate_kappa([vote.likely for vote in judged], [vote.value for vote in judged])
    rights = [(vote.value, _right_value(vote.queued, blind)) for vote in votes]
    gold = estimate_raw_agreement([pair for pair in rights if pair[1]])
    keys = [(vote.value, key_value(vote.queued.item)) for vote in votes if not vote.queued.gold]
    key = estimate_raw_agreement([pair for pair in keys if blind and pair[1]])
    times = [vote.entry.seconds for vote in votes if vote.entry.seconds is not None]
    return AnnotatorFigures(
        name,
        len(votes),
        shares,
        kappa,
        {value: dict(row) for value, row in confusion.items()},
        gold,
        key,
        median(times) if times else None,
        _warning(shares, kappa, gold),
    )


def _warning(shares: dict[str, float], kappa: AgreementEstimate, gold: AgreementEstimate) -> str:
    parts = []
    if _is_below(kappa, POOR_KAPPA):
        value, share = next(iter(shares.items()))
        kappa_text = f"{round(kappa.value or 0, 1) + 0.0:.1f}"
        parts.append(f"{100 * share:.0f} % {value[:40]}, kappa {kappa_text}")
    if _is_below(gold, POOR_GOLD):
        parts.append(f"{round((gold.value or 0) * gold.items)} of {gold.items} gold items right")
    return "; ".join(parts)


def _is_below(estimate: AgreementEstimate, limit: float) -> bool:
    interval = estimate.interval
    return interval is not None and interval.high < limit and estimate.items >= FEWEST_ITEMS


def _value(queued: QueuedItem, entry: ReviewEntry, blind: bool) -> str:
    """What an annotator says; of an answer, the gold or the key for every way to write it."""
    if not blind:
        return entry.action
    right = (_right_value(queued, blind), key_value(queued.item))
    if entry.action == "answer":
        for known in right:
            if known not in ("", DROPPED) and same_answer(queued.item, entry.answer, known):
                return known
    return answer_text(queued, entry)


def _values(votes: list[_Vote], blind: bool) -> list[str]:
    """The values that an item may have."""
    if not blind:
        return list(DECISIONS)
    queued = votes[0].queued
    choices = answer_choices(queued.item) if item_kind(queued.item) != "multi" else {}
    known = (key_value(queued.item), _right_value(queued, blind))
    given = (vote.value for vote in votes)
    return list(dict.fromkeys(filter(None, (*choices, *known, *given, DROPPED))))


def _right_value(queued: QueuedItem, blind: bool) -> str:
    """Of a gold item what is right; else ""."""
    if queued.gold is None:
        return ""
    if queued.gold.action != "answer":
        return DROPPED if blind else queued.gold.action
    return answer_value(queued.item, queued.gold.answer or key_value(queued.item))
