"""Compact letter display: two systems share a letter if and only if no test separates them.

Insert-and-absorb: H.-P. Piepho, "An algorithm for a letter-based representation of all-pairwise
comparisons", Journal of Computational and Graphical Statistics 13 (2004), Sec. 2. For each
separated pair, a group that contains both is split into one without the first and one without the
second; a group inside another is dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from string import ascii_lowercase


def letter_groups(count: int, different: Collection[tuple[int, int]]) -> list[str]:
    """Letters of the systems 0 to `count` - 1, in the order of their scores.

    `different` has the pairs that a test separates. The first system has the letter a. After z come
    aa, ab, ...; the letters of a system are then separated by blanks. Raises ValueError for a pair
    of a system with itself, or of one that does not exist.
    """
    # A group is a number whose bits are its systems: boards have thousands of pairs.
    groups = [(1 << count) - 1]
    for first, second in sorted((min(pair), max(pair)) for pair in different):
        if not 0 <= first < second < count:
            raise ValueError(f"expected pairs of two of {count} systems, got {(first, second)}")
        one, other = 1 << first, 1 << second
        pair = one | other
        unsplit = [group for group in groups if group & pair != pair]
        if len(unsplit) == len(groups):
            continue
        split = dict.fromkeys(part for group in groups if group & pair == pair for part in (group ^ one, group ^ other))
        groups = unsplit + [part for part in split if not _is_inside(part, split, unsplit)]
    ordered = sorted([system for system in range(count) if group >> system & 1] for group in groups if group)
    joint = "" if len(ordered) <= len(ascii_lowercase) else " "
    letters: list[list[str]] = [[] for _ in range(count)]
    for index, systems in enumerate(ordered):
        for system in systems:
            letters[system].append(_letter(index))
    return [joint.join(of_system) for of_system in letters]


def _is_inside(part: int, split: Iterable[int], unsplit: Iterable[int]) -> bool:
    """Whether a group is inside another new one, or inside or equal to one that was not split."""
    for other in unsplit:
        if part & other == part:
            return True
    for other in split:  # noqa: SIM110 - a generator takes longer
        if part & other == part and part != other:
            return True
    return False


def _letter(index: int) -> str:
    """a to z, then aa, ab, ..."""
    prefix, last = divmod(index, len(ascii_lowercase))
    return (_letter(prefix - 1) if prefix else "") + ascii_lowercase[last]
