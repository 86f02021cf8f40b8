"""Which of the questions that passed are taken, and in what order their options stand. By seed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from snellen.core.sample import sampling_key

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Candidate(NamedTuple):
    """As much of a question as the choice needs."""

    id: str
    dimension: str
    picture: str


class BalancedQuestions(NamedTuple):
    kept: frozenset[str]
    left_out: dict[str, str]
    """Why each other one was left out, by id."""


def balance(
    candidates: Iterable[Candidate],
    *,
    per_dimension: int = 0,
    per_picture: int = 0,
    seed: int = 0,
) -> BalancedQuestions:
    """At most so many questions of a dimension, and of a picture; 0 is no limit.

    Questions are drawn in an order by seed, one of each dimension in turn, so that a picture's few
    places do not all go to the dimension that is asked about most. A larger limit only adds.
    """
    by_dimension: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_dimension[candidate.dimension].append(candidate)
    queues = {
        name: sorted(those, key=lambda one: sampling_key(seed, one.id), reverse=True)
        for name, those in sorted(by_dimension.items())
    }
    taken: Counter[str] = Counter()
    pictures: Counter[str] = Counter()
    kept: set[str] = set()
    left_out: dict[str, str] = {}
    while any(queues.values()):
        for name, queue in queues.items():
            while queue:
                candidate = queue.pop()
                if per_dimension and taken[name] >= per_dimension:
                    left_out[candidate.id] = f"{per_dimension} questions of {name} are enough"
                elif per_picture and pictures[candidate.picture] >= per_picture:
                    left_out[candidate.id] = f"{per_picture} questions about the picture are enough"
                else:
                    taken[name] += 1
                    pictures[candidate.picture] += 1
                    kept.add(candidate.id)
                    break
    return BalancedQuestions(frozenset(kept), left_out)


def answer_positions(ids: Sequence[str], options: int, seed: int = 0) -> dict[str, int]:
    """The place of each question's answer, from 0, by id.

    Every place holds the answer equally often, up to one; which question has which place is by
    seed.
    """
    order = sorted(ids, key=lambda one: sampling_key(f"{seed}:positions", one))
    places = sorted(range(options), key=lambda place: sampling_key(f"{seed}:places", str(place)))
    return {one: places[number % options] for number, one in enumerate(order)}


def place_options(
    answer: str, distractors: Sequence[str], place: int, key: str, seed: int = 0
) -> dict[str, str]:
    """Options by label, the answer at its place and the distractors in an order by seed."""
    numbered = sorted(
        enumerate(distractors), key=lambda pair: sampling_key(f"{seed}:{key}", str(pair[0]))
    )
    texts = [text for _, text in numbered]
    texts.insert(place, answer)
    return dict(zip(LABELS, texts, strict=False))
