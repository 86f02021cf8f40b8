"""What a reply earns in each of CC-OCR's tasks, as in the authors' evaluators (Yang et al. 2024,
Sec. 4.1, with the extraction of tables of April 2025).

Transcripts count by the F1 of their words or characters, whatever their order ("Eval-Trans",
https://arxiv.org/abs/2412.02210): both texts become multisets of tokens, and a token of the gold
counts as often as the transcript has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from snellen.benchmarks.documents.cc_ocr.subsets import DOCUMENTS, FIELDS, SCENE, SUBSET, TASK, TRACK
from snellen.core.limits import is_too_deep
from snellen.core.literals import load_json
from snellen.core.sample import Sample
from snellen.scoring.edit_distance import similarity
from snellen.scoring.field_trees import FieldTally, count_fields, field_similarity, parse_fields
from snellen.scoring.pages.teds import table_similarity

_UNREADABLE = ("###", "***")
"""What some data sets put for unreadable text."""
_WHITE_SPACE = re.compile(r"\s+")
_NOT_ALPHANUMERIC = re.compile("[^A-Za-z0-9]+")


class WordOverlap(NamedTuple):
    """Tokens that both texts have, those of the transcript, those of the gold."""

    common: int
    reply: int
    gold: int

    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0..1; 0 if nothing is in common."""
        return 2 * self.common / (self.reply + self.gold) if self.common else 0.0


def transcript_tokens(text: str, *, characters: bool, alphanumeric: bool) -> list[str]:
    """Lower-case tokens: words between white space, or single characters.

    `alphanumeric` keeps only ASCII letters and digits of each. Marks of unreadable text are
    dropped.
    """
    text = text.strip()
    for mark in _UNREADABLE:
        text = text.replace(mark, "")
    text = _WHITE_SPACE.sub(" ", text)
    tokens = [token.lower() for token in (text.replace(" ", "") if characters else text.split(" "))]
    if alphanumeric:
        tokens = [_NOT_ALPHANUMERIC.sub("", token) for token in tokens]
    return [token for token in tokens if token]


def count_tokens(reply: Sequence[str], gold: Sequence[str]) -> WordOverlap:
    common = Counter(reply) & Counter(gold)
    return WordOverlap(common.total(), len(reply), len(gold))


_FENCE = "```"
_PREAMBLE = tuple(
    re.compile(rf"\\{command}(?:{rest}(\}})|.*)")
    for command, rest in (
        (r"documentclass\{", ".*?"),
        (r"usepackage\[", r"(?>.*?\]\{).*?"),
        (r"usepackage\{", ".*?"),
        (r"geometry\{", ".*?"),
    )
)
"""Commands of LaTeX that are no part of a transcript, dropped in this order; also the rest of a
line that lacks the brace, which is kept, so that it is looked for once."""
_COMMANDS = ("\\begin{document}", "\\end{document}", "\\noindent")
"""Dropped after those."""

_JSON_BLOCK = re.compile(r"```json(.*?)```", re.DOTALL)
_MAX_DEPTH = 64
"""Of objects and lists in each other; forms have a few."""
_CHARACTER_LANGUAGES = frozenset({"Arabic", "Japanese", "Korean"})
_CHINESE_SUBSETS = "zh"

_TABLE_END = "</table>"
_TABLE = re.compile(r"<table(?:[^>]*>.*?(</table>)|.*)", re.DOTALL)
_TABLE_TAG = re.compile(r"<table(?:.*?(>)|.*)")
_BETWEEN_TAGS = re.compile(r">\s+<")
_TEXT_OF_TAG = re.compile(r">(.*?)<", re.DOTALL)

_TO_ASCII = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""Full-width signs to those of ASCII."""
_TO_HALF_WIDTH: dict[int, int | str] = {**_TO_ASCII, 0x3000: " ", ord("、"): ","}
_HAN, _LATIN = "[\\u4e00-\\u9fff]", "[a-zA-Z0-9]"
_SPACING = (
    (re.compile(rf"(?<={_HAN})\s+(?={_HAN})"), ""),
    (re.compile(rf"(?<={_HAN})\s+(?={_LATIN})"), ""),
    (re.compile(rf"(?<={_LATIN})\s+(?={_HAN})"), ""),
    # From the first of several blanks alone, or from the second where a digit is before them.
    (re.compile(r"(?:(?<![0-9\s])\s*+|(?<=[0-9]\s)\s*+|(?<=\s))([,.!?:;])\s*"), r"\1 "),
    (re.compile(r"(?<=[0-9])(?=[a-zA-Z])|(?<=[a-zA-Z])(?=[0-9])"), " "),
    (re.compile(r"\s+"), " "),
)
"""White space that a value may have or lack: between Chinese characters, around signs, between
digits and letters."""


def grade_transcript(answer: str, sample: Sample) -> float:
    """By the sample's task: F1 of words or of fields, or similarity to the gold, 0..1."""
    if sample.groups[TRACK] == FIELDS:
        return compare_fields(answer, sample.gold[0]).f1()
    return _grade(_GRADES, answer, sample)


def grade_as_vlmevalkit(answer: str, sample: Sample) -> float:
    """As VLMEvalKit, which keeps an earlier version of the authors' rules for documents and tables,
    and compares fields as trees."""
    if sample.groups[TRACK] == FIELDS:
        return field_similarity(_reply_fields(answer), _gold_fields(sample.gold[0]))
    return _grade(_EARLIER_GRADES, answer, sample)


def _grade(grades: Mapping[str, Callable[[str, str], float]], answer: str, sample: Sample) -> float:
    gold = sample.gold[0]
    if sample.groups[TRACK] == DOCUMENTS:
        return grades[sample.groups[TASK]](answer, gold)
    return compare_tokens(answer, gold, sample.groups[SUBSET]).f1()


