"""Which of many systems cannot be told apart, as letters: two share one if and only if no test
tells them apart.

Insert-and-absorb: H.-P. Piepho, "An algorithm for a letter-based representation of all-pairwise
comparisons", Journal of Computational and Graphical Statistics 13 (2004), Sec. 2. For each pair
that is told apart a group that holds both is split into one without the first and one without the
second; a group that lies within another is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from string import ascii_lowercase


def letter_groups(count: int, different: Collection[tuple[int, int]]) -> list[str]:
    """Letters of the systems 0 to `count` - 1, which stand in the order of their scores;
    `different` holds the pairs that are told apart. The first system has the letter a. Beyond z
    letters are aa, ab, ...; a system's letters are then set apart by blanks.

    Raises:
        ValueError: a pair of a system with itself, or of one that is not there.
    """
    groups = [frozenset(range(count))]
    for one, other in sorted((min(pair), max(pair)) for pair in different):
        if not 0 <= one < other < count:
            raise ValueError(f"expected pairs of two of {count} systems, got {(one, other)}")
        both = [group for group in groups if {one, other} <= group]
        rest = [group for group in groups if not {one, other} <= group]
        split = dict.fromkeys(part for group in both for part in (group - {one}, group - {other}))
        groups = rest + [
            part
            for part in split
            if not any(part < other_part for other_part in split)
            and not any(part <= group for group in rest)
        ]
    ordered = sorted((group for group in groups if group), key=sorted)
    joint = "" if len(ordered) <= len(ascii_lowercase) else " "
    return [
        joint.join(_letter(place) for place, group in enumerate(ordered) if system in group)
        for system in range(count)
    ]


def _letter(place: int) -> str:
    """a to z, then aa, ab, ..."""
    before, last = divmod(place, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]
