"""Items that match: within a data set, first by their images, then by the questions asked about them;
and with another benchmark, or the images and captions of a list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from snellen.stats.intervals import score_interval
from snellen_curate.duplicates.compare_items import ItemFacts, ReadItems, TextThresholds, Words, relate
from snellen_curate.duplicates.hash_index import HashIndex
from snellen_curate.duplicates.match_images import EXACT, ImageGraph, match_images
from snellen_curate.duplicates.report import (
    DuplicateCluster,
    DuplicateSettings,
    ImageMatch,
    ImagePair,
    ItemPair,
    OverlapMatch,
    OverlapReport,
    Share,
)
from snellen_curate.duplicates.texts import jaccard, near_across, near_pairs

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


MAX_MATCHES = 20
"""Matches of one item that are listed; an image may stand ten thousand times in training data."""
MIN_WORDS = 6
"""Words of a question below which it is not compared with captions: "What is this?" is everywhere
and says nothing about this item."""


@dataclass(frozen=True)
class OtherData:
    """Another data set."""

    name: str
    index: HashIndex | None
    """Its images; None if it has none."""
    read: ReadItems | None = None
    """Its items, if it is a benchmark."""


_Hits = dict[str, list[tuple[int, ImageMatch]]]
"""Digest of an image to the rows of the other data that it matches, and how."""


def find_overlap(
    data: ReadItems, index: HashIndex | None, outside: OtherData, settings: DuplicateSettings
) -> OverlapReport:
    """Matches of the data set's items with the other data set, and the share of each kind."""
    hits = _match_images(data, index, outside, settings)
    if outside.read is None:
        matches = _list_matches(data, hits, outside, settings)
    else:
        matches = _item_matches(data, hits, outside.read, settings)
    counts: Counter[str] = Counter()
    listed = []
    place = {item.id: position for position, item in enumerate(data.items)}

    def order(match: OverlapMatch) -> tuple[int, int, int, float, str]:
        """Items as they stand in the data, then exact before near before texts alone."""
        how, bits = match.image.distance if match.image else (99, 0)
        return place[match.item], how, bits, -(match.similarity or 0.0), match.other

    for match in sorted(matches, key=order):
        counts[match.item] += 1
        if counts[match.item] <= MAX_MATCHES:
            listed.append(match)
    info = outside.index.info if outside.index is not None else None
    return OverlapReport(
        name=outside.name,
        kind="list" if outside.read is None else "benchmark",
        entries=len(outside.read.items) if outside.read else len(outside.index or ()),
        images=info.images if info else 0,
        captions=info.captions if info else 0,
        broken=info.broken if info else 0,
        matches=tuple(listed),
        shares=tuple(_shares(data.items, matches, is_list=outside.read is None)),
        left_out=counts.total() - len(listed),
        notes=tuple(_notes(outside)),
    )


def _match_images(data: ReadItems, index: HashIndex | None, outside: OtherData, settings: DuplicateSettings) -> _Hits:
    hits: _Hits = defaultdict(list)
    if index is not None and outside.index is not None:
        images = {**data.images, **outside.read.images} if outside.read else None
        digests = list(data.images)
        for (row, other), how in match_images(index, outside.index, settings, images).items():
            hits[digests[row]].append((other, how))
    return hits


def _list_matches(data: ReadItems, hits: _Hits, outside: OtherData, settings: DuplicateSettings) -> list[OverlapMatch]:
    """Matches with entries of a list: by image, and by question and caption."""
    index = outside.index
    if index is None:
        return []
    texts: dict[int, dict[int, float]] = defaultdict(dict)
    if index.info.captions:
        asked = [position for position, item in enumerate(data.items) if len(item.question.split()) >= MIN_WORDS]
        questions = [data.items[position].question for position in asked]
        for query, row, similarity in index.search_texts(questions, settings.texts.similarity):
            texts[asked[query]][row] = round(similarity, 4)
    matches = []
    for position, item in enumerate(data.items):
        rows: dict[int, tuple[str, ImageMatch | None]] = {}
        for digest in item.media:
            for row, match in hits.get(digest, ()):
                rows.setdefault(row, (digest, match))
        similar = texts.get(position, {})
        for row in similar:
            rows.setdefault(row, ("", None))
        for row, (digest, how) in rows.items():
            name = index.text("names", row)
            matches.append(
                OverlapMatch(
                    item.id,
                    name,
                    how,
                    similarity=similar.get(row),
                    own_image=digest,
                    other_image=name if how else "",
                    caption=index.text("captions", row),
                    row=row,
                )
            )
    return matches


