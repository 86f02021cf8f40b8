"""CG-Bench: choices about whole videos and about clues, and where the clues are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.styles_choice import Choice, styles
from tests.differential.wrapping import wrapped_styles

Span = tuple[float, float]
DOMAINS = ("Art & Culture", "Life Record", "GUI", "News")
ABILITIES = ("Entity Perception", "Time Cognition", "Text Perception")
DURATIONS = (300, 611, 1200, 2741, 3600, 4100)
_TASKS = ("long_acc", "clue_acc", "miou")
_CLUES: tuple[list[Span], ...] = (
    [(8, 11)],
    [(30, 40), (100, 120)],
    [(4, 12), (10, 20)],
    [(0, 90.5)],
    [(200, 230), (50, 60), (240, 250)],
)
_QUESTIONS = pools.KNOWLEDGE + pools.SPACE
_FENCE = "```json\n{}\n```"

CHOICE_FORMS: Mapping[str, Callable[[str, str], str]] = {
    "fenced": lambda a, t: _FENCE.format(json.dumps({"result": a})),
    "fenced, bare letter": lambda a, t: _FENCE.format(f'{{"result": {a}}}'),
    "fenced, no blank": lambda a, t: _FENCE.format(f'{{"result":"{a}"}}'),
    "fenced, whole option": lambda a, t: _FENCE.format(json.dumps({"result": f"{a}. {t}"})),
    "fenced, text": lambda a, t: _FENCE.format(json.dumps({"result": t})),
    "fenced, small letter": lambda a, t: _FENCE.format(json.dumps({"result": a.lower()})),
    "fenced, list": lambda a, t: _FENCE.format(json.dumps({"result": [a]})),
    "fenced, another key": lambda a, t: _FENCE.format(json.dumps({"answer": a})),
    "fenced, number": lambda a, t: _FENCE.format(json.dumps({"result": 3})),
    "fenced, single quotes": lambda a, t: _FENCE.format(f"{{'result': '{a}'}}"),
    "fenced, explained": lambda a, t: f"I see it. {_FENCE.format(json.dumps({'result': a}))} Yes.",
    "fence without a name": lambda a, t: f'```\n{{"result": "{a}"}}\n```',
    "fence not closed": lambda a, t: f'```json\n{{"result": "{a}"}}',
    "object alone": lambda a, t: json.dumps({"result": a}),
}
"""The label and text of an option to a reply in the form that is asked for, or near it."""

CLUE_FORMS: Mapping[str, Callable[[list[Span], float], str]] = {
    "fenced": lambda s, d: _FENCE.format(json.dumps({"result": s})),
    "fenced, in parts": lambda s, d: _FENCE.format(json.dumps({"result": [[a / d, b / d] for a, b in s]})),
    "fenced, one pair": lambda s, d: _FENCE.format(json.dumps({"result": s[0]})),
    "fenced, whole numbers": lambda s, d: _FENCE.format(json.dumps({"result": [[int(a), int(b)] for a, b in s]})),
    "fenced, wider": lambda s, d: _FENCE.format(json.dumps({"result": [[max(0, a - 5), b + 7] for a, b in s]})),
    "fenced, overlapping": lambda s, d: _FENCE.format(json.dumps({"result": [*s, [s[0][0] + 1, s[0][1] + 9]]})),
    "fenced, shifted": lambda s, d: _FENCE.format(json.dumps({"result": [[a + 3, b + 3] for a, b in s]})),
    "fenced, elsewhere": lambda s, d: _FENCE.format(json.dumps({"result": [[270, 280]]})),
    "fenced, half": lambda s, d: _FENCE.format(json.dumps({"result": [[a, (a + b) / 2] for a, b in s]})),
    "fenced, empty list": lambda s, d: _FENCE.format('{"result": []}'),
    "fenced, no list": lambda s, d: _FENCE.format(f'{{"result": "{s[0][0]} to {s[0][1]}"}}'),
    "fenced, another key": lambda s, d: _FENCE.format(json.dumps({"intervals": s})),
    "fenced, explained": lambda s, d: f"Here: {_FENCE.format(json.dumps({'result': s}))}",
    "fenced, over lines": lambda s, d: _FENCE.format(json.dumps({"result": s}, indent=2)),
    "fenced, three ends": lambda s, d: _FENCE.format(json.dumps({"result": [[a, b, b + 1] for a, b in s]})),
    "fenced, not closed": lambda s, d: f"```json\n{json.dumps({'result': s})}",
    "fence without a name": lambda s, d: f"```\n{json.dumps({'result': s})}\n```",
    "object alone": lambda s, d: json.dumps({"result": s}),
    "list alone": lambda s, d: json.dumps(s),
    "dashes": lambda s, d: ", ".join(f"{a} to {b}" for a, b in s),
    "in a sentence": lambda s, d: f"The clue is between {s[0][0]} s and {s[0][1]} s.",
    "odd count": lambda s, d: f"At {s[0][0]}, until {s[0][1]}, and {s[-1][1] + 2}.",
    "one number": lambda s, d: f"At {s[0][0]} seconds.",
    "no number": lambda s, d: "I cannot tell.",
    "numbers with points": lambda s, d: f"{s[0][0]}.5 {s[0][1]}.25",
    "parts in words": lambda s, d: f"{s[0][0] / d:.4f} to {s[0][1] / d:.4f}",
    "refusal": lambda s, d: "I'm sorry, but I can't help with that.",
}
"""The intervals and the length of a video to a reply."""
_WRAPPERS: Mapping[str, Callable[[str], str]] = {
    "thinking": lambda s: f"<think>It may be later.</think>\n{s}",
    "polite": lambda s: f"Sure! {s}",
    "blank lines": lambda s: f"\n\n{s}\n",
    "explanation behind": lambda s: f"{s}\n\nExplanation: a closer look shows the details.",
}


def _choice_styles() -> list[tuple[str, Callable[[Choice, str, str], str]]]:
    """Every style of choices, and the forms that are asked for as often as all others."""
    plain = [
        (name, lambda one, a, b, write=write: write(a, one.options[a], b, one.options[b])) for name, write in styles()
    ]
    asked = [
        (name, lambda one, a, b, write=write: write(a, one.options[a]))
        for name, write in wrapped_styles(CHOICE_FORMS, dict(_WRAPPERS))
    ]
    repeats = -(-len(plain) // len(asked))
    mixed = zip(plain, (asked * repeats)[: len(plain)], strict=True)
    return [style for pair in mixed for style in pair]


def clue_cases() -> Iterator[Case]:
    """Three rows for every question: the styles of its three replies rotate by themselves."""
    choosing = _choice_styles()
    finding = wrapped_styles(CLUE_FORMS, dict(_WRAPPERS))
    rows: list[Case] = []
    for number in range(len(choosing) // 2):
        question = _QUESTIONS[number % len(_QUESTIONS)]
        clues = _CLUES[number % len(_CLUES)]
        length = DURATIONS[number % len(DURATIONS)]
        for turn, task in enumerate(_TASKS):
            if task == "miou":
                style, place = finding[number % len(finding)]
                reply = place([tuple(span) for span in clues], length)
            else:
                style, choose = choosing[2 * number + turn]
                right = (number // 3 + turn) % 3
                label = question.gold if right else question.other
                other = next(one for one in question.options if one != label)
                reply = choose(question, label, other)
            cells = _cells(question, clues, length, number, task)
            rows.append(Case("", cells, f"{task}: {style}", reply))
    in_order = sorted(rows, key=lambda case: _TASKS.index(case.cells["task_mode"]))
    yield from (replace(case, id=str(place)) for place, case in enumerate(in_order))


def _cells(question: Choice, clues: list[Span], length: int, number: int, task: str) -> Mapping[str, Any]:
    spans = json.dumps([list(span) for span in clues])
    return {
        "video_uid": f"film{number % 30}",
        "video": f"cg_videos_720p/film{number % 30}.mp4",
        "duration": length,
        "domain": DOMAINS[number % len(DOMAINS)],
        "sub_category": ABILITIES[number % len(ABILITIES)],
        "choices": str(list(question.options.values())),
        "question": question.question,
        "answer": spans if task == "miou" else question.gold,
        "task_mode": task,
        "clue_intervals": spans if task == "clue_acc" else "",
        "qid": number,
    }


_NAMES = {
    "long_acc": "long_acc",
    "clue_acc": "clue_acc",
    "miou": "miou",
    "crr": "CRR",
    "rec_at_iou": "rec@iou",
    "acc_at_iou": "acc@iou",
}
_PARTS = {"domain": DOMAINS, "sub_category": ABILITIES, "duration": ("0 ~ 10", "10 ~ 20", "40 ~ 50", "50 ~ 60", "60+")}
SPECS = (
    Spec(
        name="cg-bench.vlmevalkit",
        headline="long_acc/overall",
        benchmark="cg-bench",
        rule="vlmevalkit",
        oracle=replace(VLMEVALKIT, script="vlmevalkit_video"),
        path="vlmeval/dataset/cgbench.py, CGBench_MCQ_Grounding.evaluate, and utils/cgbench.py",
        cases=clue_cases,
        arguments={"dataset": "CG-Bench_MCQ_Grounding", "scale": 100},
        metrics={
            **{ours: f"{theirs}/overall" for ours, theirs in _NAMES.items()},
            **{
                f"{column if ours == 'long_acc' else f'{column} {ours}'}/{label}": (f"{theirs}/{column}/{label}")
                for ours, theirs in _NAMES.items()
                for column, labels in _PARTS.items()
                for label in labels
            },
        },
        close=0.02,
    ),
)
