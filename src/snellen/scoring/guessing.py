"""What guessing would score on the same questions.

Uniform guessing and the most frequent label: MMT-Bench (Ying et al., 2024), Table 2. There the
label is chosen on the questions it is scored on, which overestimates guessing on few questions;
here it is chosen on one half of them and scored on the other.
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
"""Names of the metrics that describe guessing and not the model."""
SPLITS = 20
"""Random halves over which the most frequent label is averaged."""


def guess_metrics(records: Sequence[Record]) -> dict[str, Metric]:
    """Expected scores of guessing, in percent, over all `records`; an open question is never
    guessed right.

    `chance` guesses uniformly, anew in each pass. If questions are asked in rotations,
    `chance_same_text` keeps the text it drew and `chance_same_letter` the letter, through all
    passes; otherwise `frequent` is the score of always giving the most frequent label of each kind
    of question. Empty without gold answers; no chance level if options are unknown.
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
    """The fraction of a closed question's options that are accepted: what a guess in one pass
    scores, 0..1."""
    count = 2 if record.kind == "yes_no" else len(record.options)
    labels = {"Yes", "No"} if record.kind == "yes_no" else set(record.options)
    return max(1, len(labels.intersection(record.gold))) / count


def chance_of(record: Record) -> float:
    """What guessing uniformly, anew in each pass, scores on a closed question, 0..1."""
    return accepted_fraction(record) ** _passes(record)


def _chance_of_one_letter(record: Record) -> float:
    """What always giving one random letter scores, 0..1: a letter has another text in each pass, so
    it is right in all of them only if all options are accepted."""
    fraction = accepted_fraction(record)
    return fraction if _passes(record) == 1 else float(fraction == 1)


def _passes(record: Record) -> int:
    """Passes that must all be right: the rotations of the options under CircularEval."""
    rotated = "vanilla" in record.values and record.kind == "choice" and not record.asked_once
    return max(1, len(record.options) - record.lacking) if rotated else 1


def frequent_right(closed: Sequence[Record]) -> float:
    """Mean number of these questions answered right by always giving the label that most of the
    other half accepts, for each kind of question, over `SPLITS` random halves used both ways.
    Equally frequent labels share the answer. Questions about one image stay in the same half: if
    each image has as many questions with yes as with no, so has each half."""
    kinds: dict[str, list[tuple[str, Record]]] = defaultdict(list)
    cluster_ids = [
        name or record.id for name, record in zip(cluster_samples(closed), closed, strict=True)
    ]
    # A cluster is named by its smallest question id, so that the random halves do not depend on the
    # order of the questions.
    first_of: dict[str, str] = {}
    for name, record in zip(cluster_ids, closed, strict=True):
        first_of[name] = min(record.id, first_of.get(name, record.id))
    for name, record in zip(cluster_ids, closed, strict=True):
        kinds[record.kind].append((first_of[name], record))
    return sum(_cross_fit(kind, questions) for kind, questions in kinds.items())


def _cross_fit(kind: str, questions: Sequence[tuple[str, Record]]) -> float:
    """Expected number of right answers among the questions of one kind, each with its cluster
    id."""
    units = {
        name: index for index, name in enumerate(sorted({cluster for cluster, _ in questions}))
    }
    labels = {
        label: index
        for index, label in enumerate(
            sorted({gold for _, record in questions for gold in record.gold})
        )
    }
    # Number of questions of each cluster that accept each label: (clusters, labels). A question
    # with several accepted answers counts once for each of them.
    accepted = np.zeros((len(units), len(labels)))
    cells = [(units[name], labels[gold]) for name, record in questions for gold in set(record.gold)]
    np.add.at(accepted, tuple(np.array(cells).T), 1.0)
    totals = accepted.sum(axis=0)
    random = seeded_generator(f"frequent label:{kind}")
    half = len(units) // 2
    right = 0.0
    for _ in range(SPLITS):
        first = accepted[random.permutation(len(units))[:half]].sum(axis=0)
        # The label is chosen on one half (`counts`) and scored on the other, in both directions.
        for counts in (first, totals - first):
            best = counts == counts.max()
            right += float((totals - counts)[best].mean())
    return right / SPLITS
