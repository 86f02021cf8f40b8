"""Pair the blocks of a reply with those of the gold page, where one of them may be several of the
other: a paragraph that is written in two, or two that are written in one.

First each block of the gold gets the one that is most alike, the likest pair first; then what is left on
either side joins a neighbour's group if that makes its edits fewer (the idea of the adjacency search of
OmniDocBench, https://arxiv.org/abs/2412.07626, Sec. 4, whose own steps `published` restates).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

_ALIKE = 0.3
"""Least normalised similarity of a pair."""
_PIECE, _CONTAINED = 5, 0.4
"""Length of the pieces of a text, and how many of them a longer text of which it is a part has: a sign in ten
that is misread leaves six pieces in ten as they are."""


class Group(NamedTuple):
    """Blocks that say the same, by index: one of the gold and several of the reply, or the reverse."""

    gold: tuple[int, ...]
    reply: tuple[int, ...]


class _CutText(NamedTuple):
    text: str
    pieces: frozenset[str]


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


def sum_edits(pairs: Iterable[tuple[str, str]]) -> Edits:
    """The edits of several pairs of texts, added up."""
    total = Edits(0, 0)
    for pair in pairs:
        total += count_edits(*pair)
    return total


def match_blocks(golds: Sequence[str], replies: Sequence[str]) -> list[Group]:
    """The groups of blocks that say the same, by the first block of the gold, then those of either
    side alone. Texts are those that count (`texts.counted_text`); empty ones are in no group."""
    ours, theirs = [*map(_cut, golds)], [*map(_cut, replies)]
    pairs = _likest_pairs(ours, theirs)
    of_gold = {gold: [reply] for gold, reply in pairs}
    of_reply = {reply: [gold] for gold, reply in pairs}
    _join_rest(ours, theirs, of_gold, taken=of_reply)
    _join_rest(theirs, ours, of_reply, taken=of_gold)
    groups = []
    for gold, reply in pairs:
        groups.append(Group(tuple(sorted(of_reply[reply])), tuple(sorted(of_gold[gold]))))
    in_gold = {index for group in groups for index in group.gold}
    in_reply = {index for group in groups for index in group.reply}
    groups += [Group((index,), ()) for index, text in enumerate(golds) if text and index not in in_gold]
    alone = [Group((), (index,)) for index, text in enumerate(replies) if text and index not in in_reply]
    return sorted(groups) + alone


def _cut(text: str) -> _CutText:
    return _CutText(text, frozenset(text[start : start + _PIECE] for start in range(len(text) - _PIECE + 1)))


def _likest_pairs(golds: Sequence[_CutText], replies: Sequence[_CutText]) -> list[tuple[int, int]]:
    """Pairs of which each block is in one at most, the likest first; of equal ones the nearest."""
    found = []
    for gold, one in enumerate(golds):
        for reply, other in enumerate(replies):
            if not one.text or not other.text:
                continue
            alike = Levenshtein.normalized_similarity(one.text, other.text, score_cutoff=_ALIKE)
            if alike >= _ALIKE or _is_part(one, other):
                shared = min(len(one.text), len(other.text)) / max(len(one.text), len(other.text))
                found.append((-max(alike, 0.5 * shared), abs(gold - reply), gold, reply))
    pairs, used_golds, used_replies = [], set[int](), set[int]()
    for _, _, gold, reply in sorted(found):
        if gold not in used_golds and reply not in used_replies:
            pairs.append((gold, reply))
            used_golds.add(gold)
            used_replies.add(reply)
    return pairs


def _join_rest(
    wholes: Sequence[_CutText], parts: Sequence[_CutText], of_whole: dict[int, list[int]], taken: dict[int, list[int]]
) -> None:
    """Add parts that are in no pair to the whole that they are a part of, where the joined parts are
    nearer to it than without them. A whole whose part stands for several others takes no more."""
    open_wholes = [whole for whole, members in of_whole.items() if len(taken.get(members[0], ())) <= 1]
    distances = {
        whole: Levenshtein.distance(_join_texts(parts, of_whole[whole]), wholes[whole].text) for whole in open_wholes
    }
    for part in [index for index, one in enumerate(parts) if one.text and index not in taken]:
        best: tuple[int, int, int] | None = None
        for whole in open_wholes:
            if len(wholes[whole].text) < len(parts[part].text) or not _is_part(parts[part], wholes[whole]):
                continue
            members = of_whole[whole]
            joined = Levenshtein.distance(_join_texts(parts, [*members, part]), wholes[whole].text)
            gain = (distances[whole] - joined, -abs(part - members[0]), whole)
            best = gain if best is None or gain > best else best
        if best is not None and best[0] > 0:
            of_whole[best[2]].append(part)
            distances[best[2]] -= best[0]


def _is_part(one: _CutText, other: _CutText) -> bool:
    """Whether most pieces of the shorter text stand in the longer one."""
    short, long = (one, other) if len(one.text) <= len(other.text) else (other, one)
    if len(short.text) < _PIECE:
        return short.text in long.text
    return len(short.pieces & long.pieces) >= _CONTAINED * len(short.pieces)


def _join_texts(parts: Sequence[_CutText], members: Sequence[int]) -> str:
    return "".join(parts[index].text for index in sorted(members))
