"""Compact letter display: two systems share a letter if and only if no test separates them.

Insert-and-absorb: H.-P. Piepho, "An algorithm for a letter-based representation of all-pairwise
comparisons", Journal of Computational and Graphical Statistics 13 (2004), Sec. 2. For each
separated pair, a group that contains both is split into one without the first and one without the
second; a group inside another is dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from string import ascii_lowercase


def letter_groups(count: int, different: Collection[tuple[int, int]]) -> list[str]:
    """Letters of the systems 0 to `count` - 1, in the order of their scores.

    `different` has the pairs that a test separates. The first system has the letter a. After z come
    aa, ab, ...; the letters of a system are then separated by blanks. Raises ValueError for a pair
    of a system with itself, or of one that does not exist.
    """
    groups = [frozenset(range(count))]
    for first, second in sorted((min(pair), max(pair)) for pair in different):
        if not 0 <= first < second < count:
            raise ValueError(f"expected pairs of two of {count} systems, got {(first, second)}")
        both = [group for group in groups if {first, second} <= group]
        unsplit = [group for group in groups if not {first, second} <= group]
        split = dict.fromkeys(part for group in both for part in (group - {first}, group - {second}))
        groups = unsplit + [
            part
            for part in split
            if not any(part < other_part for other_part in split) and not any(part <= group for group in unsplit)
        ]
    ordered = sorted((group for group in groups if group), key=sorted)
    joint = "" if len(ordered) <= len(ascii_lowercase) else " "
    return [
        joint.join(_letter(index) for index, group in enumerate(ordered) if system in group) for system in range(count)
    ]


def _letter(index: int) -> str:
    """a to z, then aa, ab, ..."""
    prefix, last = divmod(index, len(ascii_lowercase))
    return (_letter(prefix - 1) if prefix else "") + ascii_lowercase[last]
