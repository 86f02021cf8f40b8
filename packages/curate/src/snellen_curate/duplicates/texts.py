"""Near-duplicate texts: normalisation, shingles, MinHash with locality-sensitive hashing.

A. Broder, "On the resemblance and containment of documents" (1997): the resemblance of two texts is
the Jaccard similarity of their sets of shingles, and the share of equal values in their MinHash
signatures estimates it. Signatures are cut into bands; texts that agree in one band are candidates
(J. Leskovec, A. Rajaraman, J. Ullman, "Mining of massive datasets", Sec. 3.4), and of each pair of
candidates the Jaccard similarity itself is computed. So a pair that is reported is one; a pair can
be missed, with the probability (1 - similarity ** BAND_ROWS) ** BANDS.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BANDS, BAND_ROWS = 24, 4
"""24 bands of 4 values: a pair whose Jaccard similarity is 0.7 is missed once in 700."""
_EMPTY_BAND = np.uint32(0)
_MIN_TEXTS = 20

_TOKEN = re.compile(
    # Scripts without spaces between words: a character is a token. Han, kana, Thai, Lao, Khmer.
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\u0e00-\u0eff\u1780-\u17ff"
    r"\U00020000-\U0003ffff]"
    # A number is one token, with its decimals.
    r"|\d+(?:[.,]\d+)*"
    r"|[^\W\d_]+(?:'[^\W\d_]+)?"
    # Signs: "What does # mean?" is not "What does & mean?".
    r"|[^\w\s]"
)
_STOPS = frozenset('.,;:?"“”„‚«»‹›…·•、。？！【】《》「」『』〈〉〔〕～〜`¿¡')
"""Signs that say nothing."""
_PUNCTUATION = _STOPS | frozenset("!'‘’()[]{}–—~*")
"""Signs that say nothing, but in a formula."""
_FORMULA = re.compile(
    r"[\w)\]][ ]?[+*/=^<>|]|[A-Za-z\d][(\[{][\w(]|[)\]}][A-Za-z\d]|\d!|\\[A-Za-z]"
    r"|\b[A-Za-z](?:!|['′](?![A-Za-z]))"
)
"""What makes a text a formula: there brackets, primes and "!" count, and the case of a letter."""
_SUPERSCRIPTS = str.maketrans({sign: f"^{digit}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"’": "'", "−": "-"})
_CHARACTER = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
"""A character of a script without spaces between words: Thai, Lao, Khmer, kana, Han."""
_FIRST_WITHOUT_SPACES = "\u0e00"
_BAND_MULTIPLIERS = np.random.default_rng(20221).integers(
    1, 1 << 63, (BANDS * BAND_ROWS, 2), dtype=np.uint64
) | np.uint64(1)
"""Odd multipliers and increments of the hash functions; part of the index format."""

Signatures = npt.NDArray[np.uint32]


class TextMatch(NamedTuple):
    """Two texts whose sets of shingles have this Jaccard similarity."""

    left: int
    right: int
    similarity: float


def normalise_text(text: str) -> str:
    """The text's tokens, joined by blanks: texts that differ in case, width of characters,
    punctuation or spaces become equal.

    Unicode NFKC, case folding; Chinese, Japanese, Thai and the like by characters, so that
    "图中有几只猫？" and "图中 有几只 猫" are one text. Signs are kept, in formulas all of them.
    """
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """Words, numbers, single characters of scripts without spaces, and signs."""
    plain = unicodedata.normalize("NFKC", text.translate(_SUPERSCRIPTS))
    folded = unicodedata.normalize("NFKC", plain.casefold())
    if _FORMULA.search(plain):
        found = [one if len(one) == 1 else one.casefold() for one in _TOKEN.findall(plain)]
        return [token for token in found if token not in _STOPS]
    return [token for token in _TOKEN.findall(folded) if token not in _PUNCTUATION]


def shared_ends(texts: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Where each text's own words begin and end: what stands before and behind them begins or ends
    more than half of the texts, as "Is there a" and "in the image?" do in POPE. Of fewer than
    `_MIN_TEXTS` texts nothing is called shared."""
    firsts, lasts = _shared_lengths(texts), _shared_lengths([words[::-1] for words in texts])
    sizes = zip(texts, firsts, lasts, strict=True)
    return [(first, max(first, len(words) - last)) for words, first, last in sizes]


