"""Words for yes and no: of languages by BCP-47 tag, and those of statements, letters and digits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

from snellen.core import lazy_re as re
from snellen.extract.clean import kept_for_short

WORDS: dict[str, tuple[str, str]] = {
    "ar": ("نعم", "لا"),
    "bg": ("да", "не"),
    "bn": ("হ্যাঁ", "না"),
    "cs": ("ano", "ne"),
    "de": ("ja", "nein"),
    "el": ("ναι", "όχι"),
    "es": ("sí|si", "no"),
    "fa": ("بله|آری", "خیر|نه"),
    "fi": ("kyllä", "ei"),
    "fr": ("oui", "non"),
    "he": ("כן", "לא"),
    "hi": ("हाँ|हां", "नहीं"),
    "hu": ("igen", "nem"),
    "id": ("ya", "tidak"),
    "it": ("sì|si", "no"),
    "ja": ("はい|hai", "いいえ|いえ"),
    "ko": ("네|예", "아니요|아니오"),
    "nl": ("ja", "nee"),
    "no": ("ja", "nei"),
    "pl": ("tak", "nie"),
    "pt": ("sim", "não|nao"),
    "ro": ("da", "nu"),
    "ru": ("да", "нет"),
    "sk": ("áno", "nie"),
    "sv": ("ja", "nej"),
    "sw": ("ndiyo", "hapana"),
    "ta": ("ஆம்", "இல்லை"),
    "te": ("అవును", "కాదు"),
    "th": ("ใช่", "ไม่ใช่|ไม่"),
    "tr": ("evet", "hayır|hayir"),
    "uk": ("так", "ні"),
    "ur": ("ہاں|جی ہاں", "نہیں|جی نہیں"),
    "vi": ("có", "không"),
}
"""The words of each language for yes and no but English and Chinese, whose replies have rules of
their own; `|` stands between several."""
_OTHER_PAIRS: dict[str, tuple[str, str]] = {
    "en": ("yes|yeah|yep", "no|nope"),
    "zh": (
        "是|是的|对|對|对的|對的|正确|正確|有|存在|可以|能",
        "否|不|不是|不对|不對|错|錯|错误|錯誤|不正确|不正確|没有|沒有|不存在|不可以|不能",
    ),
    "letters": ("y", "n"),
}
_STATED_ONLY: dict[str, tuple[str, str]] = {
    "truth": ("true|t|correct|right", "false|f|incorrect|wrong"),
    "digits": ("1", "0"),
}
"""Words that mean yes and no only where the question is known to be one of yes or no."""
_LONGEST = 24
"""Characters of a word with the signs around it."""
_SIDES = " \t\r\n\u3000.,;:!?*_`\"'()[]{}。，、；：！？．“”‘’「」『』【】（）《》،؟؛।"
"""Signs that may stand around a word that is the whole answer."""


def words_pattern(column: int) -> str:
    """A regular expression of the words for yes (0) or no (1), also with letters and accents as
    two characters. English's own are left out: they are read by other rules."""
    words = [word for pair in WORDS.values() for word in pair[column].split("|") if word != "no"]
    forms = [unicodedata.normalize(form, word) for word in words for form in ("NFC", "NFD")]
    # The longest first: "không" begins with no other word, but "ไม่ใช่" does.
    return "|".join(map(re.escape, sorted(dict.fromkeys(forms), key=len, reverse=True)))


@kept_for_short
def lone_yes_no(text: str) -> str | None:
    """Whether a text is nothing but a word for yes or no: "Yes", "No", or None."""
    if len(text) > _LONGEST:
        return None
    word = _plain_word(text)
    return next((answer for words, answer in _lone_words() if word in words), None)


def is_yes_no_column(texts: Iterable[str]) -> bool:
    """Whether texts are the words of one language for yes and no, both of which occur.
    Stops at the first text that is no such word."""
    pairs = _language_pairs()
    seen: set[str] = set()
    for text in texts:
        word = _plain_word(text)
        if word not in seen:
            pairs = [pair for pair in pairs if word in pair[0] or word in pair[1]]
            if not pairs:
                return False
            seen.add(word)
    return any(not seen.isdisjoint(yes) and not seen.isdisjoint(no) for yes, no in pairs)


def _plain_word(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip(_SIDES).casefold()


def _words(pair: tuple[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    yes, no = (frozenset(map(_plain_word, words.split("|"))) for words in pair)
    return yes, no


@cache
def _language_pairs() -> list[tuple[frozenset[str], frozenset[str]]]:
    return [_words(pair) for pair in (*WORDS.values(), *_OTHER_PAIRS.values())]


@cache
def _lone_words() -> tuple[tuple[frozenset[str], str], ...]:
    pairs = [*_language_pairs(), *map(_words, _STATED_ONLY.values())]
    yes, no = (frozenset().union(*words) for words in zip(*pairs, strict=True))
    return (yes, "Yes"), (no, "No")
