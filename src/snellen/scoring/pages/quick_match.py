"""The matching `quick_match` of OmniDocBench's evaluation, as in the release that VLMEvalKit holds
(vlmeval/dataset/OmniDocBench/utils.py): the adjacency search of the paper (Ouyang et al. 2024,
https://arxiv.org/abs/2412.07626, Sec. 4).

Blocks of the reply that are together nearer to a gold block than alone become one; the gold blocks are
assigned by least sum; what is no good match is sought within longer blocks of the reply; the rest is
assigned again. Its order of ties is that of scipy and of Python's sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from snellen.core.page import Block

_CERTAIN, _FUZZY, _PART, _WITHIN = 0.25, 0.7, 0.6, 0.4
"""Distances up to which a pair is certain, is one at all, and a text counts as a part of another."""


class Written(NamedTuple):
    """A block of a reply and the place at which it begins."""

    text: str
    place: int


class Match(NamedTuple):
    """Gold blocks and the text of the reply that they are compared with."""

    golds: tuple[Block, ...]
    gold_text: str
    reply_text: str
    orders: Sequence[int]
    """Places of the gold blocks in the reading order; 0 for none."""
    place: int | None
    """Where the reply has them; None if it does not."""


class _Pair(NamedTuple):
    gold: int | None
    replies: tuple[int, ...]


def quick_match(
    golds: Sequence[tuple[str, Block]], blocks: Sequence[Block], replies: Sequence[str], written: Sequence[Written]
) -> list[Match]:
    """The matches of plain texts. `blocks` and `written` hold the blocks of both sides with those that have
    no plain text: by oversight the authors take orders and places from these."""
    texts = [text for text, _ in golds]
    merged = _merge_pairs(_pair(texts, replies), len(texts)) if texts and replies else []
    if not texts:
        merged = [((), (index,)) for index in range(len(replies))]
    elif not replies:
        merged = [((index,), ()) for index in range(len(texts))]
    return [
        Match(
            tuple(golds[index][1] for index in gold),
            "".join(texts[index] for index in gold),
            "".join(replies[index] for index in reply),
            [blocks[index].order for index in gold],
            written[reply[0]].place if reply else None,
        )
        for gold, reply in merged
    ]


def pair_lines(golds: Sequence[str], replies: Sequence[str]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Which plain texts of a page and of a reply belong together, by index, as in version 1.5: what is left is
    assigned by normalised distance, and a gold text that nothing is left for counts once."""
    if not golds or not replies:
        return [((index,), ()) for index in range(len(golds))]
    return _merge_pairs(_pair(golds, replies, is_later=True), len(golds), is_later=True)


def match_plainly(golds: Sequence[str], replies: Sequence[str]) -> list[tuple[str, str]]:
    """Each gold text with one of the reply by the least sum of distances; empty for one without."""
    pairs = dict(assign(distances(golds, replies))) if replies else {}
    return [(text, replies[pairs[index]] if index in pairs else "") for index, text in enumerate(golds)]


def _pair(golds: Sequence[str], replies: Sequence[str], *, is_later: bool = False) -> list[_Pair]:
    if len(golds) == len(replies) == 1:
        return [_Pair(0, (0,))]
    found, lost = _assigned_groups(golds, replies)
    groups: dict[tuple[int, ...], list[int]] = {}
    for gold, reply in found.items():
        groups.setdefault(reply, []).append(gold)
    taken = set(found)
    for index, reply_text in enumerate(replies):
        within = [gold for gold in lost if _distance_within(golds[gold], reply_text) < _WITHIN]
        if within:
            groups.setdefault((index,), []).extend(gold for gold in within if gold not in taken)
            taken.update(within)
    pairs = [_Pair(gold, reply) for reply, of_reply in groups.items() for gold in sorted(set(of_reply))]
    return pairs + _pair_rest(golds, replies, groups, is_later)


def _assigned_groups(golds: Sequence[str], replies: Sequence[str]) -> tuple[dict[int, tuple[int, ...]], list[int]]:
    """By gold block the blocks of the reply that are assigned to it, and gold blocks without a match."""
    columns = _join_columns(golds, replies)
    costs = distances(golds, [" ".join(replies[column[0] : column[-1] + 1]) for column in columns])
    assigned = dict(assign(costs))
    found, lost = {}, []
    for gold in range(len(golds)):
        column = assigned.get(gold)
        if column is None or costs[gold][column] > _FUZZY:
            lost.append(gold)
        else:
            found[gold] = columns[column]
    return found, lost


def _pair_rest(
    golds: Sequence[str], replies: Sequence[str], groups: Mapping[tuple[int, ...], Sequence[int]], is_later: bool
) -> list[_Pair]:
    """What is in no group: assigned once more, by plain edit distance, in version 1.5 by the normalised one.
    Without gold blocks that are left, the blocks of the reply are one match with nothing."""
    rest = set(range(len(golds))) - set().union(*(set(of_reply) for of_reply in groups.values()))
    others = set(range(len(replies))) - {index for reply in groups for index in reply}
    if not others:
        return [_Pair(gold, ()) for gold in rest]
    if not rest:
        return [_Pair(None, tuple(others))]
    distance = Levenshtein.normalized_distance if is_later else Levenshtein.distance
    costs = [[distance(golds[gold], replies[reply]) for reply in others] for gold in rest]
    in_order, other_order = list(rest), list(others)
    return [_Pair(in_order[row], (other_order[column],)) for row, column in assign(costs)]


