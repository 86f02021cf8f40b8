"""What a data set shares with another benchmark, or with the images and captions of a list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from snellen.stats.intervals import score_interval
from snellen_curate.duplicates.compare_items import ItemFacts, ReadItems, relate
from snellen_curate.duplicates.hash_index import HashIndex
from snellen_curate.duplicates.match_images import EXACT, match_images
from snellen_curate.duplicates.report import DuplicateSettings, ImageMatch, OverlapMatch, OverlapReport, Share
from snellen_curate.duplicates.texts import jaccard, near_across

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
