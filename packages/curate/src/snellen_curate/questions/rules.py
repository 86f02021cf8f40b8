"""Rules that need no model, each with a name under which its decisions are recorded; and the nouns
of an English caption, counted by rule.

A rule returns why an item is dropped, as a sentence; "" if it passes. SEED-Bench-H (Sec. 3.3.1)
keeps images whose caption has more than five nouns. The paper does not name its tagger. This one
is a list of words that are no nouns, the endings of verbs and adverbs, and the word before:
captions are short and plain, so that it needs no model. `tests/questions` measures it on
labelled captions.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from rapidfuzz.distance import Indel

from snellen.core.literals import digits_by_word
from snellen.data.toml_files import read_packaged

MIN_NOUNS = 6
"""The paper drops images with no more than five nouns."""

_NOUN_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|\d+|[^\sA-Za-z\d]")
_MIN_LATIN_SHARE = 0.5


_TABLE = read_packaged(__package__, "words.toml")
_SAME: Mapping[str, str] = digits_by_word(12) | _TABLE.pop("same")


@functools.cache
def _lexicon(*names: str) -> frozenset[str]:
    """The words of these lists of `words.toml`."""
    return frozenset(word for name in names for word in _TABLE[name].split())


def find_nouns(caption: str) -> list[str]:
    """The nouns of a caption in order, as they stand there; a word that stands twice counts twice.

    Every part of a compound counts ("street sign" is two).
    """
    words = _NOUN_WORD.findall(caption)
    lower = [word.lower() for word in words]
    return [word for index, word in enumerate(words) if _is_noun(lower, index)]


def is_english(caption: str) -> bool:
    """Whether at least half of the letters are Latin ones: other captions cannot be counted."""
    letters = [character for character in caption if character.isalpha()]
    latin = sum(character.isascii() for character in letters)
    return latin >= _MIN_LATIN_SHARE * len(letters)


def _is_noun(words: list[str], index: int) -> bool:
    """Decide about one word, in lower case, by lists, then endings, then the word before."""
    word = words[index]
    if not word[0].isalpha() or len(word) == 1 or word in _lexicon("numbers"):
        return False
    if word in _lexicon("naming"):
        return _names_a_part(words, index)
    if word in _lexicon("function"):
        return False
    # Nouns that end as verbs, adverbs or adjectives do.
    if word in _lexicon("ing", "ed", "ly", "adjective_exceptions"):
        return True
    if word in _lexicon("adjectives"):
        return _stands_for_a_noun(words, index)
    if word.endswith(("ly", "ing", "ed", *_lexicon("adjective_endings"))):
        return False
    return _is_noun_here(words, index) if _may_be_verb(word) else True


def _neighbours(words: list[str], index: int) -> tuple[str, str]:
    """The words before and after; "" where there is none."""
    return (words[index - 1] if index else ""), "".join(words[index + 1 : index + 2])


def _names_a_part(words: list[str], index: int) -> bool:
    """ "The top of the hill", "a group of people": a noun before `of`; not in "on top of"."""
    before, after = _neighbours(words, index)
    is_named = before in {"a", "an", "the", "each"} or before in _lexicon("adjectives")
    return after == "of" and is_named


def _stands_for_a_noun(words: list[str], index: int) -> bool:
    """ "A girl in red", "an orange on a plate": an adjective's form behind a determiner, where no
    noun can follow it."""
    before, after = _neighbours(words, index)
    ends = not after or not after[0].isalpha() or after in _lexicon("function")
    return ends and before in _lexicon("determiners")


def _may_be_verb(word: str) -> bool:
    stems = [word, word.removesuffix("s"), word.removesuffix("es")]
    if word.endswith("ies"):
        stems.append(word[:-3] + "y")
    return not _lexicon("verbs").isdisjoint(stems)


def _is_noun_here(words: list[str], index: int) -> bool:
    """Whether a word that may be a verb is a noun: behind a determiner, number or adjective, or
    at the beginning."""
    before, _ = _neighbours(words, index)
    if not before or not before[0].isalpha():
        return before not in {",", "-"}
    return before in _lexicon("determiners", "numbers", "adjectives")


DISTRACTORS = 3
"""SEED-Bench-H, Sec. 3.4.1.2: "four choices with one correct option and three distractors"."""
MAX_SIMILARITY = 0.9
"""Similarity of two options, 0 to 1, above which they are too close to each other."""

FEW_NOUNS, UNREADABLE, NOT_JSON = "few-nouns", "unreadable", "not-json"
NO_FACTS, TOO_LONG, NO_QUESTION = "nothing-to-ask", "too-long", "no-question"
NO_LICENSE, UNANSWERED = "no-license", "unanswered"
MISSING, TOO_CLOSE, GIVEN_AWAY = "missing-parts", "distractor-too-close", "answer-given-away"
MENTIONS_DESCRIPTION, REPEATED = "mentions-description", "asked-before"
SINGLE_FRAME, BALANCE = "single-frame", "balance"
UNCHANGED, CHANGED_TOO_MUCH, NOT_DRAWN = "unchanged", "changed-too-much", "not-drawn"
SAME_IMAGE, DRAWING_UNLIKE, NOTHING_CHANGES = "same-picture", "drawing-unlike", "nothing-changes"
TOO_FEW_OTHERS = "too-few-others"
WRITTEN = "written"
_Texts = Annotated[list[str], Meta(max_length=20)]


class WrittenQuestion(Struct, frozen=True):
    """A question as the writer replies it; parts may be missing, which a rule says."""

    question: str = ""
    answer: str = ""
    distractors: _Texts = []


class ChangedCaption(Struct, frozen=True):
    """A caption with another target or attribute, as the writer replies it."""

    caption: str = ""
    what: str = ""
    before: str = ""
    after: str = ""


class ChangedCaptions(Struct, frozen=True):
    """The JSON object that the writer is asked for."""

    changed: list[ChangedCaption]


class WrittenQuestions(Struct, frozen=True):
    """The JSON object that the writer is asked for."""

    questions: list[WrittenQuestion]


_WORD = re.compile(r"[^\W_]+|[^\w\s.,;:!?\"'’()\[\]–—]")
_STOP_WORDS = frozenset(["a", "an", "the", "of", "is", "are", "it", "its", "there"])
_TELLING = frozenset(
    ("and", "or", "not", "no", "none", "without", "neither", "nor", "than", "only", "+", "-", "before", "after", "then")
)
"""Added words that make another option: "a cat" is not "a cat and a dog"."""
_DESCRIPTION = re.compile(
    r"\b(captions?|bounding box(?:es)?|boxes \[|coordinates?|"
    r"(?:the|this|given|provided|dense|region|image|video) descriptions?|"
    r"the list of|listed instances|metadata|detected|pixels?)\b",
    re.IGNORECASE,
)
_MIN_KEPT = 0.5
_ARTICLES = frozenset({"a", "an"})
_MIN_ANSWER = 4
"""Letters from which an answer that stands in its question gives it away: "no" and "2" do not."""


def check_noun_count(captions: Sequence[str], min_nouns: int) -> str:
    """Check that the richest caption has at least `min_nouns` nouns; captions in other languages
    pass. Like all rules: returns what is wrong as a clause, "" if nothing is."""
    counts = {caption: find_nouns(caption) for caption in captions if is_english(caption)}
    if not min_nouns or not captions or len(counts) < len(captions):
        return ""
    caption, nouns = max(counts.items(), key=lambda pair: len(pair[1]))
    if len(nouns) >= min_nouns:
        return ""
    listed = ", ".join(nouns) or "none"
    return f"{len(nouns)} nouns ({listed}) in {caption!r}; expected at least {min_nouns}"


def check_parts(written: WrittenQuestion) -> str:
    """Check that there are a question, an answer and exactly three distractors."""
    if not written.question.strip():
        return "there is no question"
    if not written.answer.strip():
        return "there is no answer"
    count = sum(bool(text.strip()) for text in written.distractors)
    if count != DISTRACTORS or len(written.distractors) != DISTRACTORS:
        return f"there are {count} distractors; expected {DISTRACTORS}"
    return ""


def check_distractors(written: WrittenQuestion, max_similarity: float = MAX_SIMILARITY) -> str:
    """Check that no distractor says the same as the answer or as another distractor.

    Compared are the words without articles and the like, plural as singular, number words as
    digits. Two options are too close if more than `max_similarity` of their words are the same in
    the same order (twice the common words over all words), or if one has all words of the other
    and adds no number, symbol, negation or `and`: whoever takes "a brown dog" for right cannot
    call "a dog" wrong.
    """
    options = (written.answer, *written.distractors)
    for second in range(1, len(options)):
        for first in range(second):
            if _are_close(options[first], options[second], max_similarity):
                which = "the answer" if first == 0 else "another distractor"
                return f"{options[second]!r} is too close to {which} {options[first]!r}"
    return ""


def check_giveaway(written: WrittenQuestion) -> str:
    """Check that the question does not contain the answer, unless it contains every option
    ("A or B?")."""
    question = f" {' '.join(_words(written.question))} "
    answer = " ".join(_words(written.answer))
    if len(answer) < _MIN_ANSWER or f" {answer} " not in question:
        return ""
    others = [" ".join(_words(text)) for text in written.distractors]
    if any(f" {other} " in question for other in others):
        return ""
    return f"the answer {written.answer!r} stands in the question"


def check_description_mention(written: WrittenQuestion) -> str:
    """Check that the question does not mention captions or boxes: whoever answers sees the image
    alone."""
    match = _DESCRIPTION.search(written.question)
    return f"the question mentions {match[0]!r}" if match else ""


def check_repetition(written: WrittenQuestion, earlier: Sequence[str]) -> str:
    """Check that the question differs from the earlier ones about the image."""
    words = sorted(_words(written.question))
    for question in earlier:
        if sorted(_words(question)) == words:
            return f"asked before: {question!r}"
    return ""


def check_captions_differ(caption: str, changed: Sequence[ChangedCaption]) -> str:
    """Check that each changed caption differs from the caption, and from the others."""
    seen = {" ".join(_words(caption)): "the caption"}
    for one in changed:
        words = " ".join(_words(one.caption))
        if words in seen:
            return f"{one.caption!r} is the same as {seen[words]}"
        seen[words] = "another one"
    return ""


def check_change_size(caption: str, changed: Sequence[ChangedCaption]) -> str:
    """Check that only the target or the attribute was changed: at least half of the caption's words
    must remain, and the new words must be those that the writer states."""
    before = _words(caption)
    for one in changed:
        after = _words(one.caption)
        if Indel.normalized_similarity(before, after) < _MIN_KEPT:
            return f"{one.caption!r} has few words of the caption"
        new = {*after} - {*before} - {*_words(one.after)} - _ARTICLES
        if new:
            return f"{one.caption!r} also changes {', '.join(sorted(new))}"
    return ""


def similarity(first: str, second: str) -> float:
    """Share of two options' words that they have in common, in the same order: 0 to 1."""
    return Indel.normalized_similarity(_content(first), _content(second))


def _are_close(first: str, second: str, max_similarity: float) -> bool:
    if similarity(first, second) > max_similarity:
        return True
    words = sorted((_content(first), _content(second)), key=len)
    shorter, longer = set(words[0]), set(words[1])
    added = longer - shorter
    telling = (word in _TELLING or not word.isalpha() for word in added)
    return shorter < longer and not any(telling)


def _content(text: str) -> list[str]:
    """Words of an option as they are compared; all of them if none is left."""
    words = [_SAME.get(word, word) for word in _words(text)]
    kept = [_singular(word) for word in words if word not in _STOP_WORDS]
    return kept or words


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _words(text: str) -> list[str]:
    """Words in lower case, and symbols that carry meaning (-5, $3, C++)."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(folded) or [folded.strip()]
