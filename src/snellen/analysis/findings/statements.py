"""Whether a sentence states what a yes/no question asks about, or denies it.

The words of the question stand in the sentence, in their order; an even number of further negations
states it, an odd number denies it. So "Is there no person?" is stated by "there is no person", and
"Is it left of the bus?" is neither stated nor denied by "it is right of the bus".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FORMAT = re.compile(r"(?:please )?answer\b.*$", re.IGNORECASE | re.DOTALL)
"""What a prompt says about the form of the answer."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_ABBREVIATION = re.compile(r"\b(?:\w|st|dr|mr|mrs|jr)\.$", re.IGNORECASE)
_PLACE = re.compile(r"\bin (?:the|this) (?:image|picture|photo|video)\b", re.IGNORECASE)
_EXISTENCE = re.compile(r"(?:is|are|was|were) there\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|without|cannot|nor|none|neither)\b|n't\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_IGNORED = frozenset({
    "is", "are", "was", "were", "do", "does", "did", "can", "could", "will", "would", "should",
    "has", "have", "had", "there", "a", "an", "the", "this", "that", "these", "those", "it",
    "image", "picture", "photo", "photograph", "figure", "video", "shown", "depicted", "appear",
    "appears", "appearing", "any", "some", "please", "answer", "yes", "no", "not", "be", "been",
    "being",
})  # fmt: skip
"""Words that a statement may have or lack without asking about something else."""
_SUFFIXES = ("ing", "es", "ed", "s")
_LEAST_STEM = 3
_LEAST_PREFIX = 4
"""Letters of a word that was cut off at the end of a reply, to be taken for a longer one."""


def proposition(question: str) -> str:
    """What a question asks, without what stands before it and the form of the answer."""
    sentences = list(_sentences(_FORMAT.sub("", question).strip()))
    return sentences[-1] if sentences else question


def contradicting_sentence(question: str, explanation: str, answer: bool) -> str | None:
    """The sentence of an explanation that implies the other answer than `answer` (True: yes).

    The first sentence alone repeats what was asked; that something is there may also be said later.
    """
    asked = _content(_PLACE.sub("", question))
    if not asked:
        return None
    for position, sentence in enumerate(_sentences(explanation)):
        if position and not _EXISTENCE.match(question):
            break
        words = _content(sentence)
        if words and sentence[-1].isalnum() and len(words[-1]) >= _LEAST_PREFIX:
            words[-1] = next((word for word in asked if word.startswith(words[-1])), words[-1])
        if _is_in_order(asked, words):
            denials = len(_NEGATION.findall(question)) + len(_NEGATION.findall(sentence))
            if (denials % 2 == 0) != answer:
                return sentence
    return None


def plain_words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())


def _content(text: str) -> list[str]:
    """The words that matter, without endings."""
    words = plain_words(text.lower().replace("n't", " not"))
    return [_stem(word) for word in words if word not in _IGNORED]


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) > len(suffix) + _LEAST_STEM:
            return word.removesuffix(suffix)
    return word


def _is_in_order(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether `words` are among `others`, in their order."""
    rest = iter(others)
    return all(word in rest for word in words)


def _sentences(text: str) -> Iterator[str]:
    """Sentences, not cut after abbreviations."""
    sentence = ""
    for part in _SENTENCE_END.split(text.strip()):
        sentence = f"{sentence} {part}".strip()
        if not _ABBREVIATION.search(sentence):
            yield sentence
            sentence = ""
    if sentence:
        yield sentence
