"""The rules by which a translation is checked, each with a name, without asking a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from snellen_curate.translate.pair import Mismatch, TextPair
from snellen_curate.translate.rules import form, meaning, verbatim


class TranslationRule(NamedTuple):
    """A check of a text pair, and what it checks in a clause."""

    check: Callable[[TextPair], Iterator[Mismatch]]
    title: str


_KEPT = {
    "code": "code between back-ticks",
    "formulae": "LaTeX",
    "addresses": "URLs and e-mail addresses",
    "files": "file names and paths",
    "identifiers": "names of variables and functions",
    "tags": "#tags and @mentions",
}
RULES: Mapping[str, TranslationRule] = {
    "empty": TranslationRule(form.check_empty, "a text without a translation, or one for no text"),
    "untranslated": TranslationRule(form.check_untranslated, "text still in the source language"),
    "script": TranslationRule(form.check_script, "letters of a script of neither language"),
    "chatter": TranslationRule(form.check_chatter, "a heading or a remark of the translator"),
    "label": TranslationRule(form.check_label, "an option's letter added to its text"),
    "length": TranslationRule(form.check_length, "much shorter or longer than translations are"),
    "lines": TranslationRule(form.check_lines, "another number of lines"),
    "same options": TranslationRule(meaning.check_same_options, "two options that became the same"),
    "swapped": TranslationRule(meaning.check_swapped, "an option that says what another said"),
    "yes and no": TranslationRule(meaning.check_yes_no, "yes or no as a word that is not read so"),
    "placeholders": TranslationRule(verbatim.check_placeholders, "<image>, {name}, blanks"),
    **{kind: TranslationRule(partial(verbatim.check_kept, kind=kind), title) for kind, title in _KEPT.items()},
    "numbers": TranslationRule(verbatim.check_numbers, "numbers missing or added"),
    "letters": TranslationRule(verbatim.check_letters, "single letters such as an option's label"),
    "symbols": TranslationRule(verbatim.check_symbols, "currency, mathematics, emoji"),
    "keep": TranslationRule(verbatim.check_keep, "terms of --terms that are to stay"),
    "names": TranslationRule(verbatim.check_names, "capitalised names and abbreviations"),
    "glossary": TranslationRule(meaning.check_glossary, "terms of --terms with a translation"),
    "opposites": TranslationRule(meaning.check_opposites, "left for right, red for blue, kg for g"),
    "negation": TranslationRule(meaning.check_negation, "a negation that was lost"),
    "back-translation": TranslationRule(meaning.check_back, "the way back leads elsewhere"),
}
"""In the order in which they are reported."""


def check_pair(pair: TextPair) -> list[Mismatch]:
    """Everything that the rules have against a translation, the wrong before the doubtful."""
    mismatches = [mismatch for rule in RULES.values() for mismatch in rule.check(pair)]
    return sorted(mismatches, key=lambda mismatch: mismatch.level != "wrong")
