"""DynaMath: objects with a short answer, and what a judge makes of replies without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential.sets import Case, Spec
from tests.differential.specs.judged_points import APART, FIRST, VLMEVALKIT_JUDGED

_TYPES = ("float", "multiple choice", "text")
_SUBJECTS = ("algebra", "plane geometry")
_LEVELS = ("high school", "undergraduate")
_NOTHING = (
    "It cannot be said from what is shown here.",
    "The picture shows two curves, and each of them bends.",
    "First one has to look at the left side; then one compares it with the other side.",
    "I'm sorry, but I cannot help with that problem.",
)
"""Replies without an answer that anybody could read."""

Form = Callable[[str], str]


def _object(answer: object, **others: object) -> str:
    return json.dumps({"solution": "First one looks at it.", "short answer": answer, **others})


OBJECTS: Mapping[str, Form] = {
    "object": _object,
    "indented": lambda a: json.dumps(json.loads(_object(a)), indent=2),
    "indented by four": lambda a: json.dumps(json.loads(_object(a)), indent=4),
    "fenced": lambda a: f"```json\n{_object(a)}\n```",
    "bare fence": lambda a: f"```\n{_object(a)}\n```",
    "prose before": lambda a: f"Let me look at it. So it is.\n\n{_object(a)}",
    "prose behind": lambda a: f"{_object(a)}\n\nThat is the answer.",
    "prose before a fence": lambda a: f"Here it is:\n```json\n{_object(a)}\n```\nDone.",
    "Chinese before": lambda a: f"答案如下：{_object(a)}",
    "a key more": lambda a: _object(a, unit="cm"),
    "answer first": lambda a: json.dumps({"short answer": a, "solution": "It is seen."}),
    "answer alone": lambda a: json.dumps({"short answer": a}),
    "blanks around": lambda a: f"  {_object(a)}  ",
    "LaTeX": lambda a: _object(a, solution="Since \\\\frac 1 2 is \\\\pi, so it is."),
    "braces inside": lambda a: _object(a, solution="The set {1, 2} and \\\\sqrt{2} are it."),
    "line break in it": lambda a: f'{{"solution": "One looks.\n\nThen so.", "short answer": "{a}"}}',
    "tab in it": lambda a: f'{{"solution": "One\tlooks.", "short answer": "{a}"}}',
    "list of steps": lambda a: _object(a, solution=["one", "two"]),
    "steps by name": lambda a: _object(a, solution={"step 1": "one", "step 2": "two"}),
    "thinking": lambda a: f"<think>It may be so.</think>{_object(a)}",
    "blanks in the answer": lambda a: _object(a),
    "capitals": lambda a: _object(a.upper()),
    "small letters": lambda a: _object(a.lower()),
    "number of steps": lambda a: _object(a, steps=3),
    "bold before": lambda a: f"**Answer**\n{_object(a)}",
    "accents": lambda a: json.dumps({"solution": "Où est-ce ?", "short answer": a}),
}
WORDS: Mapping[str, Form] = {
    "bare": lambda a: a,
    "line break behind": lambda a: a,
    "small letters": lambda a: a.lower(),
    "a unit behind": lambda a: f"{a} m" if "." in a else a,
    "zeros behind": lambda a: f"{a}0" if "." in a else a,
    "plus": lambda a: f"+{a}" if "." in a else f"({a})",
    "nearly": lambda a: f"{a}04" if "." in a else f"{a})",
    "not near": lambda a: f"{a}4" if "." in a else f"({a}",
    "brackets": lambda a: f"{a} [m]" if "." in a else f"[{a}]",
    "dot behind": lambda a: f"{a} ." if "." in a else f"{a}.",
    "in words": lambda a: f"{a} is it" if "." in a else f"Option {a}",
    "two": lambda a: f"{a} or 3" if "." in a else "F",
    "exponent": lambda a: f"{a}e0" if "." in a else f"<{a}>",
    "other": lambda a: "7.0" if "." in a else "E",
    "of one": lambda a: f"{a} (rounded)" if "." in a else f"*{a}*",
    "in pi": lambda a: f"{float(a) / 3.141592653589793:.9f}π" if "." in a else f"\n{a}\n",
}
ODD_OBJECTS: Mapping[str, Form] = {
    "single quotes": lambda a: str({"solution": "One looks.", "short answer": a}),
    "a comma behind": lambda a: _object(a).replace("}", ",}"),
    "another name": lambda a: _object(a).replace("short answer", "short_answer"),
    "capital name": lambda a: _object(a).replace("short answer", "Short Answer"),
    "a sentence in it": lambda a: _object(f"The answer is {a}."),
    "equals": lambda a: _object(f"x = {a}"),
    "dollars": lambda a: _object(f"${a}$"),
    "full stop": lambda a: _object(f"{a}."),
    "empty": lambda a: _object(""),
    "two objects": lambda a: f"{_object('7')} or {_object(a)}",
    "the answer alone": lambda a: a,
    "the answer is": lambda a: f"The answer is {a}.",
    "boxed": lambda a: f"So it is \\boxed{{{a}}}.",
}
ODD_WORDS: Mapping[str, Form] = {
    "labelled": lambda a: f"Answer: {a}",
    "in a sentence": lambda a: f"The answer is {a}.",
    "bold": lambda a: f"**{a}**",
    "quoted": lambda a: f'"{a}"',
    "dollars": lambda a: f"${a}$",
    "equals": lambda a: f"x = {a}",
    "full stop": lambda a: f"{a}.",
    "explained behind": lambda a: f"{a}\nThat is what it says.",
    "explained before": lambda a: f"That is what it says.\n{a}",
    "none": lambda a: "None",
    "not answered": lambda a: "N/A",
    "refusal": lambda a: "I'm sorry, but I can't help with that.",
    "two answers": lambda a: f"{a} or {a[:-1]}9" if "." in a else "A or B",
    "object": _object,
    "thinking": lambda a: f"<think>Is it 7?</think>{a}",
}


def _cells(number: int) -> Mapping[str, Any]:
    """Ten variants of a question stand in a row, and are called after the first."""
    place = number - FIRST
    seed = place // 10
    kind = _TYPES[seed % 3]
    return {
        "question": f"Question {seed}, variant {place % 10 + 1}?",
        "answer": {"float": f"{place % 7}.25", "text": "odd"}.get(kind, "ABCD"[place % 4]),
        "answer_type": kind,
        "qid": str(FIRST + 10 * seed),
        "varid": place % 10 + 1,
        "subject": _SUBJECTS[seed % 2],
        "knowledge_level": _LEVELS[seed // 2 % 2],
    }


def _answered(cells: Mapping[str, Any], number: int) -> str:
    """The gold, but in one variant of every third question."""
    if (number - FIRST) // 10 % 3 == (number - FIRST) // 90 % 3 and number % 10 == 4:
        return {"float": "8.125", "text": "even"}.get(cells["answer_type"], "E")
    return str(cells["answer"])


def _cases() -> Iterator[Case]:
    number = FIRST
    objects, words = list(OBJECTS.items()), list(WORDS.items())
    for place in range(360):
        cells = _cells(number)
        said = _answered(cells, number)
        asks = place % 2 and cells["answer_type"] != "text"
        form, write = words[place // 2 % len(words)] if asks else objects[place % len(objects)]
        kind = cells["answer_type"]
        if asks:
            reply = _NOTHING[place % len(_NOTHING)]
            yield Case(str(number), cells, f"nothing said, {kind}; {form}", reply, write(said))
        else:
            yield Case(str(number), cells, f"{form}, {kind}", write(said))
        number += 1
    for form, write in ODD_OBJECTS.items():
        for kind in _TYPES:
            number = _next(number, kind)
            cells = {**_cells(number), "qid": str(number), "varid": 1}
            style = f"{APART}{form}, {kind}"
            yield Case(str(number), cells, style, write(str(cells["answer"])))
            number += 1
    for form, write in ODD_WORDS.items():
        for kind in _TYPES:
            number = _next(number, kind)
            cells = {**_cells(number), "qid": str(number), "varid": 1}
            style = f"{APART}nothing said, {kind}; {form}"
            yield Case(str(number), cells, style, _NOTHING[0], write(str(cells["answer"])))
            number += 1


def _next(number: int, kind: str) -> int:
    while _cells(number)["answer_type"] != kind:
        number += 10
    return number


SPECS = (
    Spec(
        name="dynamath.vlmevalkit",
        benchmark="dynamath",
        rule="snellen",
        oracle=VLMEVALKIT_JUDGED,
        path="vlmeval/dataset/dynamath.py, DynaMath_auxeval and Dynamath.evaluate",
        cases=_cases,
        arguments={
            "dataset": "DynaMath",
            "about": "dynamath:DynaMath_auxeval",
            "column": "correct",
            "table": ["Setting", "Overall", "Subject-algebra", "Level-undergraduate"],
            "factor": 100,
        },
        metrics={
            "average": "Average/Overall",
            "worst_case": "Worst Case/Overall",
            "subject/algebra": "Worst Case/Subject-algebra",
            "knowledge_level/undergraduate": "Worst Case/Level-undergraduate",
        },
        apart=APART,
    ),
)
