"""Benchmarks whose judges mark replies in points; the judge's words are given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.styles_open import BASES, QUESTIONS, Open, reply_to

VLMEVALKIT_JUDGED = replace(VLMEVALKIT, script="vlmevalkit_judged")
FIRST = 5000
APART = "judge: "
"""Begins styles of verdicts that the two sides are expected to read differently."""
_REPLIES = 300

Words = Mapping[str, Callable[[int], str]]
"""A judge's words in a style, of a whole number from 0 to 9; `{gold}` in them is the gold."""
CellsOf = Callable[[Open, int], Mapping[str, Any]]


def judged_cases(
    cells: CellsOf, alike: Words, unlike: Words, replies: int = _REPLIES, times: int = 2
) -> Callable[[], Iterator[Case]]:
    """Replies in every style with verdicts in the styles `alike`, which rotate; then verdicts in
    the styles `unlike`. A style is named after both."""

    def case(number: int, style: str, reply: str, said: str, question: Open) -> Case:
        held = cells(question, number)
        return Case(str(number), held, style, reply, said.replace("{gold}", str(held.get("answer", ""))))

    def cases() -> Iterator[Case]:
        number = FIRST
        bases, forms = list(BASES.items()), list(alike.items())
        for position in range(replies):
            style, write = bases[position % len(bases)]
            form, words = forms[(position + position // len(bases)) % len(forms)]
            question = QUESTIONS[position % len(QUESTIONS)]
            reply = reply_to(question, write, position)
            named = f"{style}; {form}"
            yield case(number, named, reply, words(position * 7 % 10), question)
            number += 1
        for turn in range(times):
            for position, (form, words) in enumerate(unlike.items()):
                question = QUESTIONS[(position + turn) % len(QUESTIONS)]
                said = words((position * 7 + turn * 3) % 10)
                yield case(number, f"{APART}{form}", question.golds[0], said, question)
                number += 1

    return cases


DIMENSIONS = (
    "Creativity",
    "Richness",
    "Visual Perception",
    "Logical Coherence",
    "Answer Accuracy",
    "Image Relationship Understanding",
    "Overall Score",
)


def _marks(number: int, **others: Any) -> dict[str, Any]:
    found = {name: (number + step * 3) % 11 for step, name in enumerate(DIMENSIONS)}
    return {**found, **{name.replace("_", " "): value for name, value in others.items()}}


_MMDU_ALIKE: Words = {
    "Python": lambda n: str(_marks(n)),
    "JSON": lambda n: json.dumps(_marks(n)),
    "JSON over lines": lambda n: json.dumps(_marks(n), indent=2),
    "explained before": lambda n: f"The answer is short.\nCreativity: {n}.\n\n{_marks(n)}",
    "explained behind": lambda n: f"{_marks(n)}\nThe answer is short.",
    "fenced": lambda n: f"```json\n{json.dumps(_marks(n))}\n```",
    "fenced Python": lambda n: f"Scores:\n```python\n{_marks(n)}\n```\nThat is all.",
    "bare fence": lambda n: f"```\n{_marks(n)}\n```",
    "bold before": lambda n: f"**Overall Score: {n}**\n\n{_marks(n)}",
    "marks as texts": lambda n: str({key: str(value) for key, value in _marks(n).items()}),
    "above the top": lambda n: str(_marks(n, Overall_Score=10 + n)),
    "below zero": lambda n: str(_marks(n, Overall_Score=-1 - n)),
    "whole with a point": lambda n: str({key: float(value) for key, value in _marks(n).items()}),
    "a key more": lambda n: str(_marks(n, Comment="good")),
    "another order": lambda n: str(dict(reversed(_marks(n).items()))),
    "no blanks": lambda n: str(_marks(n)).replace(": ", ":").replace(", ", ","),
    "blanks": lambda n: str(_marks(n)).replace(":", " : ").replace(",", " , "),
    "a comma behind": lambda n: str(_marks(n)).replace("}", ",}"),
    "blank lines": lambda n: f"\n\n{_marks(n)}\n\n",
    "number sign": lambda n: f"### Scores\n1. Creativity - {n}\n2. Richness - {n}\n{_marks(n)}",
    "double quotes and words": lambda n: f'He says "{n}": {json.dumps(_marks(n))}.',
    "Chinese before": lambda n: f"评分如下：{_marks(n)}",
    "dollar signs": lambda n: f"${_marks(n)}$",
}
_MMDU_UNLIKE: Words = {
    "halves": lambda n: str({key: value + 0.5 for key, value in _marks(n % 9).items()}),
    "halves as texts": lambda n: str({k: f"{v}.5" for k, v in _marks(n % 9).items()}),
    "one missing": lambda n: str({k: v for k, v in _marks(n).items() if k != "Richness"}),
    "overall missing": lambda n: str({k: v for k, v in _marks(n).items() if "Overall" not in k}),
    "overall alone": lambda n: str({"Overall Score": n}),
    "small letters": lambda n: str({k.lower(): v for k, v in _marks(n).items()}),
    "underscores": lambda n: str({k.replace(" ", "_"): v for k, v in _marks(n).items()}),
    "out of ten": lambda n: str({k: f"{v}/10" for k, v in _marks(n).items()}),
    "two objects": lambda n: f"{_marks(n)}\nor rather {_marks(n // 2)}",
    "braces before": lambda n: f"In the format {{...}}: {_marks(n)}",
    "prose": lambda n: f"I give it {n} of 10 overall.",
    "bare number": lambda n: str(n),
    "labelled": lambda n: f"Overall Score: {n}",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "null": lambda n: json.dumps(_marks(n, Overall_Score=None)),
    "not a number": lambda n: str(_marks(n, Overall_Score="N/A")),
    "cut off": lambda n: str(_marks(n))[:-1],
    "list": lambda n: str(list(_marks(n).values())),
    "true": lambda n: str(_marks(n, Overall_Score=True)),
    "thinking": lambda n: f"<think>{_marks(n // 2)}</think>{_marks(n)}",
}


def _mmdu_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {"question": str([question.question]), "answer": str([question.golds[0]])}


MMBENCH_VIDEO = {
    "CP": ("Video Topic", "Video Emotion", "Video Scene", "Video Style"),
    "FP-S": ("OCR", "Object Recognition", "Counting"),
    "HL": ("Hallucination",),
    "AR": ("Function Reasoning",),
    "TR": ("Future Prediction",),
}
_VIDEO_ALIKE: Words = {
    "digit": lambda n: str(n % 4),
    "blank before": lambda n: f" {n % 4}",
    "blank behind": lambda n: f"{n % 4}  ",
    "line break behind": lambda n: f"{n % 4}\n",
    "plus": lambda n: f"+{n % 4}",
}
_VIDEO_UNLIKE: Words = {
    "labelled": lambda n: f"Score: {n % 4}",
    "rating": lambda n: f"Rating: {n % 4}",
    "bold": lambda n: f"**{n % 4}**",
    "quoted": lambda n: f'"{n % 4}"',
    "with a dot behind": lambda n: f"{n % 4}.",
    "with a point": lambda n: f"{n % 4}.0",
    "a half": lambda n: f"{n % 3}.5",
    "out of three": lambda n: f"{n % 4}/3",
    "out of three in words": lambda n: f"{n % 4} out of 3",
    "in a sentence": lambda n: f"I would give it {n % 4} points.",
    "explained": lambda n: f"{n % 4}\n\nIt names one of the things.",
    "explained on the line": lambda n: f"{n % 4}: it names one of the things",
    "explained before": lambda n: f"It names one of the things.\n{n % 4}",
    "thinking": lambda n: f"<think>It may be 2.</think>{n % 4}",
    "above the top": lambda n: str(4 + n),
    "below zero": lambda n: str(-1 - n),
    "two numbers": lambda n: f"{n % 4} to {(n + 1) % 4}",
    "two numbers by a comma": lambda n: f"{n % 4},{(n + 1) % 4}",
    "word": lambda n: ("zero", "one", "two", "three")[n % 4],
    "words": lambda n: "The answer is entirely correct.",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "not a number": lambda n: "n/a",
    "brackets": lambda n: f"[[{n % 4}]]",
    "bracket": lambda n: f"[{n % 4}]",
    "JSON": lambda n: json.dumps({"score": n % 4}),
    "code": lambda n: f"`{n % 4}`",
    "fence": lambda n: f"```\n{n % 4}\n```",
    "leading zero": lambda n: f"0{n % 3 + 1}",
    "boxed": lambda n: f"\\boxed{{{n % 4}}}",
    "full-width": lambda n: chr(0xFF10 + n % 4),
    "API failed": lambda n: "Failed to obtain answer via API.",
}


def _video_cells(question: Open, number: int) -> Mapping[str, Any]:
    names = [name for members in MMBENCH_VIDEO.values() for name in members]
    first = names[number % len(names)]
    held = [first] if number % 3 else [first, names[number * 3 % len(names)]]
    return {
        "question": question.question,
        "answer": question.golds[0],
        "video": f"video {number % 90}",
        "dimensions": str(list(dict.fromkeys(held))),
    }


def judged_spec(
    name: str,
    dataset: str,
    path: str,
    cells: CellsOf,
    words: Sequence[Words],
    *,
    metrics: Mapping[str, str],
    close: float = 1e-6,
    replies: int = _REPLIES,
    times: int = 2,
    **arguments: Any,
) -> Spec:
    alike, unlike = words
    marks = {} if "about" in arguments else {"marks": ["question"]}
    return Spec(
        name=f"{name}.vlmevalkit",
        benchmark=name.replace("@", ":"),
        rule="snellen",
        oracle=VLMEVALKIT_JUDGED,
        path=path,
        cases=judged_cases(cells, alike, unlike, replies, times),
        arguments={"dataset": dataset, **marks, **arguments},
        metrics=metrics,
        apart=APART,
        close=close,
    )


SPECS = (
    judged_spec(
        "mmdu",
        "MMDU",
        "vlmeval/dataset/utils/mmdu.py, mmdu_score, and MMDUDataset.calculat_metric",
        _mmdu_cells,
        (_MMDU_ALIKE, _MMDU_UNLIKE),
        metrics={
            "score": "all/Overall Score",
            "Creativity": "all/Creativity",
            "Answer Accuracy": "valid/Answer Accuracy",
        },
        listed=True,
        metric="all/Overall Score",
        filler={
            "id": "1",
            "cells": {"question": "['What?']", "answer": "['This.']"},
            "reply": "That.",
            "verdict": str(dict.fromkeys(DIMENSIONS, 0)),
        },
        scale=50,
        table=["set", *DIMENSIONS],
    ),
    judged_spec(
        "mmbench-video",
        "MMBench-Video",
        "vlmeval/dataset/mmbench_video.py, MMBenchVideo.evaluate, and utils, get_dimension_rating",
        _video_cells,
        (_VIDEO_ALIKE, _VIDEO_UNLIKE),
        metrics={
            "overall": "coarse_all/Overall",
            "ability/CP": "coarse_all/CP",
            "ability/FP-S": "coarse_all/FP-S",
            "perception or reasoning/Perception": "coarse_valid/Perception",
            "perception or reasoning/Reasoning": "coarse_all/Reasoning",
            "dimension/Counting": "fine_all/Counting",
        },
        close=0.005,
        column="score",
        low=0,
        scale=3,
    ),
)
