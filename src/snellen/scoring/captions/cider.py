"""CIDEr as the COCO caption tools compute it: the variant CIDEr-D (Vedantam et al. 2015,
https://arxiv.org/abs/1411.5726, Sec. 4 and Eq. 5).

Per n = 1..4: the cosine of TF-IDF vectors of n-grams, caption counts clipped to those of the
reference, times a Gaussian of the difference in length (sigma 6); mean over references and n, times
10. Document frequencies come from the references of the whole corpus, so a caption's CIDEr depends
on the other captions scored with it; the CIDEr of a single image is 0. The tools measure length by
the number of bigrams, and so does this.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from snellen.scoring.captions.bleu import MAX_ORDER, Words, ngrams

_SIGMA = 6.0
_SCALE = 10.0
_Gram = tuple[str, ...]


@dataclass(slots=True)
class DocumentFrequencies:
    """Number of images whose references contain each n-gram; those of two parts of a corpus add
    up."""

    images: int = 0
    counts: Counter[_Gram] = field(default_factory=Counter)

    def add(self, references: Sequence[Words]) -> None:
        self.images += 1
        self.counts.update({gram for reference in references for gram in ngrams(reference)})

    def __add__(self, other: DocumentFrequencies) -> DocumentFrequencies:
        return DocumentFrequencies(self.images + other.images, self.counts + other.counts)

    def rarity(self, gram: _Gram) -> float:
        """Inverse document frequency of an n-gram: log(images / images with it)."""
        return math.log(max(1, self.images)) - math.log(max(1, self.counts[gram]))


def document_frequencies(corpus: Iterable[Sequence[Words]]) -> DocumentFrequencies:
    """Document frequencies of the references of every image of a corpus."""
    frequencies = DocumentFrequencies()
    for references in corpus:
        frequencies.add(references)
    return frequencies


def cider(caption: Words, references: Sequence[Words], frequencies: DocumentFrequencies) -> float:
    """CIDEr-D of one caption, 0..10. Raises ValueError without references."""
    if not references:
        raise ValueError("CIDEr needs at least one reference")
    caption_vector = _vector(caption, frequencies)
    total = 0.0
    for reference in references:
        gold = _vector(reference, frequencies)
        difference = caption_vector.bigrams - gold.bigrams
        fit = math.exp(-(difference**2) / (2 * _SIGMA**2))
        total += fit * sum(_cosines(caption_vector, gold)) / MAX_ORDER
    return _SCALE * total / len(references)


@dataclass(frozen=True, slots=True)
class _Vector:
    weights: dict[_Gram, float]
    norms: tuple[float, ...]
    bigrams: int


def _vector(words: Words, frequencies: DocumentFrequencies) -> _Vector:
    weights = {gram: count * frequencies.rarity(gram) for gram, count in ngrams(words).items()}
    squares = [0.0] * MAX_ORDER
    for gram, weight in weights.items():
        squares[len(gram) - 1] += weight * weight
    return _Vector(weights, tuple(map(math.sqrt, squares)), max(0, len(words) - 1))


def _cosines(caption: _Vector, reference: _Vector) -> list[float]:
    products = [0.0] * MAX_ORDER
    for gram, weight in caption.weights.items():
        other = reference.weights.get(gram)
        if other is not None:
            products[len(gram) - 1] += min(weight, other) * other
    norms = zip(products, caption.norms, reference.norms, strict=True)
    return [
        product / (caption_norm * reference_norm) if caption_norm and reference_norm else 0.0
        for product, caption_norm, reference_norm in norms
    ]
