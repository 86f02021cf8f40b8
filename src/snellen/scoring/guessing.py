"""What guessing would score on the same questions.

Uniform guessing and the most frequent label: MMT-Bench (Ying et al., 2024), Table 2. There the
label is chosen on the questions that it is scored on, which is too high where they are few; here it
is chosen on one half of them and scored on the other.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from snellen.core.record import Record
from snellen.core.summary import Metric
from snellen.scoring.clusters import clusters

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
    shares: dict[str, float] = {}
    if all(record.options for record in closed if record.kind == "choice"):
        shares[CHANCE] = sum(map(chance_of, closed))
        if circular:
            shares[SAME_TEXT] = sum(map(accepted_share, closed))
            shares[SAME_LETTER] = sum(map(_chance_of_one_letter, closed))
    if not circular:
        shares[FREQUENT] = frequent_right(closed)
    return {name: Metric(name, 100 * right / n, n) for name, right in shares.items()}


def accepted_share(record: Record) -> float:
    """The share of a closed question's options that are accepted: what a guess in one pass scores,
    0..1."""
    count = 2 if record.kind == "yes_no" else len(record.options)
    labels = {"Yes", "No"} if record.kind == "yes_no" else set(record.options)
    return max(1, len(labels.intersection(record.gold))) / count


def chance_of(record: Record) -> float:
    """What guessing uniformly, anew in each pass, scores on a closed question, 0..1."""
    return accepted_share(record) ** _passes(record)


def _chance_of_one_letter(record: Record) -> float:
    """A letter has another text in each pass, and so is right in all only if all are accepted."""
    share = accepted_share(record)
    return share if _passes(record) == 1 else float(share == 1)


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
    held_by = [name or record.id for name, record in zip(clusters(closed), closed, strict=True)]
    # Named by their first question, so that the order of the questions does not count.
    first_of: dict[str, str] = {}
    for name, record in zip(held_by, closed, strict=True):
        first_of[name] = min(record.id, first_of.get(name, record.id))
    for name, record in zip(held_by, closed, strict=True):
        kinds[record.kind].append((first_of[name], record))
    total = 0.0
    for kind, held in kinds.items():
        names = sorted({cluster for cluster, _ in held})
        units = {name: at for at, name in enumerate(names)}
        labels = sorted({label for _, record in held for label in record.gold})
        places = {label: at for at, label in enumerate(labels)}
        accepted = np.zeros((len(held), len(labels)))
        for row, (_, record) in enumerate(held):
            accepted[row, [places[label] for label in record.gold]] = 1.0
        unit = np.array([units[cluster] for cluster, _ in held])
        half = np.arange(len(names)) % 2
        order = list(range(len(names)))
        shuffle = random.Random(f"frequent label:{kind}").shuffle
        for _ in range(SPLITS):
            shuffle(order)
            first = half[order][unit] == 0
            for chosen_on in (first, ~first):
                counts = accepted[chosen_on].sum(axis=0)
                best = counts == counts.max()
                total += float(accepted[~chosen_on][:, best].mean(axis=1).sum())
    return total / SPLITS
