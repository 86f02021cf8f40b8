"""Duplicates within one data set: images that match, then the questions asked about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from snellen_curate.duplicates.compare_items import ItemFacts, ReadItems, TextThresholds, Words, relate
from snellen_curate.duplicates.match_images import EXACT, ImageGraph
from snellen_curate.duplicates.report import DuplicateCluster, ImageMatch, ImagePair, ItemPair
from snellen_curate.duplicates.texts import near_pairs

_MAX_PAIRED = 64
"""Items about one image that are compared each with each; further ones are found by MinHash."""
_NO_MEDIA = ""


def find_item_pairs(items: Sequence[ItemFacts], graph: ImageGraph, thresholds: TextThresholds) -> list[ItemPair]:
    """Pairs of items that ask the same about the same image, in the order of the data."""
    pairs = []
    for left, right in sorted(_candidates(items, graph, thresholds.similarity)):
        one, other = items[left], items[right]
        matches = match_media(one, other, graph)
        if matches is None:
            continue
        worst = max(matches, key=lambda match: match.distance, default=None)
        same_pixels = all(match.how in EXACT for match in matches)
        relation = relate(one, other, same_pixels, thresholds)
        # What is left and what is right in a mirrored image may well have another answer.
        is_turned = any(match.how == "turned" for match in matches)
        if relation is not None and not (is_turned and "contradiction" in relation.kind):
            pairs.append(
                ItemPair(
                    one.id,
                    other.id,
                    relation.kind,
                    relation.rule,
                    round(relation.similarity, 4),
                    worst,
                    one.raw_key,
                    other.raw_key,
                )
            )
    return pairs


def match_media(one: ItemFacts, other: ItemFacts, graph: ImageGraph) -> list[ImageMatch] | None:
    """How the media of two items match, each with that in the same place; None if one does not."""
    if len(one.media) != len(other.media):
        return None
    matches = []
    for left, right in zip(one.media, other.media, strict=True):
        match = graph.match(left, right)
        if match is None:
            return None
        matches.append(match)
    return matches


def _candidates(items: Sequence[ItemFacts], graph: ImageGraph, threshold: float) -> Iterator[tuple[int, int]]:
    """Pairs of positions whose first images match and whose texts may be alike."""
    by_node: dict[str, list[int]] = defaultdict(list)
    for position, item in enumerate(items):
        by_node[graph.node(item.media[0]) if item.media else _NO_MEDIA].append(position)
    for node, positions in by_node.items():
        yield from _pairs_among(items, positions, threshold)
        for neighbour in graph.near.get(node, ()):
            # Each pair of nodes once.
            if node < neighbour and neighbour in by_node:
                yield from _pairs_between(items, positions, by_node[neighbour], threshold)


def _pairs_among(items: Sequence[ItemFacts], positions: Sequence[int], threshold: float) -> Iterator[tuple[int, int]]:
    """Pairs of items about one image whose texts may be alike: all pairs of few items, else those
    that MinHash finds."""
    if len(positions) <= _MAX_PAIRED:
        yield from combinations(positions, 2)
        return
    # Equal questions first: chained to the first with each key, so that a question that stands a
    # thousand times about one image makes a thousand pairs and not half a million.
    groups: dict[str, list[int]] = defaultdict(list)
    for position in positions:
        groups[items[position].question].append(position)
    firsts: list[int] = []
    by_content: dict[tuple[Words, frozenset[str]], int] = {}
    for group in groups.values():
        by_key: dict[frozenset[str], int] = {}
        for position in group:
            first = by_key.setdefault(items[position].key, position)
            if first != position:
                yield first, position
        yield from combinations(by_key.values(), 2)
        firsts += by_key.values()
        for key, position in by_key.items():
            first = by_content.setdefault((items[position].content, key), position)
            if first != position:
                yield first, position
    sets = [items[position].shingles for position in firsts]
    for match in near_pairs(sets, min(threshold, 0.7)):
        left, right = sorted((firsts[match.left], firsts[match.right]))
        yield left, right


def _pairs_between(
    items: Sequence[ItemFacts], left: Sequence[int], right: Sequence[int], threshold: float
) -> Iterator[tuple[int, int]]:
    if len(left) * len(right) <= _MAX_PAIRED**2:
        yield from ((min(one, other), max(one, other)) for one in left for other in right)
        return
    sides = set(left)
    for one, other in _pairs_among(items, sorted({*left, *right}), threshold):
        if (one in sides) != (other in sides):
            yield one, other


def make_clusters(
    read: ReadItems, pairs: Iterable[ItemPair], keep: str, sizes: Mapping[str, int]
) -> list[DuplicateCluster]:
    """Items joined by duplicate pairs. `sizes`: pixels of each image, by digest."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for pair in pairs:
        if pair.kind == "duplicate":
            parent[root(pair.right)] = root(pair.left)
    members: dict[str, list[ItemFacts]] = defaultdict(list)
    for item in read.items:
        if item.id in parent:
            members[root(item.id)].append(item)
    return [
        DuplicateCluster(tuple(item.id for item in group), _pick_kept(group, keep, sizes).id)
        for group in members.values()
    ]


def _pick_kept(group: Sequence[ItemFacts], keep: str, sizes: Mapping[str, int]) -> ItemFacts:
    if keep == "last":
        return group[-1]
    if keep == "largest":
        # The first of those with the most pixels.
        return max(group, key=lambda item: sum(sizes.get(digest, 0) for digest in item.media))
    return group[0]


def image_pairs(read: ReadItems, graph: ImageGraph) -> list[ImagePair]:
    """Every pair of near-duplicate images, with the items that each belongs to."""
    users: dict[str, list[str]] = defaultdict(list)
    for item in read.items:
        for digest in dict.fromkeys(item.media):
            users[graph.node(digest)].append(item.id)
    pairs = []
    for left, others in graph.near.items():
        for right, match in others.items():
            if left < right:
                pairs.append(ImagePair(left, right, match, tuple(users[left]), tuple(users[right])))
    return sorted(pairs, key=lambda pair: (pair.match.distance, pair.left, pair.right))
