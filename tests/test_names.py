"""Names that a stranger understands: one class of a name, no riddles, verbs for functions.

`python docs/structure.py --names` lists what offends.
"""

from __future__ import annotations

from docs.structure import all_definitions, banned_words, is_bare_participle, measure, names_used_twice

OUTPUTS = frozenset({"Drawn", "Generated", "Ranked", "Compared", "Scored"})
"""What came back from a model, by request, and what `snellen.score` returns."""


def test_class_names_are_unique() -> None:
    assert not names_used_twice(all_definitions())


def test_no_function_is_a_bare_participle() -> None:
    every = (one for one in all_definitions() if one.kind == "function")
    offending = [one[:4] for one in every if is_bare_participle(one.name)]
    assert not offending


def test_no_name_holds_a_banned_word() -> None:
    offending = [(one[:4], banned_words(one.name)) for one in all_definitions()]
    assert not [(one, words) for one, words in offending if words]


def test_folders_can_be_taken_in_at_a_glance() -> None:
    figures = measure()
    assert figures["files in the fullest folder"] <= 60
    assert figures["lines of the longest file"] <= 600
