"""MM-IFEval: each check by rules over many texts, and judges' words of all three kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import STEPS, Case, Spec
from tests.differential.specs.judged_points import FIRST

APART = "split: "
"""Begins styles of texts whose sentences the two sides split differently."""
_TEXTS: Mapping[str, str] = {
    "one sentence": "The boat lies at the pier.",
    "two sentences": "The boat lies at the pier. It is blue!",
    "question": "Is it blue? It is not. Why?",
    "three paragraphs": "The sea is calm.\n\nA boat waits. It is 5.50 metres long.\n\nThe end.",
    "blank lines": "\n\n  First part. \n \n\n Second part.  \n\n",
    "line breaks": "First line\nsecond line\nthird line.",
    "list": "- one boat\n- two boats\n- three boats",
    "numbered": "1. A boat.\n2. A pier.",
    "numbers": "There are 12 boats, 1,250.50 metres and 3.14 knots.",
    "percentages": "About 42.50% of 7.25 % and 5% remain.",
    "two digits": "12.50 and 3.25, then -4.75.",
    "exponent": "It is 5.09e-10 or 6E3 far.",
    "no number": "No number stands here, only words.",
    "number words": "Two boats and b2b, A4, v1.2.3.",
    "hyphens": "A well-known blue-green boat - moored.",
    "quotes": 'He said: "The boat is blue." Then he left.',
    "brackets": "(The boat is blue.) It lies here.",
    "split: small letter behind": "See p. 5 of it. the rest is missing. Well.",
    "exclamation": "Oh! what a boat! Look...",
    "ellipsis": "It waits... and waits. So be it.",
    "keyword in another": "Redditors read reddit, and Reddit reads them.",
    "keyword often": "boat Boat BOAT boat's boats.",
    "emphasis": "**The** boat is *blue*.",
    "heading": "# The boat\n\nIt is blue.\n\n## The pier\n\nIt is old.",
    "Chinese": "船是蓝色的。它停在码头。",
    "many words": "word " * 60,
    "exactly the beginning": "Dear friend, the boat is here. Yours",
    "split: ends in a sign": "The boat is here!!!",
    "tabs": "The\tboat\tis\there.\n\t\nIt waits.",
    "no end": "The boat is here",
}
_CHECKS: Mapping[str, Sequence[Sequence[Any]]] = {
    "response_paragraph_number_in_range": ([1, 1], [2, 3]),
    "response_sentence_number_in_range": ([1, 1], [2, 3]),
    "each_paragraph_sentence_number_in_range": ([1, 1], [2, 4]),
    "each_paragraph_sentence_number_in_range_list": ([[[1, 1], [2, 2], [1, 1]]], [[[1, 5]]]),
    "response_word_count_in_range": ([1, 6], [7, 59]),
    "each_paragraph_word_count_in_range": ([1, 6], [2, 12]),
    "whole_response_not_contain_certain_substrings": ([["boat", "sea"]], [["xyz"]]),
    "whole_response_not_contain_certain_substring": (["boat"], ["."]),
    "each_sentence_begin_with_certain_substring": (["The"], ["A"]),
    "each_paragraph_begin_with_certain_substring": (["The"], ["#"]),
    "each_paragraph_end_with_certain_substring": (["."], ["!"]),
    "each_sentence_end_with_certain_substring": (["."], ["!"]),
    "whole_response_begin_with_certain_substring": (["The"], ["Dear friend"]),
    "whole_response_end_with_certain_substring": (["."], ["Yours"]),
    "each_keyword_in_list_metioned_in_range": ([["boat"], 1, 2], [["boat", "pier"], 0, 1]),
    "total_keyword_in_list_metioned_in_range": ([["boat", "blue"], 1, 2], [["reddit"], 2, 9]),
}
_NUMBER_CHECKS: Mapping[str, Sequence[Sequence[Any]]] = {
    "check_percentage_number_precision_in_response": ([2], [0]),
    "check_number_precision_in_response": ([2], [0]),
    "check_whether_has_no_arabic_number_in_response": ([],),
}
_ALL_CHECKS = [
    (name, list(parameters))
    for name, variants in (
        *((f"check_whether_{name}", variants) for name, variants in _CHECKS.items()),
        *_NUMBER_CHECKS.items(),
    )
    for parameters in variants
]
_TOGETHER = (
    "Judgement: fine.\nSummary: Score of constraint_1: {}/1, Score of constraint_2: {}/1.",
    "**Summary**: Score of Constraint_1: {}/1, Score of constraint_2: {}/1",
    "Score of constraint_1: **{}/1**\nScore of constraint_2: **{}/1**",
    "Score of constraint_1: 0/1\nSummary: Score of constraint_1: {}/1,\nScore of constraint_2:  {} / 1.",
)
_CHANGED = ('Reasoning: ...\nSummary: "{}"', "Summary: {}.", "**Summary:** **{}**", "summary {}")
_FOUND = ("{}", "{}.", " {}\n", "**{}**")
_WORDS = (("wrong", "right"), ("Wrong", "Right"))


def _constraint(key: str, value: str, method: str, *checks: tuple[str, list[Any]]) -> dict[str, Any]:
    calls = [{"func": name, "params": parameters} for name, parameters in checks]
    return {"key": key, "value": value, "judge": {"method": method, "verify_funcs": calls}}


def _cells(number: int, **others: Any) -> dict[str, Any]:
    return {
        "id": f"task {number}",
        "infer_type": "main",
        "tag": "C-Level",
        "question": f"Write about the boat [row {number}]",
        "answer": "",
        "constraints": "",
        "del_cons": "",
        **others,
    }


def _ifeval() -> Iterator[Case]:
    number = FIRST
    texts = list(_TEXTS.items())
    # Every check over every text; three checks a row, as one constraint each.
    for position, (style, text) in enumerate(texts):
        for first in range(0, len(_ALL_CHECKS), 3):
            checks = _ALL_CHECKS[first : first + 3]
            constraints = [
                _constraint(f"rule {place}", "Mind it.", "rule_based", check) for place, check in enumerate(checks)
            ]
            named = f"{style}; {checks[0][0].removeprefix('check_').removeprefix('whether_')}"
            cells = _cells(number, constraints=json.dumps(constraints))
            yield Case(str(number), cells, named, text, json.dumps([""]))
            number += 1
        for turn in range(3):
            yield from _judged(number, position * 3 + turn, style, text)
            number += 3


def _judged(number: int, turn: int, style: str, text: str) -> Iterator[Case]:
    """A question judged in all ways, the same without a constraint, and one with answers."""
    mark = f"[row {number}]"
    constraints = [
        _constraint("tone", f"Be kind {mark}.", "direct_gpt"),
        _constraint("form", f"Be short {mark}.", "direct_gpt"),
        _constraint(
            "words",
            "Few words.",
            "rule_based",
            _ALL_CHECKS[turn % len(_ALL_CHECKS)],
            ("check_whether_response_word_count_in_range", [1, 50]),
        ),
        _constraint("role", f"As a sailor {mark}.", "cmp_gpt"),
    ]
    together = _TOGETHER[turn % len(_TOGETHER)].format(turn % 2, turn // 2 % 2)
    changed = _CHANGED[turn // 2 % len(_CHANGED)].format(("False", "True")[turn // 3 % 2])
    cells = _cells(number, constraints=json.dumps(constraints))
    yield Case(str(number), cells, f"{style}; judged {turn % 4}", text, json.dumps([together, changed]))
    without = _cells(number, infer_type="aux_cmp_gpt", del_cons="role", question="Write about the boat.")
    yield Case(str(number + 1), without, "without a constraint", "A boat.", json.dumps([""]))
    found = _FOUND[turn % len(_FOUND)].format(_WORDS[turn // 4 % 2][turn % 2])
    answers = _cells(number + 2, tag="P-Level", answer='["boat", "pier"]', question=f"What? [row {number + 2}]")
    yield Case(str(number + 2), answers, f"{style}; answers", text, json.dumps([found]))


SPECS = (
    Spec(
        name="mm-ifeval.vlmevalkit",
        benchmark="mm-ifeval",
        rule="snellen",
        oracle=replace(VLMEVALKIT, script="mm_ifeval"),
        path="vlmeval/dataset/mmifeval.py, judge_one_item, and utils/mmif/function_and_compare.py",
        cases=_ifeval,
        arguments={"steps": ["start of constraint list|Ground Truth List", "response under the constraint"]},
        metrics={
            "accuracy": "overall_accuracy",
            "level/C-Level": "c_level_accuracy",
            "level/P-Level": "p_level_accuracy",
        },
        role=STEPS,
        apart=APART,
    ),
)
