"""We-Math: replies that rules read, and what a judge makes of those that they cannot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential.sets import Case, Spec
from tests.differential.specs.judged_points import APART, FIRST, VLMEVALKIT_JUDGED

Form = Callable[[str, str], str]
"""A reply or a judge's words, of a label and its text."""
_TEXTS = ("12 cm", "14 cm", "21 cm", "28 cm", "35 cm")
_KEYS = ("2steps_1", "2steps_2", "2steps_multi", "3steps_1", "3steps_2", "3steps_3", "3steps_multi")
_CONCEPTS = ("Area of Circles", "Perimeter of Polygons", "Area of Polygons")
_NOTHING = (
    "It cannot be said from what is shown here.",
    "One has to look at the left side first; then one compares it with the right side.",
    "It may be any of them, as far as one can see.",
    "This would need the length of the side.",
)
_PLAIN: Mapping[str, Form] = {
    "label": lambda a, t: a,
    "label and dot": lambda a, t: f"{a}.",
    "label and text": lambda a, t: f"{a}. {t}",
    "in parentheses": lambda a, t: f"({a})",
    "in parentheses, text": lambda a, t: f"({a}) {t}",
    "parenthesis": lambda a, t: f"{a}) {t}",
    "colon": lambda a, t: f"{a}: {t}",
    "line break behind": lambda a, t: f"{a}\n",
    "blanks around": lambda a, t: f"  {a}  ",
    "Answer": lambda a, t: f"Answer: {a}",
    "Answer, text": lambda a, t: f"Answer: {a}. {t}",
    "the answer is": lambda a, t: f"The answer is {a}",
    "the answer is, dot": lambda a, t: f"The answer is {a}.",
    "the answer is, parentheses": lambda a, t: f"The answer is ({a}).",
    "the correct answer": lambda a, t: f"The correct answer is {a}. {t}",
    "option": lambda a, t: f"Option {a}",
    "so option": lambda a, t: f"So it is option {a}.",
    "text alone": lambda a, t: t,
    "in a sentence, text": lambda a, t: f"It is {t}",
}
REPLIES: Mapping[str, Form] = {
    **_PLAIN,
    "final answer": lambda a, t: f"Final answer: {a}",
    "steps before": lambda a, t: f"First one looks, then one adds.\n\nAnswer: {a}",
    "choose": lambda a, t: f"I choose {a}",
    "must be": lambda a, t: f"It must be {a}.",
    "so": lambda a, t: f"So, {a}",
    "therefore": lambda a, t: f"Therefore, the answer is {a}.",
    "Chinese": lambda a, t: f"答案是 {a} 。",
    "exclamation": lambda a, t: f"{a}!",
}
ODD: Mapping[str, Form] = {
    "small letter": lambda a, t: a.lower(),
    "bold": lambda a, t: f"**{a}**",
    "JSON": lambda a, t: json.dumps({"answer": a}),
    "quoted": lambda a, t: f'"{a}"',
    "comma": lambda a, t: f"{a}, since it is so",
    "reasons behind": lambda a, t: f"{a}\nIt follows from the picture.",
    "boxed": lambda a, t: f"\\boxed{{{a}}}",
    "code": lambda a, t: f"`{a}`",
    "two labels": lambda a, t: f"{a} or {'B' if a == 'A' else 'A'}",
    "explained": lambda a, t: f"{a}\nA closer look at B shows that.",
    "explained before": lambda a, t: f"A closer look shows that.\nAnswer: {a}",
    "thinking": lambda a, t: f"<think>Is it F?</think>{a}",
}


def _case(number: int, reply: Form, judge: Form | None, style: str) -> Case:
    place = number - FIRST
    problem, part = divmod(place, len(_KEYS))
    labels = dict(zip("ABCDE", _TEXTS[place % 3 :] + _TEXTS[: place % 3], strict=True))
    gold = "ABCDE"[place * 3 % 5]
    wrong = (problem * 5 + part * 3) % 7 in (1, 4) and problem % 3 > 0
    said = "ABCDE"[(place * 3 + 2) % 5] if wrong else gold
    cells: dict[str, Any] = {
        "ID": f"{problem} of {_KEYS[part][0]}",
        "key": _KEYS[part],
        "question": f"How long is the side of figure {number}?",
        **labels,
        "answer": gold,
        "knowledge concept": _CONCEPTS[part % 3],
    }
    words = judge(said, labels[said]) if judge else ""
    written = reply(said, labels[said]) if judge is None else _NOTHING[place % len(_NOTHING)]
    return Case(str(number), cells, style, written, words)


def _cases() -> Iterator[Case]:
    number = FIRST
    replies, judged = list(REPLIES.items()), list(_PLAIN.items())
    for place in range(49 * len(_KEYS)):
        if place % 2:
            form, words = judged[place // 2 % len(judged)]
            style = f"nothing said {place % len(_NOTHING)}; {form}"
            yield _case(number, words, words, style)
        else:
            form, write = replies[place // 2 % len(replies)]
            yield _case(number, write, None, f"{form}{', one step' if place % 7 < 5 else ''}")
        number += 1
    for form, write in ODD.items():
        for judge, style in ((None, form), (write, f"nothing said; {form}")):
            yield _case(number, write, judge, f"{APART}{style}")
            number += 1
    for form, said in (("none of them", "Z"), ("none", "none"), ("refusal", "I'm sorry, but I can't do that.")):
        yield _case(number, lambda a, t: "", lambda a, t, said=said: said, f"{APART}{form}")
        number += 1


SPECS = (
    Spec(
        name="wemath.vlmevalkit",
        benchmark="wemath",
        rule="snellen",
        oracle=VLMEVALKIT_JUDGED,
        path="vlmeval/dataset/utils/wemath.py, and WeMath.evaluate",
        cases=_cases,
        arguments={"dataset": "WeMath", "marks": ["question"], "judge": "gpt-4o-mini", "column": "hit", "whole": 525},
        metrics={
            "score_strict": "Score (Strict)",
            "score_loose": "Score (Loose)",
            "insufficient_knowledge_strict": "InsufficientKnowledge (Strict)",
            "inadequate_generalisation_strict": "InadequateGeneralization (Strict)",
            "complete_mastery_strict": "CompleteMastery (Strict)",
            "complete_mastery_loose": "CompleteMastery (Loose)",
            "rote_memorisation_strict": "RoteMemorization rate (Strict)",
            "rote_memorisation_loose": "RoteMemorization rate (Loose)",
            "one-step": "One-step(S1)",
            "two-step": "Two-step(S2)",
            "three-step": "Three-step(S3)",
        },
        apart=APART,
        close=0.005,
    ),
)