def _merge_pairs(
    pairs: Sequence[_Pair], golds: int, *, is_later: bool = False
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Gold blocks of the same blocks of the reply as one match, then those without any: in version 1.0 twice
    each where no block of the reply was left for them."""
    merged: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    of_reply: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for gold, reply in pairs:
        if reply:
            of_reply[reply] += [] if gold is None else [gold]
    merged = [(tuple(of_gold), reply) for reply, of_gold in of_reply.items()]
    seen = {gold for of_gold in of_reply.values() for gold in of_gold}
    if not is_later:
        merged += [((gold,), ()) for gold, reply in pairs if not reply and gold is not None]
    return merged + [((gold,), ()) for gold in range(golds) if gold not in seen]


def _join_columns(golds: Sequence[str], replies: Sequence[str]) -> list[tuple[int, ...]]:
    """The blocks of a reply, those as one that are together nearest to a gold block. Blocks of which one is
    near to a block of the other side stay alone."""
    costs = distances(golds, replies)
    near = [[cost < _CERTAIN for cost in row] for row in costs]
    open_golds = [gold for gold, row in enumerate(near) if not any(row)]
    certain = {column for row in near for column, is_near in enumerate(row) if is_near}
    chosen: list[tuple[tuple[int, ...], float]] = []
    for gold in open_golds:
        runs = [
            _longest_run(golds[gold], replies, start, certain) for start in range(len(replies)) if start not in certain
        ]
        if runs:
            joined = [" ".join(replies[index] for index in run) for run in runs]
            (near_gold,) = distances([golds[gold]], joined)
            least = near_gold.index(min(near_gold))
            chosen.append((runs[least], near_gold[least]))
    columns: list[tuple[int, ...]] = [(index,) for index in range(len(replies))]
    for run in _choose_runs(chosen):
        place = columns.index((run[0],)) if (run[0],) in columns else None
        if place is None:
            continue
        columns[place : place + len(run)] = [run]
    return columns


def _longest_run(gold: str, replies: Sequence[str], start: int, certain: set[int]) -> tuple[int, ...]:
    """The blocks from one on that are parts of a gold block, as long as each makes the whole nearer."""
    count = 1
    while start + count < len(replies) and start + count not in certain:
        parts = list(replies[start : start + count + 1])
        if not _improves(gold, parts):
            break
        count += 1
        if len(" ".join(parts)) > len(gold):
            break
    return tuple(range(start, start + count))


def _improves(gold: str, parts: Sequence[str]) -> bool:
    """Whether a last part belongs to a gold block behind the others."""
    before = Levenshtein.normalized_distance(gold, " ".join(parts[:-1]))
    if Levenshtein.normalized_distance(gold, " ".join(parts)) > before:
        return False
    within = [_distance_within(part, gold) for part in parts]
    return all(distance <= _PART for distance in within[:-1]) and within[-1] < _PART


def _distance_within(part: str, whole: str) -> float:
    """The least distance of a part and a stretch of its length in a longer text, over that length; 1 if
    the whole is shorter."""
    length = len(part)
    if not length or len(whole) < length:
        return 1.0
    least = length
    for start in range(len(whole) - length + 1):
        distance = Levenshtein.distance(part, whole[start : start + length], score_cutoff=least)
        if distance < least:
            least = distance
    return least / length


def _choose_runs(chosen: Sequence[tuple[tuple[int, ...], float]]) -> list[tuple[int, ...]]:
    """Runs that do not overlap: of each cluster of runs that do, the set with the least mean distance."""
    clusters: list[list[tuple[tuple[int, ...], float]]] = []
    for run, cost in sorted(chosen, key=lambda one: one[0][0]):
        if clusters and any(set(run) & set(other) for other, _ in clusters[-1]):
            clusters[-1].append((run, cost))
        else:
            clusters.append([(run, cost)])
    return [run for cluster in clusters for run in _best_path(cluster)]


def _best_path(cluster: Sequence[tuple[tuple[int, ...], float]]) -> list[tuple[int, ...]]:
    if len(cluster) == 1:
        return [cluster[0][0]]
    paths = [[cluster[0]]]
    for run, cost in cluster[1:]:
        is_new = True
        for path in paths:
            overlaps, is_same = _compare_with_path(path, run, cost)
            if not overlaps:
                path.append((run, cost))
            if not overlaps or is_same:
                is_new = False
        if is_new:
            paths.append([(run, cost)])
    best = min(paths, key=lambda path: sum(cost for _, cost in path) / len(path))
    return [run for run, _ in best]


def _compare_with_path(
    path: list[tuple[tuple[int, ...], float]], run: tuple[int, ...], cost: float
) -> tuple[bool, bool]:
    """Whether a run overlaps one of a path, and whether it is one of them: then the less costly stays."""
    overlaps = is_same = False
    for other in list(path):
        if other[0] == run:
            overlaps = is_same = True
            if other[1] > cost:
                path.remove(other)
                path.append((run, cost))
        elif set(other[0]) & set(run):
            overlaps = True
    return overlaps, is_same


def distances(golds: Sequence[str], replies: Sequence[str]) -> list[list[float]]:
    """Normalised edit distances, by gold text, then by text of the reply."""
    return [[Levenshtein.normalized_distance(gold, reply) for reply in replies] for gold in golds]


def assign(costs: Sequence[Sequence[float]]) -> Iterable[tuple[int, int]]:
    """Rows and columns by the least sum, equal sums as scipy decides."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(costs)
    return zip(rows.tolist(), columns.tolist(), strict=True)
