"""Where two texts differ, word by word.

A word is a run of letters and digits, a number with its separators, a sign, or one letter of a script
that writes no spaces. White space counts in no way.

The words that both texts have in their order are those of a longest common subsequence. Of texts whose
table would have more than `_MOST_CELLS` cells the sentences and lines that both have are matched first,
and what is between them is compared in parts, so that time grows with length and not with its square.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from snellen.core import lazy_re as re
from snellen.report.elements import Element

_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_WORD = re.compile(rf"\d+(?:[.,]\d+)+|[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
_SENTENCE_END = frozenset(".!?。！？")
_MOST_CELLS = 4_000_000
"""Cells of a table of words by words."""


class _Words(NamedTuple):
    words: list[str]
    spans: list[tuple[int, int]]


class MarkedTexts(NamedTuple):
    """Two texts as texts and `mark` elements, and how many words of each the other lacks."""

    first: list[str | Element]
    second: list[str | Element]
    only_first: int
    only_second: int
    words: int
    """Of the first text."""


def mark_differences(first: str, second: str) -> MarkedTexts:
    """Mark in each of two texts the words that the other does not have in this place."""
    one, other = _split(first), _split(second)
    shared, shared_other = shared_items(one.words, other.words)
    return MarkedTexts(
        _mark(first, one.spans, shared),
        _mark(second, other.spans, shared_other),
        shared.count(0),
        shared_other.count(0),
        len(shared),
    )


def shared_items(one: Sequence[str], other: Sequence[str]) -> tuple[bytearray, bytearray]:
    """For each item of two sequences 1 if the other has it in this place, else 0."""
    shared, shared_other = bytearray(len(one)), bytearray(len(other))
    for start, target, length in _matches(one, other):
        shared[start : start + length] = b"\1" * length
        shared_other[target : target + length] = b"\1" * length
    return shared, shared_other


def _split(text: str) -> _Words:
    spans = [match.span() for match in _WORD.finditer(text)]
    return _Words([text[start:end] for start, end in spans], spans)


def _mark(text: str, spans: Sequence[tuple[int, int]], shared: bytearray) -> list[str | Element]:
    """The text in pieces; words in a row that are not shared are one mark, with the gaps between them."""
    pieces: list[str | Element] = []
    done, index = 0, shared.find(0)
    while index >= 0:
        after = shared.find(1, index)
        last = (after if after >= 0 else len(shared)) - 1
        start, end = spans[index][0], spans[last][1]
        pieces += [text[done:start], ["mark", {"class": "differs"}, text[start:end]]]
        done = end
        index = shared.find(0, last + 1)
    return [piece for piece in (*pieces, text[done:]) if piece]


def _matches(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Runs of words that both have, in order: where in each, and how many."""
    if len(one) * len(other) <= _MOST_CELLS:
        yield from _table_matches(one, other)
        return
    first, second = _sentences(one), _sentences(other)
    start = target = 0
    for left, right, count in _table_matches([each for each, _ in first], [each for each, _ in second]):
        for step in range(count):
            (words, begin), (_, begin_other) = first[left + step], second[right + step]
            yield from _parts(one, other, (start, begin), (target, begin_other))
            yield begin, begin_other, len(words)
            start, target = begin + len(words), begin_other + len(words)
    yield from _parts(one, other, (start, len(one)), (target, len(other)))


def _parts(
    one: Sequence[str], other: Sequence[str], span: tuple[int, int], span_other: tuple[int, int]
) -> Iterator[tuple[int, int, int]]:
    """The matches of a stretch of both, in as many parts as keep each table small."""
    size, size_other = span[1] - span[0], span_other[1] - span_other[0]
    if not size or not size_other:
        return
    count = math.ceil(math.sqrt(size * size_other / _MOST_CELLS))
    for part in range(count):
        start, end = (span[0] + size * step // count for step in (part, part + 1))
        target, target_end = (span_other[0] + size_other * step // count for step in (part, part + 1))
        for left, right, length in _table_matches(one[start:end], other[target:target_end]):
            yield start + left, target + right, length


def _table_matches(one: Sequence[object], other: Sequence[object]) -> Iterator[tuple[int, int, int]]:
    for step in LCSseq.opcodes(one, other):
        if step.tag == "equal":
            yield step.src_start, step.dest_start, step.src_end - step.src_start


def _sentences(words: Sequence[str]) -> list[tuple[tuple[str, ...], int]]:
    """The sentences of some words, each with where it begins."""
    found, start = [], 0
    for index, word in enumerate(words):
        if word in _SENTENCE_END:
            found.append((tuple(words[start : index + 1]), start))
            start = index + 1
    return [*found, (tuple(words[start:]), start)] if start < len(words) else found
