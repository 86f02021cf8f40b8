"""VCR-wiki, the English pictures, scored with the words that spaCy splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Oracle, Spec
from tests.differential.styles_open import BASES, FIRST, Base, styles

_TEXTS = (
    ("of the largest cities in", "of the biggest cities in"),
    ("was opened to traffic by", "was open to traffic"),
    ("is a small genus of", "is the small genus of"),
    ("the band's third studio album", "the band third studio album"),
    ("well-known for its old", "well known for its old"),
    ("could n't be used as", "could not be used as"),
    ("the U.S. state of", "the US state of"),
    ("and plays mostly as an", "he plays mostly as a"),
    ("who have lived there since", "who lived there since then"),
)
"""Covered text, and what it is taken for."""
_FORMS: dict[str, Base] = {
    **BASES,
    "capital first": lambda a, b: a.capitalize(),
    "long excerpt": lambda a, b: (
        f"Dr. Smith's report (1998, 3rd ed.) says it isn't {b}: it's {a}, e.g. at 5 p.m. or 10km off the U.S. coast."
    ),
    "in a paragraph": lambda a, b: f"The town\nis one {a}  the north.",
    "numbered": lambda a, b: f"1. {a}\n2. {b}",
    "numbered in parentheses": lambda a, b: f"(1) {a} (2) {b}",
    "contractions": lambda a, b: f"They can't, won't or don't say {a}; I'm, we'll, they'd've.",
    "cannot": lambda a, b: f"It cannot be {b}. {a}",
    "I can't": lambda a, b: f"I can't read it: {a}",
    "small i can't": lambda a, b: f"i can't read it: {a}",
    "Sorry": lambda a, b: f"SORRY, {a}?",
    "Assistant colon": lambda a, b: f"{b} Assistant: {a}",
    "Assistant twice": lambda a, b: f"Assistant: {a}\nAssistant: {b}",
    "dashes": lambda a, b: f"{b}—{a}–{b}",
    "dots between": lambda a, b: f"{a}...{b}",
    "slashes": lambda a, b: f"{a}/{b}/{a}",
    "a web page": lambda a, b: f"See https://example.org/a-b?x=1 for {a}.",
    "word more within": lambda a, b: a.replace(" ", " very ", 1),
    "word lost": lambda a, b: a.partition(" ")[2],
    "first words": lambda a, b: " ".join(a.split()[:2]),
    "backwards": lambda a, b: " ".join(reversed(a.split())),
}


def _cases() -> Iterator[Case]:
    """Two or three covered texts a picture: of three, the first two are restored in the style."""
    number = FIRST
    for turn in range(3):
        for position, (style, write) in enumerate(styles(_FORMS)):
            first = position + turn * 4
            texts = [_TEXTS[(first + n) % len(_TEXTS)] for n in range(2 + position % 2)]
            said = [write(*(pair if (first + n) % 4 else pair[::-1])) for n, pair in enumerate(texts)]
            separator = ("\n", " ", ", ")[turn]
            cells = {"question": "What is covered?", "answer": str([gold for gold, _ in texts])}
            yield Case(str(number), cells, style, separator.join(said))
            number += 1


_METRICS = {"exact_match": "Exact_Match", "jaccard": "Jaccard"}
SPECS = (
    Spec(
        name="vcr-wiki.vlmevalkit",
        benchmark="vcr-wiki",
        rule="vlmevalkit",
        oracle=replace(VLMEVALKIT, script="vcr"),
        path="vlmeval/dataset/vcr.py, process_match_single_new",
        cases=_cases,
        arguments={"scorer": "vlmevalkit"},
        metrics=_METRICS,
    ),
    Spec(
        name="vcr-wiki.authors",
        benchmark="vcr-wiki",
        rule="official",
        oracle=Oracle(
            script="vcr",
            repository="tianyu-z/VCR",
            commit="b3be5a9e6ad73edb8f6b612d94a83f958dd5c8cb",
            licence="CC BY-SA 4.0",
            checkout="VCR",
        ),
        path="src/evaluation/evaluation_metrics.py, process_match_single",
        cases=_cases,
        arguments={"scorer": "authors"},
        metrics=_METRICS,
    ),
)
