"""IFEval's 25 kinds of instructions, each a check of a reply (Zhou et al. 2023,
https://arxiv.org/abs/2311.07911, appendix A; their code is google-research/instruction_following_eval).

A check is called with the reply and the instruction's values. Two rules are ours: sentences end at a full
stop, question or exclamation mark before white space, where the authors ask NLTK's punkt, and languages
are told by their letters and most frequent words (`languages`), where they ask langdetect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from snellen.core.literals import load_json

Check = Callable[..., bool]
_OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_LESS = "less than"
_WORD_END = frozenset(".,?!'\"")
_FENCES = ("```json", "```Json", "```JSON", "```")
_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]+[\"')\]]*(?=\s+[^\sa-z]|\s*\Z)")
_ABBREVIATION = re.compile(r"(?:\b(?:mr|mrs|ms|dr|prof|st|jr|sr|inc|ltd|vs|etc|no|[a-z]))\Z", re.IGNORECASE)
_CONTRACTION = re.compile(r"(.)(N'T|'(?:S|M|D|LL|RE|VE))\b")


def _compares(count: int, relation: str | None, bound: int) -> bool:
    return count < bound if relation == _LESS else count >= bound


def keywords(reply: str, keywords: list[str]) -> bool:
    return all(re.search(word, reply, re.IGNORECASE) for word in keywords)


def keyword_frequency(reply: str, keyword: str, frequency: int, relation: str) -> bool:
    return _compares(len(re.findall(keyword.strip(), reply, re.IGNORECASE)), relation, frequency)


def forbidden_words(reply: str, forbidden_words: list[str]) -> bool:
    return not any(re.search(rf"\b{word}\b", reply, re.IGNORECASE) for word in forbidden_words)


def letter_frequency(reply: str, letter: str, let_frequency: int, let_relation: str) -> bool:
    return _compares(reply.lower().count(letter.strip().lower()), let_relation, let_frequency)


def response_language(reply: str, language: str) -> bool:
    return is_in_language(reply, language)


def number_sentences(reply: str, num_sentences: int, relation: str) -> bool:
    return _compares(count_sentences(reply), relation, num_sentences)


def number_words(reply: str, num_words: int, relation: str) -> bool:
    return _compares(len(re.findall(r"\w+", reply)), relation, num_words)


def number_paragraphs(reply: str, num_paragraphs: int) -> bool:
    """Parts between dividers of three asterisks; only the first and the last may be empty."""
    parts = re.split(r"\s?\*\*\*\s?", reply)
    if any(not part.strip() for part in parts[1:-1]):
        return False
    return len(parts) - sum(not parts[place].strip() for place in {0, len(parts) - 1}) == num_paragraphs


def nth_paragraph_first_word(reply: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    parts = reply.split("\n\n")
    count = sum(bool(part.strip()) for part in parts)
    if nth_paragraph > count or not parts[nth_paragraph - 1].strip():
        return False
    word = parts[nth_paragraph - 1].split()[0].lstrip("'").lstrip('"')
    end = next((place for place, sign in enumerate(word) if sign in _WORD_END), len(word))
    return count == num_paragraphs and word[:end].lower() == first_word.lower()


def number_placeholders(reply: str, num_placeholders: int) -> bool:
    return len(re.findall(r"\[.*?\]", reply)) >= num_placeholders


def postscript(reply: str, postscript_marker: str) -> bool:
    marker = postscript_marker.strip()
    patterns = {"P.P.S": r"\s*p\.\s?p\.\s?s.*$", "P.S.": r"\s*p\.\s?s\..*$"}
    pattern = patterns.get(marker, rf"\s*{marker.lower()}.*$")
    return re.search(pattern, reply.lower(), re.MULTILINE) is not None


def number_bullet_lists(reply: str, num_bullets: int) -> bool:
    stars = re.findall(r"^\s*\*[^\*].*$", reply, re.MULTILINE)
    return len(stars) + len(re.findall(r"^\s*-.*$", reply, re.MULTILINE)) == num_bullets


def constrained_response(reply: str) -> bool:
    return any(option in reply for option in _OPTIONS)


def number_highlighted_sections(reply: str, num_highlights: int) -> bool:
    """Texts between single and between double asterisks, which count twice where both match."""
    single = [one for one in re.findall(r"\*[^\n\*]*\*", reply) if one.strip("*").strip()]
    double = re.findall(r"\*\*[^\n\*]*\*\*", reply)
    held = [one for one in double if one.removeprefix("**").removesuffix("**").strip()]
    return len(single) + len(held) >= num_highlights


def multiple_sections(reply: str, section_spliter: str, num_sections: int) -> bool:
    return len(re.findall(rf"\s?{section_spliter.strip()}\s?\d+\s?", reply)) >= num_sections


def json_format(reply: str) -> bool:
    text = reply.strip()
    for fence in _FENCES:
        text = text.removeprefix(fence)
    try:
        load_json(text.removesuffix("```").strip())
    except ValueError:
        return False
    return True


def title(reply: str) -> bool:
    return any(_title_of(line) for line in reply.split("\n"))


def _title_of(line: str) -> str:
    """What stands between the first `<<` and the last `>>` of a line: `<<[^\\n]+>>` in linear time."""
    start, end = line.find("<<"), line.rfind(">>")
    return line[start:end].lstrip("<").rstrip(">").strip() if 0 <= start <= end - 3 else ""


def two_responses(reply: str) -> bool:
    parts = reply.split("******")
    if any(not part.strip() for part in parts[1:-1]):
        return False
    held = [part.strip() for part in parts if part.strip()]
    return len(held) == 2 and held[0] != held[1]


def repeat_prompt(reply: str, prompt_to_repeat: str) -> bool:
    return reply.strip().lower().startswith(prompt_to_repeat.strip().lower())


def end_checker(reply: str, end_phrase: str) -> bool:
    return reply.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def quotation(reply: str) -> bool:
    text = reply.strip()
    return len(text) > 1 and text[0] == '"' == text[-1]


def capital_word_frequency(reply: str, capital_frequency: int, capital_relation: str) -> bool:
    """Words of capitals; a contraction is two, as for the tokenizer of the Penn Treebank."""
    words = (word for word in _CONTRACTION.sub(r"\1 \2", reply).split())
    return _compares(sum(word.isupper() for word in words), capital_relation, capital_frequency)


def english_capital(reply: str) -> bool:
    return reply.isupper() and is_in_language(reply, "en")


def english_lowercase(reply: str) -> bool:
    return reply.islower() and is_in_language(reply, "en")


def no_comma(reply: str) -> bool:
    return "," not in reply


def count_sentences(text: str) -> int:
    """Sentences; a stop behind an abbreviation, an initial or in a number ends none."""
    ends = [
        end
        for end in _SENTENCE_END.finditer(text)
        if not _ABBREVIATION.search(text[max(0, end.start() - 8) : end.start()])
    ]
    rest = text[ends[-1].end() :] if ends else text
    return len(ends) + bool(rest.strip())


CHECKS: Mapping[str, Check] = {
    "keywords:existence": keywords,
    "keywords:frequency": keyword_frequency,
    "keywords:forbidden_words": forbidden_words,
    "keywords:letter_frequency": letter_frequency,
    "language:response_language": response_language,
    "length_constraints:number_sentences": number_sentences,
    "length_constraints:number_paragraphs": number_paragraphs,
    "length_constraints:number_words": number_words,
    "length_constraints:nth_paragraph_first_word": nth_paragraph_first_word,
    "detectable_content:number_placeholders": number_placeholders,
    "detectable_content:postscript": postscript,
    "detectable_format:number_bullet_lists": number_bullet_lists,
    "detectable_format:constrained_response": constrained_response,
    "detectable_format:number_highlighted_sections": number_highlighted_sections,
    "detectable_format:multiple_sections": multiple_sections,
    "detectable_format:json_format": json_format,
    "detectable_format:title": title,
    "combination:two_responses": two_responses,
    "combination:repeat_prompt": repeat_prompt,
    "startend:end_checker": end_checker,
    "change_case:capital_word_frequency": capital_word_frequency,
    "change_case:english_capital": english_capital,
    "change_case:english_lowercase": english_lowercase,
    "punctuation:no_comma": no_comma,
    "startend:quotation": quotation,
}


def follows(reply: str, instruction: str, values: Mapping[str, Any]) -> bool:
    """Whether a reply follows an instruction; an empty one follows none."""
    held = {name: value for name, value in values.items() if value}
    return bool(reply.strip()) and CHECKS[instruction](reply, **held)


def loose_forms(reply: str) -> tuple[str, ...]:
    """The reply, without its first line, its last and both, each as it is and without asterisks: by the
    loose rule one of them has to follow the instruction."""
    lines = reply.split("\n")
    forms = (reply, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])))
    return (*forms, *(form.replace("*", "") for form in forms))


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
