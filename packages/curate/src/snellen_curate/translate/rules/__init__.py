"""The rules by which a translation is checked, each with a name, without asking a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from snellen_curate.translate.pair import Fault, FieldFault, FieldPair, Mismatch, TextPair
from snellen_curate.translate.rules import form, meaning, verbatim


class TranslationRule(NamedTuple):
    """A check of an item's texts, and what it checks in a clause."""

    check: Callable[[TextPair], Iterator[FieldFault]]
    title: str


def _text_rule(check: Callable[[FieldPair], Iterator[Fault]], title: str) -> TranslationRule:
    """A rule that checks each text by itself."""

    def check_item(item: TextPair) -> Iterator[FieldFault]:
        for name, pair in item.by_field.items():
            yield from ((name, level, text) for level, text in check(pair))

    return TranslationRule(check_item, title)


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
    "untranslated": _text_rule(form.check_untranslated, "text still in the source language"),
    "script": _text_rule(form.check_script, "letters of a script of neither language"),
    "chatter": _text_rule(form.check_chatter, "a heading or a remark of the translator"),
    "label": TranslationRule(form.check_label, "an option's letter added to its text"),
    "length": _text_rule(form.check_length, "much shorter or longer than translations are"),
    "lines": _text_rule(form.check_lines, "another number of lines"),
    "same options": TranslationRule(meaning.check_same_options, "two options that became the same"),
    "swapped": TranslationRule(meaning.check_swapped, "an option that says what another said"),
    "yes and no": TranslationRule(meaning.check_yes_no, "yes or no as a word that is not read so"),
    "placeholders": _text_rule(verbatim.check_placeholders, "<image>, {name}, blanks"),
    **{kind: _text_rule(partial(verbatim.check_kept, kind=kind), title) for kind, title in _KEPT.items()},
    "numbers": _text_rule(verbatim.check_numbers, "numbers missing or added"),
    "letters": _text_rule(verbatim.check_letters, "single letters such as an option's label"),
    "symbols": _text_rule(verbatim.check_symbols, "currency, mathematics, emoji"),
    "keep": _text_rule(verbatim.check_keep, "terms of --terms that are to stay"),
    "names": _text_rule(verbatim.check_names, "capitalised names and abbreviations"),
    "glossary": _text_rule(meaning.check_glossary, "terms of --terms with a translation"),
    "opposites": _text_rule(meaning.check_opposites, "left for right, red for blue, kg for g"),
    "negation": _text_rule(meaning.check_negation, "a negation that was lost"),
}
"""In the order in which they are reported."""


def check_pair(pair: TextPair) -> list[Mismatch]:
    """Everything that the rules have against a translation, the wrong before the doubtful."""
    mismatches = [
        Mismatch(name, field, level, text) for name, rule in RULES.items() for field, level, text in rule.check(pair)
    ]
    return sorted(mismatches, key=lambda mismatch: mismatch.level != "wrong")
