"""What guessing would score on the same questions.

Uniform guessing and the most frequent label: MMT-Bench (Ying et al., 2024), Table 2. There the
label is chosen on the questions that it is scored on, which is too high where they are few; here it
is chosen on one half of them and scored on the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from snellen.core.record import Record
from snellen.core.summary import Metric
from snellen.scoring.clusters import cluster_samples
from snellen.stats.resampling import seeded_generator

CHANCE, SAME_TEXT, SAME_LETTER, FREQUENT = (
    "chance", "chance_same_text", "chance_same_letter", "frequent"
)  # fmt: skip
GUESSES = (CHANCE, SAME_TEXT, SAME_LETTER, FREQUENT)
"""Names of the metrics that no model earned."""
SPLITS = 20
"""Random halves that the most frequent label is averaged over."""


def guess_metrics(records: Sequence[Record]) -> dict[str, Metric]:
    """Expected scores of guessing, in percent, over all `records`: an open question is never
    guessed right.

    `chance` guesses uniformly, anew in each pass. Where questions are asked in rotations,
    `chance_same_text` keeps the text that it drew and `chance_same_letter` the letter, through all
    passes; elsewhere `frequent` is what always answering the most frequent label scores, for each
    kind of question. Nothing without gold answers, and no chance where options are not known.
    """
    closed = [record for record in records if record.kind != "open" and record.gold]
    if not closed:
        return {}
    n = len(records)
    circular = any("vanilla" in record.values for record in records)
    expected_right: dict[str, float] = {}
    if all(record.options for record in closed if record.kind == "choice"):
        expected_right[CHANCE] = sum(map(chance_of, closed))
        if circular:
            expected_right[SAME_TEXT] = sum(map(accepted_fraction, closed))
            expected_right[SAME_LETTER] = sum(map(_chance_of_one_letter, closed))
    if not circular:
        expected_right[FREQUENT] = frequent_right(closed)
    return {name: Metric(name, 100 * right / n, n) for name, right in expected_right.items()}


def accepted_fraction(record: Record) -> float:
    """The share of a closed question's options that are accepted: what a guess in one pass scores,
    0..1."""
    count = 2 if record.kind == "yes_no" else len(record.options)
    labels = {"Yes", "No"} if record.kind == "yes_no" else set(record.options)
    return max(1, len(labels.intersection(record.gold))) / count


def chance_of(record: Record) -> float:
    """What guessing uniformly, anew in each pass, scores on a closed question, 0..1."""
    return accepted_fraction(record) ** _passes(record)


def _chance_of_one_letter(record: Record) -> float:
    """A letter has another text in each pass, and so is right in all only if all are accepted."""
    fraction = accepted_fraction(record)
    return fraction if _passes(record) == 1 else float(fraction == 1)


def _passes(record: Record) -> int:
    """Passes that must all be right: the rotations of the options under CircularEval."""
    rotated = "vanilla" in record.values and record.kind == "choice" and not record.asked_once
    return max(1, len(record.options) - record.lacking) if rotated else 1


def frequent_right(closed: Sequence[Record]) -> float:
    """How many of these questions are answered right, on average, by always giving the label that
    most of the other half of them accept, for each kind of question; over `SPLITS` random halves,
    both ways. Labels that are equally frequent share the answer. Questions about one picture stay
    together: where each picture has as many questions with yes as with no, so has each half."""
    kinds: dict[str, list[tuple[str, Record]]] = defaultdict(list)
    cluster_ids = [
        name or record.id for name, record in zip(cluster_samples(closed), closed, strict=True)
    ]
    # Named by their first question, so that the order of the questions does not count.
    first_of: dict[str, str] = {}
    for name, record in zip(cluster_ids, closed, strict=True):
        first_of[name] = min(record.id, first_of.get(name, record.id))
    for name, record in zip(cluster_ids, closed, strict=True):
        kinds[record.kind].append((first_of[name], record))
    return sum(_cross_fit(kind, questions) for kind, questions in kinds.items())


def _cross_fit(kind: str, questions: Sequence[tuple[str, Record]]) -> float:
    """How many of the questions of one kind, each with the name of its cluster, are right."""
    units = {name: at for at, name in enumerate(sorted({cluster for cluster, _ in questions}))}
    labels = {
        label: at
        for at, label in enumerate(sorted({gold for _, one in questions for gold in one.gold}))
    }
    # How many questions of each cluster accept each label.
    accepted = np.zeros((len(units), len(labels)))
    cells = [(units[name], labels[gold]) for name, one in questions for gold in set(one.gold)]
    np.add.at(accepted, tuple(np.array(cells).T), 1.0)
    totals = accepted.sum(axis=0)
    random = seeded_generator(f"frequent label:{kind}")
    half = len(units) // 2
    right = 0.0
    for _ in range(SPLITS):
        first = accepted[random.permutation(len(units))[:half]].sum(axis=0)
        for counts in (first, totals - first):
            best = counts == counts.max()
            right += float((totals - counts)[best].mean())
    return right / SPLITS
