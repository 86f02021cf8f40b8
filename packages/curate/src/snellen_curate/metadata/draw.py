"""What is drawn, by seed: which records become questions, where the right options stand, and how
often each answer is offered.

"In each task, we keep the maximum number of samples at 200 by random sampling, and each dataset
comprises the same number of samples" (MMT-Bench, Sec. 3.2).

An answer can be wrong as often as it is right: a label that is always wrong, or a count that is
rarely right, tells a reader without the image which option it is not. No answer may be the key of
more than 1 in k questions with k options, as it would be right more often than chance even if every
question offered it: `plan_answers` says how many of its questions are kept. Then sets of k options
are drawn in which each answer is k times as often as it is the key, and the key is any of a set's
members.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from string import ascii_uppercase
from typing import NamedTuple

from snellen.core.sample import sampling_key


def fill_evenly(sizes: Mapping[str, int], limit: int) -> dict[str, int]:
    """How many to take of each source: one after the other from the source with the fewest so far
    that still has some, in the given order, until `limit`.

    Sources differ by at most one unless one of them is used up. A larger limit never takes less
    from any source.
    """
    taken = dict.fromkeys(sizes, 0)
    left = min(limit, sum(sizes.values()))
    level = 0
    while left:
        filling = [name for name, size in sizes.items() if size > level]
        # All of these can rise together to the size of the smallest, or share what is left.
        rise = min(min(sizes[name] for name in filling) - level, left // len(filling))
        if rise == 0:
            for name in filling[:left]:
                taken[name] += 1
            break
        for name in filling:
            taken[name] += rise
        level += rise
        left -= rise * len(filling)
    return taken


def balance_positions(items: Sequence[tuple[str, int]], seed: int | str) -> list[int]:
    """The place of the right option of each item, from 0, for items given as pairs of subtask and
    number of options.

    Over all items with k options, places occur equally often or differ by one; so they do within
    each subtask. Items added behind the last of a subtask leave the places of all but its last
    k - 1 as they were.
    """
    totals = Counter(items)
    # Rounds of k items hold each place once. The incomplete last round of each subtask goes on
    # where that of the subtask before ended, so that together they hold each place equally often.
    first_of_rest: dict[tuple[str, int], int] = {}
    next_place: dict[int, int] = {}
    for pair, total in totals.items():
        size = pair[1]
        start = next_place.get(size, seeded_random(seed, f"rest/{size}").randrange(size))
        first_of_rest[pair] = start
        next_place[size] = (start + total % size) % size
    seen: Counter[tuple[str, int]] = Counter()
    rounds: dict[tuple[str, int], list[int]] = {}
    places = []
    for pair in items:
        subtask, size = pair
        number, index = divmod(seen[pair], size)
        seen[pair] += 1
        if (number + 1) * size > totals[pair]:
            places.append((first_of_rest[pair] + index) % size)
            continue
        if index == 0:
            rounds[pair] = list(range(size))
            seeded_random(seed, f"round/{subtask}/{size}/{number}").shuffle(rounds[pair])
        places.append(rounds[pair][index])
    return places


def place_options(answer: str, distractors: Sequence[str], place: int, key: str, seed: int = 0) -> dict[str, str]:
    """Options by label, the answer at its place and the distractors in an order by seed."""
    numbered = sorted(enumerate(distractors), key=lambda pair: sampling_key(f"{seed}:{key}", str(pair[0])))
    texts = [text for _, text in numbered]
    texts.insert(place, answer)
    return dict(zip(ascii_uppercase, texts, strict=False))


def seeded_random(seed: int | str, name: str) -> Random:
    """A generator of its own for each name, so that nothing depends on what else is drawn."""
    return Random(int.from_bytes(sampling_key(seed, name), "big"))


_WORTH = 0.8
"""More options are taken while they cost no more than a fifth of the questions."""
_CERTAIN = 0.98
"""The chance of an answer to be offered that counts as certain."""
_TRIES = 100
_QUICK_TRIES = 5
_PLAN_ROUNDS = 8
_MIN_PLANNED = 20
"""Answers below which their frequencies say little."""


class AnswerFrequencies(NamedTuple):
    """Of the records of one source that a template takes."""

    counts: Mapping[str, float] = {}
    """Records by answer."""
    records: int = 0
    absent: Mapping[str, float] | None = None
    """Records by a label that was looked for and is not there; None: in all others."""

    def order(self, texts: Iterable[str], rng: Random) -> list[str]:
        """The texts in random order, the likelier ones earlier: the first n are drawn without
        replacement, each with the frequency of the answer as its weight. Answers that are never
        right come last.
        """
        texts = list(texts)
        weights = [self.counts.get(text, 0) for text in texts]
        return [texts[place] for place in draw_order(weights, rng)]

    def prefer_seen(self, texts: Iterable[str]) -> list[str]:
        """The texts in their order, those that are never right behind the others."""
        return sorted(texts, key=lambda text: text not in self.counts)

    def presence_weight(self, label: str, *, is_present: bool) -> float:
        """With these weights a label is asked for as often where it is absent as where it is
        present; 0 for one that is everywhere, or nowhere."""
        present = self.counts.get(label, 0)
        absent = max(0, self.records - present) if self.absent is None else self.absent.get(label, 0)
        return min(present, absent) / max(1, present if is_present else absent)


NO_FREQUENCIES = AnswerFrequencies()
"""Of a source about which nothing is known."""


class AnswerPlan(NamedTuple):
    """Which answers are keys, and how often each is offered."""

    size: int
    """Options of a question."""
    keep: Mapping[str, float] = {}
    """By answer the share of its questions that is kept; empty without a plan."""
    offered: Mapping[str, float] = {}
    """By answer the chance that a question offers it; empty without a plan."""

    def draw_wrong(self, gold: str, texts: Sequence[str], rng: Random) -> list[str]:
        """Wrong options from these texts, `size - 1` or as many as there are.

        Sets are those of Sampford's design, with which each answer is offered with exactly its
        chance (M. Sampford, "On sampling without replacement with unequal probabilities of
        selection", 1967).
        """
        chances = {text: min(self.offered[text], _CERTAIN) for text in texts if text != gold and text in self.offered}
        count = min(self.size - 1, len(chances))
        weights = {text: chance / (1 - chance) for text, chance in chances.items()}
        own = 1 - min(self.offered.get(gold, 0.0), _CERTAIN)
        most = own + sum(sorted((1 - chance for chance in chances.values()), reverse=True)[:count])
        chosen: list[str] = []
        for _ in range(_TRIES):
            chosen = draw_weighted_set(weights, count, rng)
            if rng.random() * most < own + sum(1 - chances[text] for text in chosen):
                break
        rng.shuffle(chosen)
        return chosen


def plan_answers(
    counts: Mapping[str, float], fewest: int, most: int, several: Sequence[Sequence[str]] = (), per_record: int = 1
) -> AnswerPlan:
    """The plan for answers that are right so often, with `fewest` to `most` options a question.

    There is none for answers too few for that: all are kept. `several` are the answers of those
    records that have more than `per_record`, of which so many are asked for.
    """
    if fewest > len(counts) or sum(counts.values()) < _MIN_PLANNED:
        return AnswerPlan(most)
    plan = _plan_for(counts, fewest, most)
    for _ in range(_PLAN_ROUNDS if several else 0):
        # How often an answer is asked for depends on which others of its record are kept.
        asked = dict(counts)
        for texts in several:
            kept = sum(plan.keep.get(text, 1.0) for text in texts)
            for text in filter(asked.__contains__, texts):
                asked[text] -= 1 - min(1.0, per_record / (1 + kept - plan.keep[text]))
        plan = _plan_for(asked, fewest, most)
    return plan


def _plan_for(counts: Mapping[str, float], fewest: int, most: int) -> AnswerPlan:
    """The plan for records with one answer each."""
    sizes = [size for size in range(fewest, most + 1) if size <= len(counts)]
    limits = {size: _most_of_an_answer(counts, size) for size in sizes}
    worth = _WORTH * limits[sizes[0]] * sizes[0]
    size = max(size for size in sizes if limits[size] * size >= worth)
    kept = {text: min(count, limits[size]) for text, count in counts.items()}
    total = sum(kept.values())
    return AnswerPlan(
        size,
        {text: kept[text] / count if count else 0.0 for text, count in counts.items()},
        {text: size * number / total for text, number in kept.items()},
    )


def _most_of_an_answer(counts: Mapping[str, float], size: int) -> float:
    """The most questions that may have the same key: 1 in `size` of those that are kept."""
    ordered = sorted(counts.values(), reverse=True)
    rest = sum(ordered)
    for capped, count in enumerate(ordered[:size]):
        # The `capped` most frequent ones have so many, and the rest makes up the others.
        limit = rest / (size - capped)
        if count <= limit:
            return limit
        rest -= count
    return ordered[size - 1]


def draw_order(weights: Sequence[float], rng: Random) -> list[int]:
    """Places in random order, of which the first n are drawn without replacement with these
    weights; those without a weight come last."""
    # Exponential variables with these rates end in this order (Efraimidis and Spirakis 2006).
    times = [
        (weight == 0, -math.log(1.0 - rng.random()) / (weight or 1.0), place) for place, weight in enumerate(weights)
    ]
    return [place for _, _, place in sorted(times)]


def draw_weighted_set(weights: Mapping[str, float], count: int, rng: Random) -> list[str]:
    """Draw `count` of the texts, a set with the product of its weights as its probability.

    S. X. Chen, A. Dempster, J. Liu, "Weighted finite population sampling to maximize entropy",
    1994.
    """
    texts = list(weights)
    # Draws with replacement that are all different are such sets; where one weight is most of all,
    # they hardly ever are.
    for _ in range(_QUICK_TRIES if count else 0):
        drawn = rng.choices(texts, list(weights.values()), k=count)
        if len(set(drawn)) == count:
            return drawn
    # sums[i][n]: sum over the sets of n texts from the i-th on.
    sums = [[1.0] + [0.0] * count]
    for text in reversed(texts):
        last = sums[-1]
        sums.append([1.0] + [last[n] + weights[text] * last[n - 1] for n in range(1, count + 1)])
    sums.reverse()
    chosen: list[str] = []
    for place, text in enumerate(texts):
        left = count - len(chosen)
        if left and rng.random() * sums[place][left] < weights[text] * sums[place + 1][left - 1]:
            chosen.append(text)
    return chosen
