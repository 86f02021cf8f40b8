"""English texts in words: `spacy_words.jsonl` has those of spaCy 3.8.18, `spacy.blank("en")`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.benchmarks.documents.vcr_wiki.spacy_words import split_like_spacy

LINES = (Path(__file__).parent / "spacy_words.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:20])
def test_words_are_those_of_spacy(case: dict[str, object]) -> None:
    assert split_like_spacy(str(case["text"])) == case["words"]


def test_tokens_keep_every_character() -> None:
    text = " ".join(str(case["text"]) for case in CASES)
    words = "".join(split_like_spacy(text))
    assert "".join(words.split()) == "".join(text.split())


@pytest.mark.parametrize("sign", ["(", ").", "a.", "-", "1km", "🙂", "@", "x:"])
def test_a_long_run_of_signs_takes_linear_time(sign: str) -> None:
    words = split_like_spacy(sign * 5000)
    assert "".join(words) == sign * 5000