def _item_matches(data: ReadItems, hits: _Hits, other: ReadItems, settings: DuplicateSettings) -> list[OverlapMatch]:
    """Matches with items of another benchmark: all images match, or without images the text."""
    names = list(other.images)
    matches = []
    for item in data.items:
        for digest in dict.fromkeys(item.media):
            if digest in data.missing:
                continue
            # Videos are compared by their bytes.
            near = hits.get(digest, ()) if digest in data.images else ()
            by_name = {names[row]: match for row, match in near}
            if digest in other.users:
                by_name.setdefault(digest, ImageMatch("bytes"))
            for name, match in by_name.items():
                for one in other.users.get(name, ()):
                    matches.append(_item_match(item, one, digest, name, match, settings))
    own = [item for item in data.items if not item.media]
    theirs = [item for item in other.items if not item.media]
    own_texts, their_texts = ([item.shingles for item in items] for items in (own, theirs))
    for left, right, _ in near_across(own_texts, their_texts, min(settings.texts.similarity, 0.7)):
        one, other_item = own[left], theirs[right]
        found = relate(one, other_item, True, settings.texts)
        if found is not None:
            similarity = round(found.similarity, 4)
            matches.append(OverlapMatch(one.id, other_item.id, None, found.kind, found.rule, similarity))
    return matches


def _item_match(
    item: ItemFacts, other: ItemFacts, digest: str, name: str, match: ImageMatch, settings: DuplicateSettings
) -> OverlapMatch:
    same_pixels = match.how in EXACT
    relation = None
    if len(item.media) == len(other.media):
        relation = relate(item, other, same_pixels, settings.texts)
    return OverlapMatch(
        item.id,
        other.id,
        match,
        relation.kind if relation else None,
        relation.rule if relation else None,
        round(relation.similarity if relation else jaccard(item.shingles, other.shingles), 4),
        digest,
        name,
    )


def _shares(items: Sequence[ItemFacts], matches: Sequence[OverlapMatch], *, is_list: bool) -> list[Share]:
    """Share of the items with a match, for each kind of match. Items about one image stand and
    fall together: they are a cluster of the interval."""
    found = {
        "picture, exact": {match.item for match in matches if match.image and match.image.how in EXACT},
        "picture, exact or near": {match.item for match in matches if match.image},
    }
    if is_list:
        found["question, in a caption"] = {match.item for match in matches if match.similarity is not None}
        found["any of these"] = {match.item for match in matches}
    else:
        relations = (None, "possible duplicate")
        found["picture and question"] = {match.item for match in matches if match.relation not in relations}
    clusters = [item.media[0] if item.media else "" for item in items]
    return [
        Share(name, len(ids), len(items), score_interval([float(item.id in ids) for item in items], clusters))
        for name, ids in found.items()
    ]


def _notes(outside: OtherData) -> list[str]:
    if outside.index is None:
        return ["it has no pictures; only texts were compared"]
    info, notes = outside.index.info, []
    if info.only_text:
        notes.append(
            f"{info.only_text} of {info.entries} entries have no picture, path or hash, at most an "
            "address, which is not downloaded; of them only captions were compared"
        )
    if info.broken:
        notes.append(f"{info.broken} of {info.entries} entries could not be used")
    if info.flat:
        notes.append(f"{info.flat} pictures without contrast were compared by bytes and pixels only")
    return notes