def compare_tokens(answer: str, gold: str, subset: str) -> WordOverlap:
    """Tokens of two texts of a subset `track/name`: characters where words are not parted by white
    space; ASCII letters and digits alone for scene text in words."""
    track, _, name = subset.partition("/")
    characters = name in _CHARACTER_LANGUAGES or _CHINESE_SUBSETS in name
    tokens = partial(transcript_tokens, characters=characters, alphanumeric=track == SCENE and not characters)
    return count_tokens(tokens(answer), tokens(gold))


def compare_fields(answer: str, gold: str) -> FieldTally:
    """Fields of a reply and of the gold; a reply that is no JSON has none."""
    return count_fields(_reply_fields(answer), _gold_fields(gold))


def _grade_document(answer: str, gold: str) -> float:
    """Similarity of two LaTeX texts without white space and preamble: of the first code block that
    is marked as LaTeX, if there is one."""
    body = _code_block(_without_preamble(answer), "latex")
    return similarity(_without_spaces(body), _without_spaces(gold))


def _grade_document_earlier(answer: str, gold: str) -> float:
    """The same of the first code block of any kind, with the name of its language."""
    body = _without_preamble(answer)
    body = body.split(_FENCE)[1] if _FENCE in body else body
    return similarity(_without_spaces(body), _without_spaces(gold))


def _grade_table(answer: str, gold: str) -> float:
    """TEDS of the tables alone, which stand one after the other: their first counts."""
    tables = _plain_tables(_code_block(answer, "html")).translate(_TO_ASCII)
    return table_similarity(tables, _plain_tables(gold).translate(_TO_ASCII))


def _grade_table_earlier(answer: str, gold: str) -> float:
    """TEDS. Blanks are dropped everywhere, so that a tag with attributes becomes a tag of another
    name, in the gold as in the reply."""
    start = f"{_FENCE}html"
    body = _without_preamble(answer)
    body = body.split(start)[1] if start in body else body
    body = _without_spaces(body.replace(_FENCE, "")).replace("，", ",")
    return table_similarity(body, _without_spaces(gold))


def _plain_tables(text: str) -> str:
    """The tables in a text without line breaks, attributes of the tables themselves, and white
    space around and in their texts. A last one may lack its end."""
    text = text if _TABLE_END in text else text + _TABLE_END
    return "".join(_plain_table(match[0]) for match in _TABLE.finditer(text) if match[1])


def _plain_table(table: str) -> str:
    table = _TABLE_TAG.sub(lambda match: "<table>" if match[1] else match[0], table)
    table = _BETWEEN_TAGS.sub("><", table)
    table = _TEXT_OF_TAG.sub(lambda match: f">{_without_spaces(match[1])}<", table)
    return table.replace("\n", "").strip()


def _code_block(text: str, language: str) -> str:
    """The content of the first block of a language, which may lack its end; else the whole text."""
    start = f"{_FENCE}{language}"
    # An empty block is none: then what follows its start counts.
    block = re.search(f"{start}(.+?){_FENCE}", text, re.DOTALL)
    if block:
        return block[1]
    return text.split(start)[1] if start in text else text


def _grade_formula(answer: str, gold: str) -> float:
    """Similarity of two LaTeX formulas without white space and code fences."""
    body = answer.replace(f"{_FENCE}latex", "").replace(_FENCE, "")
    for blank in " \n\t":
        body = body.replace(blank, "")
    return similarity(body, gold.replace(" ", ""))


def _grade_molecule(answer: str, gold: str) -> float:
    """Similarity of two SMILES strings."""
    body = _without_spaces(answer).replace("<smiles>", "").replace("</smiles>", "")
    return similarity(body, gold.replace(" ", ""))


_GRADES: Mapping[str, Callable[[str, str], float]] = {
    "doc": _grade_document,
    "table": _grade_table,
    "formula": _grade_formula,
    "molecular": _grade_molecule,
}
_EARLIER_GRADES = {**_GRADES, "doc": _grade_document_earlier, "table": _grade_table_earlier}
DOCUMENT_TASKS = tuple(_GRADES)


def _without_preamble(text: str) -> str:
    for pattern in _PREAMBLE:
        text = pattern.sub(lambda match: "" if match[1] else match[0], text)
    for command in _COMMANDS:
        text = text.replace(command, "")
    return text


def _without_spaces(text: str) -> str:
    return text.replace(" ", "").replace("\n", "")


def _gold_fields(gold: str) -> Any:
    return _normalise_values(parse_fields(gold))


def _reply_fields(reply: str) -> Any:
    """The JSON of a reply, in its first block marked as such or as the whole; an empty object if
    there is none, or one that is nested too deep to be compared."""
    block = _JSON_BLOCK.search(reply)
    if block is None and f"{_FENCE}json" in reply:
        return {}
    text = block[1] if block else reply
    try:
        value = load_json(text.strip().replace("\n", ""))
    except ValueError:
        return {}
    if value is None or is_too_deep(value, _MAX_DEPTH):
        return {}
    return _normalise_values(value)


def _normalise_values(value: Any) -> Any:
    """Half-width signs and the same white space in the texts of objects; texts in lists stay."""
    if isinstance(value, dict):
        return {name: _normalise_values(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_normalise_values(item) if isinstance(item, dict) else item for item in value]
    return _normalise_text(value) if isinstance(value, str) else value


def _normalise_text(text: str) -> str:
    text = text.translate(_TO_HALF_WIDTH)
    for pattern, replacement in _SPACING:
        text = pattern.sub(replacement, text)
    return text
