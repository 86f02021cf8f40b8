"""Metrics of a text against a text: equal, equal in some respect, or similar.

MEGA-Bench (arXiv:2410.10563), megabench/metrics/scoring. A gold answer that is one letter is held
against the first letter of the reply, whatever follows it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from rapidfuzz.distance import DamerauLevenshtein

from snellen.benchmarks.open_answers.mega_bench.grading.literals import collect

_LETTER = re.compile(r"\(?([A-Za-z])")
_IGNORED = str.maketrans("", "", " -\n\t.")
_OUTPUT = re.compile(r"```\w*(?:\s*\n+)?(.*?)(?:\n+\s*)?```", re.DOTALL)
_NEAR = 0.9
_ARTICLES = frozenset({"the", "a"})
_LATIN = str.maketrans(
    {
        "ß": "ss",
        "ẞ": "Ss",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
        "ø": "o",
        "Ø": "O",
        "đ": "d",
        "Đ": "D",
        "ð": "d",
        "Ð": "D",
        "þ": "th",
        "Þ": "Th",
        "ł": "l",
        "Ł": "L",
        "ı": "i",
        "ħ": "h",
        "Ħ": "H",
        "‘": "'",
        "’": "'",
        "ʻ": "`",
        "“": '"',
        "”": '"',
        "–": "-",
        "—": "--",
        "…": "...",
        "\xa0": " ",
    }
)


def equal_text(reply: Any, gold: Any) -> float:
    """`exact_str_match`."""
    reply, gold = str(reply), str(gold)
    if len(gold) == 1 and gold.isalpha() and len(reply) > 1 and (letter := _LETTER.match(reply)):
        reply = letter[1]
    return float(reply == gold)


def equal_ignoring_case(reply: Any, gold: Any) -> float:
    """`exact_str_match_case_insensitive`."""
    return equal_text(reply.lower(), gold.lower())


def equal_output(reply: Any, gold: Any) -> float:
    """`code_result_exact_str_match`: the gold stands in a block of code."""
    block = _OUTPUT.search(gold if gold.strip() and len(gold) <= 10_000 else gold.rstrip())
    return equal_text(reply, block[1] if block else gold)


def equal_signs(reply: Any, gold: Any) -> float:
    """`simple_str_match`: equal but for case, blanks, hyphens and dots."""
    return equal_text(str(reply).translate(_IGNORED).lower(), gold.translate(_IGNORED).lower())


def equal_to_one(reply: Any, gold: Any) -> float:
    """`multi_ref_phrase`: equal, as `equal_signs` has it, to one of the listed texts."""
    golds = collect(list, gold.replace("，", ","))
    return float(any(equal_signs(reply, str(one)) for one in golds))


def similarity(reply: Any, gold: Any) -> float:
    """`normalized_similarity_damerau_levenshtein`: 1 - edits / length of the longer text, where an
    edit may exchange two neighbours."""
    if not isinstance(reply, str):
        return 0.0
    return float(DamerauLevenshtein.normalized_similarity(reply, gold))


def near_similarity(reply: Any, gold: Any) -> float:
    """`near_str_match`: the similarity without case, accents and articles, 0 below 0.9."""
    if not isinstance(reply, str) or not isinstance(gold, str):
        return 0.0
    texts = _plain(reply), _plain(gold)
    return float(DamerauLevenshtein.normalized_similarity(*texts, score_cutoff=_NEAR))


def _plain(text: str) -> str:
    """In ASCII as far as it is Latin; letters of other scripts stay, where the authors' code has a
    library (under the GPL) write them in Latin ones."""
    words = [word for word in text.split(" ") if word.lower() not in _ARTICLES]
    marks = unicodedata.normalize("NFKD", " ".join(words).translate(_LATIN))
    return "".join(sign for sign in marks if unicodedata.category(sign) != "Mn").lower()
