"""Choose the questions whose answers are kept back: a share of each ability, by a seed.

Questions of one unit, and questions about one image, stay together: otherwise the public part
would show images of the part that is kept back. A hint, an id, a source or the text chunks of a
image file are published with the question: where one of them states the answer, the question
cannot be held out.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor

from snellen.core.sample import Sample, sampling_key


@dataclass(frozen=True, slots=True)
class SplitCandidate:
    """What of an item decides its split."""

    id: str
    ability: str
    unit: str = ""
    media: tuple[str, ...] = ()
    """Digests of its images and videos."""
    must_be_public: bool = False


def choose_held_out(items: Sequence[SplitCandidate], share: float, seed: int) -> frozenset[str]:
    """Ids of the items that are held out: `share` of each ability, as nearly as units allow.

    Clusters are taken in an order by the seed: first those that fit into the quotas of all their
    abilities, then those that bring the numbers closer to the quotas. The result depends on ids,
    abilities and the seed only, not on the order of the items.
    """
    quotas = _quotas(Counter(item.ability for item in items), share)
    clusters = [each for each in _clusters(items) if not any(one.must_be_public for one in each)]
    clusters.sort(key=lambda each: sampling_key(seed, min(one.id for one in each)))
    taken: Counter[str] = Counter()
    chosen: list[list[SplitCandidate]] = []
    left: list[list[SplitCandidate]] = []
    for cluster in clusters:
        sizes = Counter(one.ability for one in cluster)
        fits = all(taken[ability] + size <= quotas[ability] for ability, size in sizes.items())
        (chosen if fits else left).append(cluster)
        taken += sizes if fits else Counter()
    for cluster in left:
        sizes = Counter(one.ability for one in cluster)
        if _distance(taken + sizes, quotas, sizes) < _distance(taken, quotas, sizes):
            chosen.append(cluster)
            taken += sizes
    return frozenset(member.id for cluster in chosen for member in cluster)


def _distance(taken: Counter[str], quotas: Mapping[str, int], abilities: Iterable[str]) -> int:
    """How far the numbers of these abilities are from their quotas."""
    return sum(abs(taken[ability] - quotas[ability]) for ability in abilities)


def _quotas(sizes: Mapping[str, int], share: float) -> dict[str, int]:
    """Items of each ability, by the largest remainder, so that they sum to the rounded share."""
    exact = {ability: size * share for ability, size in sizes.items()}
    quotas = {ability: floor(amount) for ability, amount in exact.items()}
    missing = round(sum(sizes.values()) * share) - sum(quotas.values())
    by_remainder = sorted(exact, key=lambda ability: (quotas[ability] - exact[ability], ability))
    for ability in by_remainder[: max(missing, 0)]:
        quotas[ability] += 1
    return quotas


def _clusters(items: Iterable[SplitCandidate]) -> list[list[SplitCandidate]]:
    """Items that share a unit or any one image, directly or through others, together."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        # Union-find with path halving.
        parents.setdefault(name, name)
        while parents[name] != name:
            parents[name] = name = parents[parents[name]]
        return name

    listed = sorted(items, key=lambda item: item.id)
    for item in listed:
        units = [f"unit {item.unit}"] if item.unit else []
        for name in (*units, *(f"picture {digest}" for digest in item.media)):
            parents[root(name)] = root(f"item {item.id}")
    clusters: dict[str, list[SplitCandidate]] = {}
    for item in listed:
        clusters.setdefault(root(f"item {item.id}"), []).append(item)
    return list(clusters.values())


_SHORTEST = 3
"""Characters of the shortest answer that is searched for in names: `no` stands in any text."""
_STATED = r"(?:answer|key|solution|correct(?: option| choice)?)\s*(?:is|=|:|：)\s*\(?"


def find_giveaways(sample: Sample, cells: Mapping[str, str], images: Mapping[str, Iterable[str]]) -> list[str]:
    """Clauses on where the answer is stated; empty if nowhere.

    `cells` are the other columns that would be published, `images` the texts in the files of its
    images (`picture_texts`) by their digest.
    """
    texts = {"the question": sample.question, "the hint": sample.hint}
    forms = "|".join(map(re.escape, filter(None, {*sample.gold, *_answer_texts(sample)})))
    stated = re.compile(rf"{_STATED}(?:{forms or '(?!)'})(?!\w)", re.IGNORECASE)
    places = [where for where, text in texts.items() if stated.search(text)]
    names = {"the id": sample.id, **{f"the column {name}": text for name, text in cells.items()}}
    answers = [text for text in _answer_texts(sample) if len(text) >= _SHORTEST]
    places += [where for where, text in names.items() if _contains_any(text, answers)]
    for digest, hidden_texts in images.items():
        if any(_contains_any(text, answers) for text in hidden_texts):
            places.append(f"the metadata of picture {digest[:12]}")
    return places


def _answer_texts(sample: Sample) -> Iterator[str]:
    """The answer as text: of a multiple-choice question, the text of the right option."""
    for gold in sample.gold:
        for label in re.split(r"\s*,\s*", gold):
            yield sample.options.get(label, label).strip()


def _contains_any(text: str, answers: list[str]) -> bool:
    """Whether one of the answers stands in a name as a word; `_`, `-` and `/` end words."""
    words = re.sub(r"[\W_]+", " ", text).lower()
    return any(
        re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", words)
        for answer in answers
        if (plain := re.sub(r"[\W_]+", " ", answer).lower().strip())
    )


def image_texts(data: bytes) -> Iterator[str]:
    """Texts in an image file that no viewer shows: PNG text chunks, comments, EXIF and XMP."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            entries = [*image.info.values(), *image.getexif().values()]
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return
    for value in entries:
        if isinstance(value, bytes):
            yield value.decode("utf-8", "ignore")
        elif isinstance(value, str):
            yield value
