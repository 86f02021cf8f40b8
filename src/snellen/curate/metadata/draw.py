"""Which records become questions: at most N per subtask, evenly from its data sets; and where the
right options stand. By seed.

"In each task, we keep the maximum number of samples at 200 by random sampling, and each dataset
comprises the same number of samples" (MMT-Bench, Sec. 3.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from string import ascii_uppercase

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


def place_options(
    answer: str, distractors: Sequence[str], place: int, key: str, seed: int = 0
) -> dict[str, str]:
    """Options by label, the answer at its place and the distractors in an order by seed."""
    numbered = sorted(
        enumerate(distractors), key=lambda pair: sampling_key(f"{seed}:{key}", str(pair[0]))
    )
    texts = [text for _, text in numbered]
    texts.insert(place, answer)
    return dict(zip(ascii_uppercase, texts, strict=False))


def seeded_random(seed: int | str, name: str) -> Random:
    """A generator of its own for each name, so that nothing depends on what else is drawn."""
    return Random(int.from_bytes(sampling_key(seed, name), "big"))