def _shared_lengths(texts: Sequence[Sequence[str]]) -> list[int]:
    """How many words at the start of each text begin more than half of them."""
    lengths, rows = [0] * len(texts), list(range(len(texts)))
    for place in count():
        rows = [row for row in rows if len(texts[row]) > place]
        following = Counter(texts[row][place] for row in rows).most_common(1)
        if len(texts) < _MIN_TEXTS or not following or 2 * following[0][1] <= len(texts):
            break
        rows = [row for row in rows if texts[row][place] == following[0][0]]
        for row in rows:
            lengths[row] = place + 1
    return lengths


def shingles(words: Sequence[str]) -> frozenset[str]:
    """Single tokens and pairs of neighbours; of a script without spaces pairs of characters alone,
    since a character is less than a word."""
    found = set()
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        if word[0] < _FIRST_WITHOUT_SPACES or not _is_character(word):
            found.add(word)
            if after:
                found.add(f"{word} {after}")
        elif after and _is_character(after):
            found.add(word + after)
        elif len(words) == 1 or not after:
            found.add(word)
    return frozenset(found)


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Size of the intersection over size of the union; 1 for two empty sets."""
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def differ_in_numbers(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether the texts hold different numbers: "Are there 3 dogs?" asks something else than "Are
    there 4 dogs?", however much alike they are."""
    one, other = (Counter(word for word in words if word[0].isdigit()) for words in (left, right))
    return one != other


def band_keys(sets: Sequence[frozenset[str]]) -> Signatures:
    """One key for each band of each text's MinHash signature: (texts, BANDS).

    A text without shingles has zeros only, which match nothing.
    """
    keys = np.zeros((len(sets), BANDS), np.uint32)
    filled = [index for index, one in enumerate(sets) if one]
    if not filled:
        return keys
    hashes = np.fromiter((_shingle_hash(shingle) for index in filled for shingle in sets[index]), np.uint64)
    starts = np.cumsum([0, *(len(sets[index]) for index in filled[:-1])])
    signature = np.empty((BANDS * BAND_ROWS, len(filled)), np.uint64)
    for row, (multiplier, increment) in enumerate(_BAND_MULTIPLIERS):
        # Multiply-shift hashing: the upper half of a product of 64 bits (Dietzfelbinger 1996).
        values = (hashes * multiplier + increment) >> np.uint64(32)
        signature[row] = np.minimum.reduceat(values, starts)
    for band in range(BANDS):
        mixed = np.zeros(len(filled), np.uint64)
        for row in range(band * BAND_ROWS, (band + 1) * BAND_ROWS):
            mixed = (mixed ^ signature[row]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        # 0 is kept for texts without shingles.
        keys[filled, band] = np.maximum(mixed >> np.uint64(32), 1).astype(np.uint32)
    return keys


def near_pairs(sets: Sequence[frozenset[str]], threshold: float) -> list[TextMatch]:
    """Pairs of texts (left < right) whose Jaccard similarity is at least `threshold`."""
    return [match for match in near_across(sets, sets, threshold) if match.left < match.right]


def near_across(lefts: Sequence[frozenset[str]], rights: Sequence[frozenset[str]], threshold: float) -> list[TextMatch]:
    """Pairs of a text of the one list and one of the other that are similar enough."""
    pairs = sorted(match_bands(band_keys(lefts), band_keys(rights)))
    matches = (TextMatch(left, right, jaccard(lefts[left], rights[right])) for left, right in pairs)
    return [match for match in matches if match.similarity >= threshold]


def match_bands(wanted: Signatures, keys: Signatures) -> set[tuple[int, int]]:
    """Pairs of a row of `wanted` and a row of `keys` that agree in a band. `keys` may be mapped
    from a file: it is read once, a band at a time."""
    pairs: set[tuple[int, int]] = set()
    for band in range(BANDS):
        order = np.argsort(wanted[:, band], kind="stable")
        ordered = wanted[order, band]
        column = np.ascontiguousarray(keys[:, band])
        low = np.searchsorted(ordered, column, "left")
        high = np.searchsorted(ordered, column, "right")
        for row in np.flatnonzero((high > low) & (column != _EMPTY_BAND)):
            pairs.update((int(order[place]), int(row)) for place in range(low[row], high[row]))
    return pairs


@lru_cache(maxsize=1 << 18)
def _shingle_hash(shingle: str) -> int:
    """64 bits, the same in every process and version."""
    data = shingle.encode("utf-8", "surrogatepass")
    return zlib.crc32(data) << 32 | zlib.adler32(data)


@lru_cache(maxsize=1 << 16)
def _is_character(word: str) -> bool:
    """Whether a token is a character of a script without spaces."""
    return _CHARACTER.fullmatch(word) is not None
