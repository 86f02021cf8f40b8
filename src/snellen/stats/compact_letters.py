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
    for first, second in sorted((min(pair), max(pair)) for pair in different):
        if not 0 <= first < second < count:
            raise ValueError(f"expected pairs of two of {count} systems, got {(first, second)}")
        both = [group for group in groups if {first, second} <= group]
        unsplit = [group for group in groups if not {first, second} <= group]
        split = dict.fromkeys(
            part for group in both for part in (group - {first}, group - {second})
        )
        groups = unsplit + [
            part
            for part in split
            if not any(part < other_part for other_part in split)
            and not any(part <= group for group in unsplit)
        ]
    ordered = sorted((group for group in groups if group), key=sorted)
    joint = "" if len(ordered) <= len(ascii_lowercase) else " "
    return [
        joint.join(_letter(place) for place, group in enumerate(ordered) if system in group)
        for system in range(count)
    ]


def _letter(index: int) -> str:
    """a to z, then aa, ab, ..."""
    prefix, last = divmod(index, len(ascii_lowercase))
    return (_letter(prefix - 1) if prefix else "") + ascii_lowercase[last]
