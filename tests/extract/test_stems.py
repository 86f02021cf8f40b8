"""The cheap look before a regular expression passes everything that the expression finds."""

from __future__ import annotations

import re

import pytest

from snellen.extract import phrases
from snellen.extract.clean import contains_any

REFUSALS = [
    "i'm sorry",
    "i am afraid",
    "i apologize",
    "sorry, but i",
    "sorry, i",
    "my apologies",
    "i'm unable to",
    "i am not able to",
    "i can not see",
    "i cannot tell",
    "i cant tell",
    "i can't say i cannot help",
    "i wont answer",
    "i won't discuss",
    "i will not comply",
    "i am unable to view",
    "i do not know",
    "i dont know",
    "i don't have access",
    "cannot be determined",
    "cant tell",
    "can't be answered",
    "impossible to tell",
    "not possible to identify",
    "unable to infer",
    "difficult to say",
    "could not be determined",
    "as an ai",
    "as a language model",
    "as a large language",
    "as an artificial",
    "not enough information",
    "insufficient information",
    "without the image",
]
NONE_FIT = [
    "none of the above",
    "none of these options",
    "none of those",
    "no correct answer",
    "no matching option",
    "neither of the options",
    "neither of these choices",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_stems_of_refusals(text: str) -> None:
    assert re.search(phrases.REFUSALS, text)
    assert contains_any(text, phrases.REFUSAL_STEMS)


@pytest.mark.parametrize("text", NONE_FIT)
def test_stems_of_none_of_the_options(text: str) -> None:
    assert re.search(phrases.NONE_FITS, text)
    assert contains_any(text, phrases.NONE_FITS_STEMS)
