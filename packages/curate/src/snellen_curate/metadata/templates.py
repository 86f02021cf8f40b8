"""Question templates: a TOML file that says, per subtask, what is asked of which records and where
the wrong options come from. Its questions take English nouns, with their plurals and articles.

    version = 1

    [[templates]]
    subtask = "object counting"
    task = "counting"
    answer = "count"
    questions = ["How many {label}s are in the image?", "Count the {label}s in the image."]
    options = [4, 8]
    distractors = [{ by = "numbers", spread = 3 }]
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from snellen.core.errors import DataError
from snellen.data.toml_files import read_packaged, read_toml

_TABLE = read_packaged(__package__, "nouns.toml")
_IRREGULAR: dict[str, str] = _TABLE.pop("irregular")
_SAME, _MASS, _PLURAL_NAMES, _PAIRS = (frozenset(words.split()) for words in _TABLE.values())
_VES = re.compile(r"(?:kni|wi|li)fe$|(?:cal|hal|wol|shel|lea|loa|thie|scar|el)f$")
_ADDS_ES = re.compile(r"(?:s|x|z|sh|ch)$|(?:potat|tomat|her|ech|buffal|mosquit|volcan|mang)o$")
_ENDS_AS_PLURAL = re.compile(r"[^aious]s$")
_NO_MEN = ("human", "german", "talisman", "ottoman", "caiman")
_REST = re.compile(r" (?:\(|of |for |with |in |on |at )")
_SILENT = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_LIKE_YOU = re.compile(r"(?:uni(?!n|m)|us[aeu]|urin|ute|uku|eu|ewe|one\b)|u[- ]", re.IGNORECASE)
_LETTERS = re.compile(r"[AEFHILMNORSX](?:[A-Z\d]|\b)")
_SPELT = re.compile(r"[A-Z](?:[A-Z\d]|-|\b)")


def pluralise(noun: str) -> str:
    """The plural of a name: `traffic lights`, `people`, `slices of pizza`, `skis`."""
    noun = noun.strip()
    head = _REST.split(noun, maxsplit=1)[0]
    before, space, last = head.rpartition(" ")
    return f"{before}{space}{_plural_of_word(last)}{noun[len(head) :]}"


def _plural_of_word(word: str) -> str:
    lower = word.lower()
    if lower in _SAME or lower in _MASS or lower.endswith("fish") or _is_plural(lower):
        return word
    if lower in _IRREGULAR:
        return _IRREGULAR[lower] if word == lower else _IRREGULAR[lower].title()
    if lower.endswith("man") and lower not in _NO_MEN:
        return f"{word[:-3]}men"
    if _VES.search(lower):
        return re.sub(r"fe?$", "ves", word)
    if re.search(r"[^aeiou]y$", lower):
        return word[:-1] + "ies"
    return word + ("es" if _ADDS_ES.search(lower) else "s")


def _is_plural(word: str) -> bool:
    return word in _PLURAL_NAMES or (word not in _IRREGULAR and _ENDS_AS_PLURAL.search(word) is not None)


def add_article(noun: str) -> str:
    """The name with what stands before one: `an umbrella`, `a pair of skis`, `some butter`."""
    last = _REST.split(noun, maxsplit=1)[0].rpartition(" ")[2].lower()
    if last in _PAIRS and " and " not in noun:
        return f"a pair of {noun}"
    if last in _MASS or _is_plural(last):
        return f"some {noun}"
    if _SPELT.match(noun):
        is_vowel = _LETTERS.match(noun) is not None
    else:
        is_vowel = bool(_SILENT.match(noun)) or (noun[:1].lower() in tuple("aeiou") and not _LIKE_YOU.match(noun))
    return f"{'an' if is_vowel else 'a'} {noun}"


VERSION = 1
DEFAULT_TEMPLATES = Path(__file__).with_name("templates.toml")
"""Templates for objects with labels and boxes."""
MAX_OPTIONS = 8
"""MMT-Bench has at most eight options a question (Sec. 3.2)."""

ANSWERS = {
    "label": "categories",
    "answer": "wrong_answers",
    "text": "characters",
    "caption": "other_items",
    "number": "numbers",
    "count": "numbers",
    "presence": "yes_no",
    "box": "boxes",
    "keypoints": "keypoints",
    "sequence": "orders",
    "relation": "categories",
    "picture": "pictures",
}
"""What a template can ask for, and where wrong options come from unless it says so. Besides these,
`annotation.NAME`, whose wrong options are the values of other records (`categories`)."""

_PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "count": ("label",),
    "presence": ("label",),
    "box": ("label", "expression"),
    "keypoints": ("label",),
    "relation": ("subject", "object"),
}
_EVERYWHERE = ("expression", "width", "height", "categories", "source")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w.]*)\}")
_NOUNS = ("label", "subject", "object")
_FILLED = re.compile(r"(?P<article>\b[Aa]n? )?\{(?P<name>[A-Za-z_][\w.]*)\}(?P<plural>s\b)?")


class SolvedQuestion(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An example for the language model that writes wrong options."""

    question: str
    answer: str
    options: tuple[str, ...]


