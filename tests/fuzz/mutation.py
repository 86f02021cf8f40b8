"""Bytes at random, and sound examples changed at random."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st
from tests.fuzz.target import Target

LONGEST = 100_000
_ODD = (
    b"\x00",
    b"\xff",
    b"\n",
    b"\r",
    b"\t",
    b'"',
    b"'",
    b"\\",
    b",",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\\ud800",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"NaN",
    b"1e999",
    b"null",
    b"-0",
    b"9" * 30,
    b"\x1b[31m",
    b"../",
    b"\xed\xa0\x80",
    b"[" * 2000,
    b"{" * 2000,
    b'"' * 999,
    b"\t" * 999,
)


def mutated(data: bytes, words: Sequence[bytes], lot: random.Random) -> bytes:
    """The data after one to eight changes."""
    made = bytearray(data)
    for _ in range(lot.randint(1, 8)):
        at = lot.randint(0, len(made))
        end = min(len(made), at + lot.choice((1, 1, 2, 4, 16, 256)))
        change = lot.randrange(7)
        if change == 0:
            del made[at:end]
        elif change == 1:
            made[at:at] = lot.choice((*_ODD, *words))
        elif change == 2:
            made[at:end] = bytes(lot.randrange(256) for _ in range(end - at))
        elif change == 3:
            made[at:at] = made[at:end] * lot.choice((1, 2, 50))
        elif change == 4 and made:
            made[at - 1] ^= 1 << lot.randrange(8)
        elif change == 5:
            del made[at:]
        else:
            made[at:end] = lot.choice((*_ODD, *words))
    return bytes(made[:LONGEST])


def contents(target: Target) -> st.SearchStrategy[bytes]:
    """Contents for hypothesis: mostly examples that were changed."""
    changed = st.builds(
        lambda seed, number: mutated(seed, target.words, random.Random(number)),
        st.sampled_from(target.seeds),
        st.integers(0, 1 << 62),
    )
    return changed | changed | changed | st.binary(max_size=300)
