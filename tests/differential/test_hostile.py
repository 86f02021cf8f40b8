"""What a seed draws for a set holds its quota of hostile replies."""

from __future__ import annotations

from fnmatch import filter
from functools import cache
from random import Random

import pytest
from tests.differential.__main__ import all_specs
from tests.differential.hostile import (
    CLASSES,
    EMPTY_OPTIONS,
    GROUPED,
    IN_LANGUAGES,
    LANGUAGES,
    LETTER_OPTIONS,
    LONG,
    NOT_ASKED,
    STYLE,
    WRITERS,
    classes_of,
    counted,
    drawn,
    lacking,
)
from tests.differential.options import held_options, with_options
from tests.differential.sets import Case, Spec, all_sets

NAMES = [path.name.removesuffix(".jsonl.gz") for path in all_sets()]
FEW = (
    "mmstar.vlmevalkit",  # options in columns
    "mmmu-pro.authors",  # options in a list
    "mmbench.vlmevalkit",  # rotations
    "mme.authors",  # pairs of yes and no
    "docvqa.authors",  # a short text
    "screenspot.vlmevalkit",  # points
    "chartmimic.vlmevalkit",  # programs
    "mathvista.authors",  # the words of an extractor
    "mmdu.vlmevalkit",  # dialogues, judged
)
"""Sets of different kinds; all of them are drawn before a release."""


@cache
def specs() -> dict[str, Spec]:
    return {spec.name: spec for spec in all_specs()}


def spec_of(name: str) -> Spec:
    return specs()[name]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.release] * (name not in FEW)) for name in NAMES]
)
def test_a_drawn_set_holds_its_quota(name: str) -> None:
    cases = list(drawn(spec_of(name), 7, "2026-11-24").cases())
    assert lacking(name, cases) == {}


def test_ordinary_cases_alone_do_not_hold_it() -> None:
    cases = list(spec_of("mmstar.vlmevalkit").cases())
    assert lacking("mmstar.vlmevalkit", cases).keys() >= {"empty", "failed", "cut thought", "long", IN_LANGUAGES}


@pytest.mark.parametrize("name", ["mmstar.vlmevalkit", "mmbench.vlmevalkit", "docvqa.authors"])
def test_a_seed_draws_the_same_and_another_seed_others(name: str) -> None:
    spec = spec_of(name)
    first, again, other = (list(drawn(spec, seed, "").cases()) for seed in (1, 1, 2))
    assert first == again
    hostile = [[case for case in cases if case.style.startswith(STYLE)] for cases in (first, other)]
    assert hostile[0] != hostile[1]
    assert len({case.id for case in first}) == len(first)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_replies_are_of_their_class(name: str) -> None:
    for seed in range(200):
        reply = WRITERS[name](Random(seed), "B")
        assert name in classes_of(Case("1", {}, "", reply)), reply
        assert name == "long" or len(reply) <= LONG


def test_a_language_is_found_in_its_sentences_alone() -> None:
    for name, texts in LANGUAGES.items():
        assert counted(Case("1", {}, "", text.format("B")) for text in texts)["languages"] == 1, name
    assert counted([Case("1", {}, "", "The answer is B.")])["languages"] == 0


def test_exceptions_name_existing_sets_classes_and_reasons() -> None:
    assert [key for key in (*NOT_ASKED, *GROUPED) if not filter(NAMES, key)] == []
    assert set(FEW) <= set(NAMES)
    assert {one for held in NOT_ASKED.values() for one in held} <= set(CLASSES)
    assert all(reason for held in NOT_ASKED.values() for reason in held.values())


LAYOUTS = [
    {"A": "oak", "B": "elm", "answer": "B"},
    {"A": "(A) oak", "B": "(B) elm", "answer": "B"},
    {"candidates": "['oak', 'elm']", "answer": "elm"},
    {"candidates": "['A. oak', 'B. elm']", "answer": "B"},
    {"options": "['oak', 'elm']", "answer": "B"},
    {"option1": "oak", "option2": "elm", "answer": "B"},
    {"question": "Which tree?\nA. oak\nB. elm", "answer": "B. elm"},
]


@pytest.mark.parametrize("cells", LAYOUTS, ids=str)
def test_options_are_replaced_in_every_layout(cells: dict[str, str]) -> None:
    assert held_options(cells) == {"A": "oak", "B": "elm"}
    changed = with_options(cells, {"A": "N/A", "B": "a"})
    assert held_options(changed) == {"A": "N/A", "B": "a"}
    assert changed["answer"] == cells["answer"].replace("elm", "a")
    assert {LETTER_OPTIONS, EMPTY_OPTIONS} <= classes_of(Case("1", changed, "", "A."))
    assert "oak" not in str(changed)
