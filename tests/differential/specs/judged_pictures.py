"""Benchmarks of pictures whose judges compare replies with the gold answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential.sets import Case, Spec
from tests.differential.specs.judged_points import VLMEVALKIT_JUDGED, Words, judged_spec
from tests.differential.styles_open import WRAPPERS, Open
from tests.differential.wrapping import wrapped_styles

_TYPES = ("[1, 5]", "[2]", "[3, 4]", "[1]", "[6, 7, 8]", "[5]", "[2, 8]")


def _yes(n: int, yes: str = "YES", no: str = "NO") -> str:
    return yes if n in (0, 2, 3, 7, 8) else no


_TAG_ALIKE: Words = {
    "tag": lambda n: f"[{_yes(n)}]",
    "tag, first letter": lambda n: f"[{_yes(n, 'Yes', 'No')}]",
    "small tag": lambda n: f"[{_yes(n, 'yes', 'no')}]",
    "tag behind a sentence": lambda n: f"The response names an object. [{_yes(n)}]",
    "tag on the last line": lambda n: f"They compare as they do.\n\n[{_yes(n)}]",
    "tag before a sentence": lambda n: f"[{_yes(n)}] That is all.",
    "bold tag": lambda n: f"**[{_yes(n)}]**",
    "tag with a dot": lambda n: f"[{_yes(n)}].",
    "conclusion": lambda n: f"Conclusion: [{_yes(n)}]",
    "bare word": lambda n: _yes(n),
    "bare word with a dot": lambda n: f"{_yes(n, 'Yes', 'No')}.",
    "word and reason": lambda n: f"{_yes(n, 'Yes', 'No')}, the objects are what they are.",
}
_TAG_UNLIKE: Words = {
    "both tags": lambda n: "If it were so, [YES]. It is not: [NO]",
    "both tags, right": lambda n: "Not [NO] but [YES]",
    "correct": lambda n: "The response is correct.",
    "incorrect": lambda n: "The response is incorrect.",
    "true": lambda n: "True",
    "one": lambda n: "1",
    "a long word": lambda n: "Yesterday I would have said [NO].",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "empty brackets": lambda n: "[]",
    "thinking": lambda n: "<think>[YES]?</think>[NO]",
    "parentheses": lambda n: f"({_yes(n)})",
    "JSON": lambda n: f'{{"correct": "{_yes(n, "yes", "no")}"}}',
    "double brackets": lambda n: f"[[{_yes(n)}]]",
}


def _match_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {"question": question.question, "answer": question.golds[0], "match_type": _TYPES[number % len(_TYPES)]}


_BOXES: Mapping[str, Callable[[str, str], str]] = {
    "box": lambda a, b: f"\\boxed{{{a}}}",
    "box in dollars": lambda a, b: f"$\\boxed{{{a}}}$",
    "box in brackets": lambda a, b: f"\\[\n\\boxed{{{a}}}\n\\]",
    "box in two dollars": lambda a, b: f"$$\\boxed{{{a}}}$$",
    "steps, box": lambda a, b: f"We find {b} first.\n\nThen the answer is \\boxed{{{a}}}.",
    "box, explanation": lambda a, b: f"\\boxed{{{a}}}\n\nThis follows from what is given.",
    "bold box": lambda a, b: f"**Answer:** \\boxed{{{a}}}",
    "blanks in the box": lambda a, b: f"\\boxed{{  {a}  }}",
    "line breaks in the box": lambda a, b: f"\\boxed{{\n{a}\n}}",
    "two boxes": lambda a, b: f"\\boxed{{{b}}} and \\boxed{{{a}}}",
    "the same box twice": lambda a, b: f"\\boxed{{{a}}}, so \\boxed{{{a}}}",
    "three boxes": lambda a, b: f"\\boxed{{{a}}} \\boxed{{{b}}} \\boxed{{77}}",
    "box with a name": lambda a, b: f"\\boxed{{x = {a}}}",
    "box with a chain": lambda a, b: f"\\boxed{{x = {b} = {a}}}",
    "box with an arrow": lambda a, b: f"\\boxed{{x = {b} \\implies x = {a}}}",
    "box with a subscript": lambda a, b: f"\\boxed{{v_{{1}} = {a}}}",
    "box in parentheses": lambda a, b: f"\\boxed{{({a})}}",
    "box with left and right": lambda a, b: f"\\boxed{{\\left({a}\\right)}}",
    "box times one": lambda a, b: f"\\boxed{{1 \\cdot ({a})}}",
    "box plus zero": lambda a, b: f"\\boxed{{{a} + 0}}",
    "box over one": lambda a, b: f"\\boxed{{\\frac{{{a}}}{{1}}}}",
    "box twice over two": lambda a, b: f"\\boxed{{\\frac{{2({a})}}{{2}}}}",
    "negative": lambda a, b: f"\\boxed{{-({a})}}",
    "box with a unit": lambda a, b: f"\\boxed{{{a} \\text{{ J}}}}",
    "box with words": lambda a, b: "\\boxed{\\text{The first level is lower}}",
    "box with bare words": lambda a, b: "\\boxed{first}",
    "box with a full stop": lambda a, b: f"\\boxed{{{a}.}}",
    "box within a box": lambda a, b: f"\\boxed{{\\boxed{{{a}}}}}",
    "empty box": lambda a, b: "\\boxed{}",
    "empty box, then one": lambda a, b: f"\\boxed{{}} \\boxed{{{a}}}",
    "box not closed": lambda a, b: f"\\boxed{{{a}",
    "other": lambda a, b: f"\\boxed{{{b}}}",
    "a number": lambda a, b: "\\boxed{42}",
    "no box, long": lambda a, b: (
        "The rest follows when both sides are compared with what was found above for the other "
        "case, and nothing else remains to be done here."
    ),
    "refusal": lambda a, b: "I'm sorry, but I can't help with that.",
    "dots": lambda a, b: "...",
}
_PROBLEMS = (
    ("['20']", "20", "10"),
    ("['\\\\frac{m g}{k}']", "\\frac{m g}{k}", "\\frac{k}{m g}"),
    ("['2.5']", "\\frac{5}{2}", "2.6"),
    ("['x^{2} + 2 x + 1']", "(x+1)^{2}", "x^{2}+1"),
    ("['\\\\sqrt{2 g h}']", "\\sqrt{2gh}", "2 g h"),
    ("['3', '4']", "4", "5"),
    ("['1.6 \\\\text{ eV}']", "1.6 \\text{ eV}", "1.5"),
    ("['\\\\frac{\\\\pi}{4}']", "\\frac{1}{4} \\pi", "\\pi"),
)
"""Gold answers as the data hold them, one that is equal to a gold, and another."""
_SUBJECTS = ("atomic", "optics", "mechanics")


def _true(n: int) -> str:
    return str(n in (0, 2, 3, 7, 8))


_TRUE_ALIKE: Words = {
    "word": _true,
    "small word": lambda n: _true(n).lower(),
    "word with a dot": lambda n: f"{_true(n)}.",
    "word and reason": lambda n: f"{_true(n)}. The two are what they are.",
    "reason and word": lambda n: f"The two are what they are.\n\n{_true(n)}",
    "bold word": lambda n: f"**{_true(n)}**",
}
_TRUE_UNLIKE: Words = {
    "yes": lambda n: "Yes",
    "not true": lambda n: "not true",
    "neither word": lambda n: "They differ in form.",
    "correct": lambda n: "They are correct.",
    "thinking": lambda n: "<think>True?</think>False",
}


_APART = "apart: "
_UNLIKE = frozenset({"box not closed", "box within a box", "box with a full stop"})
"""Boxes that the two sides read differently by what they say of themselves."""


def _physics_cases() -> Iterator[Case]:
    forms = list(_TRUE_ALIKE.items())
    boxes = wrapped_styles(_BOXES, WRAPPERS)
    boxes += [
        (f"{style}, said first", lambda a, b, write=write: f"Well: {write(a, b)}") for style, write in _BOXES.items()
    ]
    number = 7000
    for turn in range(3):
        for position, (style, write) in enumerate(boxes):
            gold, same, other = _PROBLEMS[(position + turn * 3) % len(_PROBLEMS)]
            said = (same, other) if (position + turn) % 3 else (other, same)
            words = forms[(position + turn) % len(forms)][1]
            # Nobody says of the same text that it is not the same.
            n = 0 if "text" in said[0] else position * 7 + turn
            apart = _APART if style.partition(", ")[0] in _UNLIKE else ""
            cells = {"question": "What is it?", "answer": gold, "category": _SUBJECTS[position % len(_SUBJECTS)]}
            number += 1
            yield Case(str(number), cells, f"{apart}{style}", write(*said), words(n % 10))
    for form, words in _TRUE_UNLIKE.items():
        for turn in range(2):
            number += 1
            cells = {"question": "What is it?", "answer": "['20']", "category": "optics"}
            yield Case(str(number), cells, f"{_APART}judge: {form}", "\\boxed{21}", words(turn))


SPECS = (
    Spec(
        name="physics.vlmevalkit",
        benchmark="physics",
        rule="snellen",
        oracle=VLMEVALKIT_JUDGED,
        path="vlmeval/dataset/utils/physic.py, PHYSIC_auxeval and PHYSIC_acc",
        cases=_physics_cases,
        arguments={
            "dataset": "Physics",
            "about": "utils.physic:PHYSIC_auxeval",
            "lists": ["answer"],
            "column": "res",
            "table": ["Subject", "acc"],
        },
        metrics={"accuracy": "Overall/acc", "category/optics": "optics/acc"},
        apart=_APART,
    ),
    judged_spec(
        "mmvmbench",
        "MMVMBench",
        "vlmeval/dataset/image_vqa.py, MMVMBench.evaluate",
        _match_cells,
        (_TAG_ALIKE, _TAG_UNLIKE),
        metrics={"accuracy": "Overall", "match_type/CL": "CL", "match_type/OM": "OM"},
        factor=100,
        metric="Overall",
        scale=50,
        filler={
            "id": "1",
            "cells": {"question": "What?", "answer": "This.", "match_type": "[1]"},
            "reply": "That.",
            "verdict": "[NO]",
        },
    ),
)
