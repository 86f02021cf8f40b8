"""Sentences of the layers below the pages, such as why a file is not taken: they arrive in English
with their values in them, and are recognised by the patterns of `translations/sentences.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

SENTENCES_FILE = "translations/sentences.json"
_NAME = re.compile(r"\{(\w+)\}")
_NUMBERS = frozenset({"n", "count", "most", "row", "other_row"})
"""Names of values that are numbers; all others are any text."""
_CLAUSES = frozenset({"reason", "where"})
"""Names of values that are clauses, which are translated themselves."""
_MAX_LENGTH = 2_000
"""Characters of a sentence that is compared with the patterns: it may hold what a stranger sent."""


class SentencePattern(NamedTuple):
    pattern: re.Pattern[str]
    chinese: str


def translate_sentence(english: str) -> str | None:
    """The Chinese of a sentence that one of the patterns describes, with its values; None if none
    does."""
    if len(english) > _MAX_LENGTH:
        return None
    for pattern, chinese in _patterns():
        match = pattern.fullmatch(english)
        if match:
            return chinese.format(**_translate_clauses(match.groupdict()))
    return None


def _translate_clauses(values: Mapping[str, str]) -> dict[str, str]:
    return {name: (translate_sentence(value) or value) if name in _CLAUSES else value for name, value in values.items()}


@cache
def _patterns() -> tuple[SentencePattern, ...]:
    """In the order of the file, where a special sentence stands before a more general one."""
    file = resources.files("snellen_hub.web.pages") / SENTENCES_FILE
    texts = json.loads(file.read_text(encoding="utf-8"))
    return tuple(SentencePattern(_pattern(english), chinese) for english, chinese in texts.items())


def _pattern(english: str) -> re.Pattern[str]:
    """`the file has {n} rows` as a regular expression with a group for each value."""
    parts = _NAME.split(english)
    for index in range(0, len(parts), 2):
        parts[index] = re.escape(parts[index])
    for index in range(1, len(parts), 2):
        value = r"[\d,]+" if parts[index] in _NUMBERS else ".+?"
        parts[index] = f"(?P<{parts[index]}>{value})"
    return re.compile("".join(parts), re.DOTALL)
