"""Pair the blocks of a reply with those of the gold page, where one of them may be several of the
other: a paragraph that is written in two, or two that are written in one.

First each block of the gold gets the one that is most alike, the likest pair first; then what is left on
either side joins a neighbour's group if that makes its edits fewer (the idea of the adjacency search of
OmniDocBench, https://arxiv.org/abs/2412.07626, Sec. 4, whose own steps `published` restates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

_ALIKE = 0.3
"""Least normalised similarity of a pair."""
_CONTAINED = 70.0
"""Least similarity of a text with the part of a longer one that it may be, in percent."""


class Group(NamedTuple):
    """Blocks that say the same, by index: one of the gold and several of the reply, or the reverse."""

    gold: tuple[int, ...]
    reply: tuple[int, ...]


class Edits(NamedTuple):
    """An edit distance and the length of the longer text, whose ratio is the normalised distance."""

    edits: float
    length: float

    def __add__(self, other: Edits) -> Edits:  # type: ignore[override]
        return Edits(self.edits + other.edits, self.length + other.length)

    @property
    def similarity(self) -> float:
        """1 - normalised edit distance; 1 of nothing."""
        return 1 - self.edits / self.length if self.length else 1.0


def count_edits(first: Sequence[object], second: Sequence[object]) -> Edits:
    """The Levenshtein distance of two texts or sequences."""
    return Edits(Levenshtein.distance(first, second), max(len(first), len(second)))


def match_blocks(golds: Sequence[str], replies: Sequence[str]) -> list[Group]:
    """The groups of blocks that say the same, by the first block of the gold, then those of either
    side alone. Texts are those that count (`texts.counted_text`); empty ones are in no group."""
    pairs = _likest_pairs(golds, replies)
    of_gold = {gold: [reply] for gold, reply in pairs}
    of_reply = {reply: [gold] for gold, reply in pairs}
    _join_rest(golds, replies, of_gold, taken=of_reply)
    _join_rest(replies, golds, of_reply, taken=of_gold)
    groups = []
    for gold, reply in pairs:
        groups.append(Group(tuple(sorted(of_reply[reply])), tuple(sorted(of_gold[gold]))))
    in_gold = {index for group in groups for index in group.gold}
    in_reply = {index for group in groups for index in group.reply}
    groups += [Group((index,), ()) for index, text in enumerate(golds) if text and index not in in_gold]
    alone = [Group((), (index,)) for index, text in enumerate(replies) if text and index not in in_reply]
    return sorted(groups) + alone


def _likest_pairs(golds: Sequence[str], replies: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of which each block is in one at most, the likest first; of equal ones the nearest."""
    found = []
    for gold, text in enumerate(golds):
        for reply, other in enumerate(replies):
            if not text or not other:
                continue
            alike = Levenshtein.normalized_similarity(text, other, score_cutoff=_ALIKE)
            if alike < _ALIKE and fuzz.partial_ratio(text, other, score_cutoff=_CONTAINED) < _CONTAINED:
                continue
            shared = min(len(text), len(other)) / max(len(text), len(other))
            found.append((-max(alike, 0.5 * shared), abs(gold - reply), gold, reply))
    pairs, used_golds, used_replies = [], set[int](), set[int]()
    for _, _, gold, reply in sorted(found):
        if gold not in used_golds and reply not in used_replies:
            pairs.append((gold, reply))
            used_golds.add(gold)
            used_replies.add(reply)
    return pairs


def _join_rest(
    wholes: Sequence[str], parts: Sequence[str], of_whole: dict[int, list[int]], taken: dict[int, list[int]]
) -> None:
    """Add parts that are in no pair to the whole that they are a part of, where the joined parts are
    nearer to it than without them. A whole whose part stands for several others takes no more."""
    free = [index for index, text in enumerate(parts) if text and index not in taken]
    joined: set[int] = set()
    for part in free:
        gains = []
        for whole, members in of_whole.items():
            if len(taken.get(members[0], ())) > 1:
                continue
            if len(wholes[whole]) < len(parts[part]):
                continue
            if fuzz.partial_ratio(parts[part], wholes[whole], score_cutoff=_CONTAINED) < _CONTAINED:
                continue
            now = Levenshtein.distance(_join_texts(parts, members), wholes[whole])
            then = Levenshtein.distance(_join_texts(parts, [*members, part]), wholes[whole])
            gains.append((now - then, -abs(part - members[0]), whole))
        if gains and max(gains)[0] > 0:
            of_whole[max(gains)[2]].append(part)
            joined.add(part)


def _join_texts(parts: Sequence[str], members: Sequence[int]) -> str:
    return "".join(parts[index] for index in sorted(members))
