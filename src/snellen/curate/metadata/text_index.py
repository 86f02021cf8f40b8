"""Texts by similarity (BM25), for a million of them and more without comparing each with each.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, Sec. 3.
"""

from __future__ import annotations

import re
from array import array
from typing import Any

import numpy as np

from snellen.core.sample import sampling_key
from snellen.curate.metadata.spaces import option_key

_TOKEN = re.compile(r"\w+")
_K1, _B = 1.2, 0.75
MAX_POSTINGS = 20_000
"""Texts looked at for one word of a query. A word in more texts says little about any of them; of
such a word, this many texts spread evenly over the collection count. It bounds the time of a query
by the number of its words."""


class TextIndex:
    """An inverted index. Add all texts, then search; equal texts are kept once."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._tokens = array("I")
        """Word numbers of all texts, one text after the other, each word of a text once."""
        self._lengths = array("I")
        self._labels = array("q")
        self._seen: set[int] = set()
        self._postings: tuple[Any, Any] | None = None

    def __len__(self) -> int:
        """Number of different texts."""
        return len(self._labels)

    def add(self, text: str, label: int) -> None:
        """Add a text under a number of the caller's; one that says the same as an earlier text is
        passed over."""
        key = option_key(text)
        digest = int.from_bytes(sampling_key("", key)[:8], "big")
        if digest in self._seen:
            return
        self._seen.add(digest)
        words = self._words
        numbers = {words.setdefault(word, len(words)) for word in _TOKEN.findall(key)}
        self._tokens.extend(numbers)
        self._lengths.append(len(numbers))
        self._labels.append(label)
        self._postings = None

    def search(self, text: str, count: int) -> list[int]:
        """Labels of the `count` texts that are most similar, best first; ties in the order in which
        they were added. Fewer if fewer share a word."""
        starts, texts = self._invert()
        total = len(self._labels)
        average = max(1.0, len(self._tokens) / max(1, total))
        found: list[Any] = []
        weights: list[Any] = []
        for word in dict.fromkeys(_TOKEN.findall(option_key(text))):
            number = self._words.get(word)
            if number is None:
                continue
            postings = texts[starts[number] : starts[number + 1]]
            # The inverse document frequency of the whole list, also where a part of it is read.
            idf = float(np.log1p((total - len(postings) + 0.5) / (len(postings) + 0.5)))
            if len(postings) > MAX_POSTINGS:
                postings = postings[:: -(-len(postings) // MAX_POSTINGS)]
            lengths = np.frombuffer(self._lengths, dtype=np.uintc)[postings]
            # Each word counts once in a text: options are short.
            weights.append(idf * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * lengths / average)))
            found.append(postings)
        if not found:
            return []
        numbers, places = np.unique(np.concatenate(found), return_inverse=True)
        scores = np.bincount(places, np.concatenate(weights))
        return [self._labels[int(numbers[place])] for place in _top(scores, numbers, count)]

    def _invert(self) -> tuple[Any, Any]:
        """Start of each word's postings, and the texts of all postings in one array."""
        if self._postings is None:
            tokens = np.frombuffer(self._tokens, dtype=np.uintc)
            lengths = np.frombuffer(self._lengths, dtype=np.uintc)
            owners = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
            order = np.argsort(tokens, kind="stable")
            counts = np.bincount(tokens, minlength=len(self._words))
            starts = np.concatenate([[0], np.cumsum(counts)])
            self._postings = (starts, owners[order])
        return self._postings


def _top(scores: Any, numbers: Any, count: int) -> list[int]:
    """Places of the largest scores, ties by number."""
    places = np.arange(len(scores))
    if len(scores) > count:
        threshold = np.partition(scores, -count)[-count]
        places = np.flatnonzero(scores >= threshold)
    order = np.lexsort((numbers[places], -scores[places]))
    best: list[int] = places[order][:count].tolist()
    return best