class QuestionTemplate(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry of the file."""

    subtask: str
    answer: str
    """One of `ANSWERS`, or `annotation.NAME`."""
    questions: tuple[str, ...] = ()
    """Phrasings with placeholders such as `{label}`; the seed chooses one for each item. Empty: the
    records have questions of their own."""
    task: str = ""
    """The meta-task; empty: the record's."""
    sources: tuple[str, ...] = ()
    """Data sets whose records it takes; empty: all."""
    options: int | Annotated[tuple[int, int], Meta(description="fewest and most")] = 4
    space: str = ""
    """The category space of the answers, where records do not name theirs. Empty: the answers that
    the records of the same source have."""
    distractors: tuple[str | dict[str, Any], ...] = ()
    """Strategies, the next where the one before has too few: a name, or a table with `by` and the
    strategy's settings. Empty: the one in `ANSWERS`."""
    hint: str = ""
    image_types: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    per_record: int = 1
    """The most questions about one record."""
    instruction: str = ""
    """For the language model, in place of the instruction that comes with Snellen."""
    examples: tuple[SolvedQuestion, ...] = ()

    @property
    def min_options(self) -> int:
        return self.options if isinstance(self.options, int) else self.options[0]

    @property
    def max_options(self) -> int:
        return self.options if isinstance(self.options, int) else self.options[1]

    def strategy_calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Names of the strategies with their settings."""
        calls: list[tuple[str, dict[str, Any]]] = []
        for call in self.distractors or (ANSWERS.get(self.answer, "categories"),):
            settings = {"by": call} if isinstance(call, str) else dict(call)
            calls.append((str(settings.pop("by", "")), settings))
        return calls


class TemplateFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The whole file."""

    templates: tuple[QuestionTemplate, ...]
    version: int = VERSION
    spaces: dict[str, dict[str, str] | list[str]] = {}
    """Category spaces besides those of the metadata file: labels, or labels with their places in a
    hierarchy."""
    same: tuple[tuple[str, ...], ...] = ()
    """Labels that say the same, e.g. [["sofa", "couch"]]; no two become options of one item."""


def read_templates(path: Path) -> TemplateFile:
    """Read and check a template file. Raises DataError with one sentence."""
    content = read_toml(str(path))
    try:
        file = msgspec.convert(content, TemplateFile)
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: {error}") from error
    check_templates(file, str(path))
    return file


def check_templates(file: TemplateFile, where: str) -> None:
    """Raises DataError with one sentence about the first mistake."""
    if file.version != VERSION:
        raise DataError(f"{where}: templates of version {file.version}; this Snellen reads version {VERSION}")
    if not file.templates:
        raise DataError(f"{where} has no [[templates]]")
    seen: set[str] = set()
    for template in file.templates:
        problem = _problem(template)
        if template.subtask in seen:
            problem = "there are two templates of this subtask; give its phrasings in one"
        seen.add(template.subtask)
        if problem:
            raise DataError(f"{where}, subtask {template.subtask!r}: {problem}")


def _problem(template: QuestionTemplate) -> str | None:
    if not template.subtask.strip():
        return "its name is empty"
    if template.answer not in ANSWERS and not template.answer.startswith("annotation."):
        return f"answer = {template.answer!r}; expected {', '.join(ANSWERS)}, or annotation.NAME"
    if not 2 <= template.min_options <= template.max_options <= MAX_OPTIONS:
        return f"options = {template.options}; expected 2 to {MAX_OPTIONS}, or [fewest, most]"
    if template.answer == "presence" and template.options != 2:
        return "a question about presence is answered by yes or no; set options = 2"
    if template.per_record < 1:
        return f"per_record = {template.per_record}; expected 1 or more"
    known = (*_PLACEHOLDERS.get(template.answer, ()), *_EVERYWHERE)
    for question in template.questions:
        for name in _PLACEHOLDER.findall(question):
            if name not in known and not name.startswith("annotation."):
                return f"unknown placeholder {{{name}}}; known: {', '.join(sorted(set(known)))}"
            if name == template.answer:
                return f"the question {question!r} states its own answer, {{{name}}}"
    return None


def fill_placeholders(question: str, fields: dict[str, str]) -> str | None:
    """The question with its placeholders filled; None if the record has nothing for one of them.

    An s behind a name makes its plural, and "a" before it becomes the article that it takes:
    `{label}s` is people, `a {label}` an umbrella or a pair of skis.
    """
    if any(not fields.get(name) for name in _PLACEHOLDER.findall(question)):
        return None

    def fill(match: re.Match[str]) -> str:
        article, name, plural = match["article"] or "", match["name"], match["plural"] or ""
        value = fields[name]
        if name not in _NOUNS:
            return f"{article}{value}{plural}"
        if plural:
            return article + pluralise(value)
        if not article:
            return value
        phrase = add_article(value)
        return phrase[0].upper() + phrase[1:] if article[0].isupper() else phrase

    return _FILLED.sub(fill, question)
