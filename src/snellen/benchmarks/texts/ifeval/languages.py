"""Whether a text is in a language: by its letters, and for languages that share them by frequent words."""

from __future__ import annotations

import re
from collections.abc import Mapping

_LETTERS: Mapping[str, str] = {
    "bn": "\u0980-\u09ff",
    "pa": "\u0a00-\u0a7f",
    "gu": "\u0a80-\u0aff",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c00-\u0c7f",
    "kn": "\u0c80-\u0cff",
    "ml": "\u0d00-\u0d7f",
    "th": "\u0e00-\u0e7f",
    "ko": "\uac00-\ud7af",
    "he": "\u0590-\u05ff",
    "el": "\u0370-\u03ff",
    "ja": "\u3040-\u30ff",
    "zh": "\u4e00-\u9fff",
    **dict.fromkeys(("ar", "fa", "ur"), "\u0600-\u06ff"),
    **dict.fromkeys(("hi", "mr", "ne"), "\u0900-\u097f"),
    **dict.fromkeys(("ru", "bg", "uk"), "\u0400-\u04ff"),
}
"""Letters of a language, or of a family whose members `_WORDS` tell apart."""
_LATIN = "a-zA-Z\u00c0-\u024f\u1e00-\u1eff"
_WORDS: Mapping[str, str] = {
    "en": "the and of to in is that for it with as are was on this be you not",
    "de": "der die und das ist nicht ein eine zu den mit von auf für sich dem es",
    "fr": "le la les et des est une que dans pour pas qui sur du avec ce il",
    "es": "el la los y de que en un una por con para es se no las del",
    "pt": "o a os e de que em um uma para com não é do da se por",
    "it": "il la e di che un una per con non è gli del della sono in le",
    "nl": "de het een en van is dat niet op te met voor zijn aan er",
    "fi": "ja on ei se että oli hän mutta ovat kuin myös tai jos niin",
    "sw": "na ya wa ni kwa za katika la kuwa hii yake kama au hiyo",
    "vi": "và của là có không cho một được trong người những các với để",
    "tr": "ve bir bu için ile de da çok olarak daha gibi ne var",
    "pl": "i w nie na się z jest to że do jak o po co",
    "id": "dan yang di untuk dengan ini itu dari pada tidak adalah dalam",
    "hi": "है के में की और से का को यह हैं एक पर नहीं",
    "mr": "आहे आणि च्या मध्ये हे ते आहेत या एक नाही साठी",
    "ne": "छ र को मा छन् यो हो गर्न एक लागि पनि",
    "ar": "في من على أن إلى هذا التي هو عن مع ما لا",
    "fa": "و در به از که این را با است برای های می",
    "ur": "کے میں کی ہے اور سے کا کو یہ ہیں ایک پر",
    "ru": "и в не на что с он как это по но из",
    "bg": "и на да се за от не с в е това са по",
    "uk": "і в не на що з та як це до але від",
}
_SETS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_MOST = 0.5


def is_in_language(text: str, language: str) -> bool:
    """Whether most letters of a text are those of the language (ISO 639-1), and no other language of
    these letters has more of its frequent words in the text. Latin letters without such words are
    English, and a text without letters is in any language."""
    letters = [sign for sign in text if sign.isalpha()]
    if not letters:
        return True
    own = re.compile(f"[{_LETTERS.get(language, _LATIN)}]")
    if sum(own.match(sign) is not None for sign in letters) < _MOST * len(letters):
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    family = _LETTERS.get(language)
    counts = {other: sum(word in _SETS[other] for word in words) for other in _SETS if _LETTERS.get(other) == family}
    most = max(counts.values(), default=0)
    if not most and family is None:
        return language == "en"
    return counts.get(language, 0) == most
