"""Yes/no benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential import styles_yes_no
from tests.differential.oracle_list import MME_AUTHORS, POPE_AUTHORS, POPE_LLAVA, VLMEVALKIT
from tests.differential.sets import Case, Oracle, Spec

QUESTION = "Is there a dog in the image?"
TRACKS = ("random", "popular", "adversarial")
MME_SUBTASKS = (
    "existence",
    "count",
    "position",
    "color",
    "posters",
    "celebrity",
    "scene",
    "landmark",
    "artwork",
    "OCR",
    "commonsense_reasoning",
    "numerical_calculation",
    "text_translation",
    "code_reasoning",
)
AMBER_KINDS = (
    "discriminative-attribute-state",
    "discriminative-attribute-number",
    "discriminative-attribute-action",
    "discriminative-hallucination",
    "discriminative-relation",
)

Columns = Callable[[int, bool], tuple[str, Mapping[str, Any]]]
"""Id and cells of a row, by its number and by whether its answer is yes."""


def yes_no_cases(columns: Columns) -> Callable[[], Iterator[Case]]:
    """Every style of reply to questions whose answers are yes and no in turn, twice over."""

    def cases() -> Iterator[Case]:
        number = 0
        for turn in range(2):
            for gold in ("yes", "no"):
                for style, reply in styles_yes_no.replies(gold, turn + (gold == "no")):
                    name, cells = columns(number, gold == "yes")
                    yield Case(name, {"question": QUESTION, **cells}, style, reply)
                    number += 1

    return cases


def _pope(number: int, yes: bool) -> tuple[str, Mapping[str, Any]]:
    return str(number), {
        "answer": "Yes" if yes else "No",
        "category": TRACKS[number % 3],
        "image_path": f"{number // 6}.jpg",
    }


def _amber(number: int, yes: bool) -> tuple[str, Mapping[str, Any]]:
    return str(number), {
        "answer": "Yes" if yes else "No",
        "category": AMBER_KINDS[number % len(AMBER_KINDS)],
        "image_path": f"{number}.jpg",
    }


def _hallusion(number: int, yes: bool) -> tuple[str, Mapping[str, Any]]:
    category, kind = (("VD", "illusion"), ("VS", "chart"))[number % 2]
    place = f"{number // 8}_{number // 4 % 2}_{number // 2 % 2}"
    return f"{number}_{category}_{kind}_{place}", {
        "answer": "Yes" if yes else "No",
        "category": category,
        "l2-category": kind,
    }


def _mme_cases() -> Iterator[Case]:
    """Both questions of an image stand beside each other, as in the published file."""
    halves = [list(styles_yes_no.replies(gold, turn)) for turn, gold in ((0, "yes"), (1, "no"))]
    number = 0
    for turn in range(2):
        for position in range(len(halves[0])):
            image = position + turn * len(halves[0])
            for gold, half in zip(("Yes", "No"), halves, strict=True):
                style, reply = half[(position + 7 * turn) % len(half)]
                subtask = MME_SUBTASKS[image % len(MME_SUBTASKS)]
                cells = {
                    "question": f"{QUESTION} Please answer yes or no.",
                    "answer": gold,
                    "category": subtask,
                    "image_path": f"{subtask}/{image}.png",
                }
                yield Case(str(number), cells, style, reply)
                number += 1


def _set(
    name: str,
    scorer: str,
    rule: str,
    oracle: Oracle,
    path: str,
    cases: Callable[[], Iterator[Case]],
    arguments: Mapping[str, Any],
    headline: str = "",
    **metrics: str,
) -> Spec:
    return Spec(
        name=f"{name}.{scorer}",
        benchmark=name,
        rule=rule,
        oracle=oracle,
        path=path,
        cases=cases,
        arguments=arguments,
        metrics={ours.replace("__", "/"): theirs for ours, theirs in metrics.items()},
        headline=headline,
    )


_YORN = "vlmeval/dataset/image_yorn.py, ImageYORNDataset.evaluate"
SPECS = (
    _set(
        "pope",
        "vlmevalkit",
        "vlmevalkit",
        VLMEVALKIT,
        _YORN,
        yes_no_cases(_pope),
        {"dataset": "POPE"},
        f1_pooled="Overall/Overall",
    ),
    _set("pope", "authors", "official", POPE_AUTHORS, "evaluate.py", yes_no_cases(_pope), {}, f1="mean"),
    _set(
        "pope",
        "llava",
        "official",
        POPE_LLAVA,
        "llava/eval/eval_pope.py, eval_pope",
        yes_no_cases(_pope),
        {"script": "llava"},
        f1="mean",
    ),
    _set("amber", "vlmevalkit", "vlmevalkit", VLMEVALKIT, _YORN, yes_no_cases(_amber), {"dataset": "AMBER"}),
    _set(
        "hallusionbench",
        "vlmevalkit",
        "vlmevalkit",
        VLMEVALKIT,
        _YORN,
        yes_no_cases(_hallusion),
        {
            "dataset": "HallusionBench",
            "leads": ["mean of three", ["Overall/aAcc", "Overall/fAcc", "Overall/qAcc"], 1 / 3],
        },
        aAcc="Overall/aAcc",
        fAcc="Overall/fAcc",
        qAcc="Overall/qAcc",
    ),
    _set(
        "mme",
        "vlmevalkit",
        "vlmevalkit",
        VLMEVALKIT,
        _YORN,
        _mme_cases,
        {"dataset": "MME", "leads": ["perception + reasoning", ["perception", "reasoning"], 1]},
        perception="perception",
        cognition="reasoning",
    ),
    _set(
        "mme",
        "authors",
        "official",
        MME_AUTHORS,
        "tools/eval_tool.zip, calculation.py",
        _mme_cases,
        {},
        "total",
        perception="perception",
        cognition="cognition",
    ),
)
