"""Multiple-choice benchmarks about videos that VLMEvalKit reads by rules of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.specs.choices import choice_cases
from tests.differential.specs.choices_authors import HOLMES as HOLMES_AUTHORS
from tests.differential.specs.choices_authors import authors_set
from tests.differential.specs.choices_video import candidates
from tests.differential.styles_choice import Choice, choice

HOLMES_TASKS = ("SR", "IMC", "TCI", "TA", "MHR", "PAR", "CTI")
HOLMES = candidates(
    dressed=True, video=("aaa", "bbb", "ccc"), question_type=HOLMES_TASKS, explanation="It can be seen."
)

TAMPERINGS = ("original", "masking", "repetition", "rotate", "substitution", "dropping")
TAMPERED_TASKS = ("Action Sequence", "Moving Count")
_QUALITY = ("yes_no,technical", "what_how,temporal", "what_how,aesthetic")
VLMEVALKIT_VIDEO = replace(VLMEVALKIT, script="vlmevalkit_video")
_TAMPERED = choice("Does this video exhibit any signs of tampering?", "A", "Yes", "No")
_ORIGINAL = choice("Does this video exhibit any signs of tampering?", "B", "Yes", "No")


def tampered_cases() -> Iterator[Case]:
    """Every style about videos of two tasks, of which every sixth is an original."""
    turns = 4
    for number, case in enumerate(choice_cases(_tampered_cells, (_TAMPERED,), turns)()):
        kind = TAMPERINGS[number % len(TAMPERINGS)]
        if kind == "original":
            label = _ORIGINAL.gold
            cells = {**case.cells, "answer": _ORIGINAL.options[label]}
            yield replace(case, cells=cells)
        else:
            yield case


def _tampered_cells(question: Choice, number: int) -> Mapping[str, Any]:
    kind = TAMPERINGS[number % len(TAMPERINGS)]
    task = TAMPERED_TASKS[number // len(TAMPERINGS) % len(TAMPERED_TASKS)]
    film = f"film{number // len(TAMPERINGS)}"
    return {
        "task_type": task,
        "prefix": "video/star/",
        "video": f"{film}.mp4" if kind == "original" else f"{film}_middle_tampered_{kind}_1sec.mp4",
        "question": question.question,
        "candidates": str(list(question.options.values())),
        "answer": question.options[question.gold],
        "tamper_type": kind,
        "task_tamper_type": f"{task}_{kind}",
    }


def quality_cells(question: Choice, number: int) -> Mapping[str, Any]:
    """A row of Q-Bench-Video: the options stand in the question, the answer is a whole one."""
    lines = [f"{label}. {text}" for label, text in question.options.items()]
    return {
        "video": f"film{number % 40}",
        "video_path": f"./video/film{number % 40}.mp4",
        "question": "\n".join([question.question, *lines]),
        "answer": f"{question.gold}. {question.options[question.gold]}",
        "dimensions": str([_QUALITY[number % len(_QUALITY)]]),
    }


_NUMBERS_THERE = {"f1": "F1 Score", "precision": "Precision", "recall": "Recall", "tampering_accuracy": "Accuracy"}


def in_answer_tags(cases: Callable[[], Iterator[Case]]) -> Callable[[], Iterator[Case]]:
    """The cases, two of three with their reply in <answer> tags behind some thoughts."""

    def tagged() -> Iterator[Case]:
        for number, case in enumerate(cases()):
            if number % 3 == 0:
                yield case
                continue
            thoughts = "<think>A: the door is shut, so B or C.</think>\n" if number % 3 == 1 else ""
            reply = f"{thoughts}<answer>{case.reply}</answer>"
            yield replace(case, style=f"{case.style}, in answer", reply=reply)

    return tagged


SPECS = (
    Spec(
        name="video-holmes.vlmevalkit",
        headline="total/acc",
        benchmark="video-holmes",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/video_holmes.py, Video_Holmes.evaluate",
        cases=in_answer_tags(choice_cases(HOLMES, pools.KNOWLEDGE + pools.SPACE)),
        arguments={"dataset": "Video_Holmes", "scale": 100},
        metrics={
            "accuracy": "total/acc",
            **{f"question_type/{task}": f"acc_by_type/{task}/acc" for task in HOLMES_TASKS},
        },
    ),
    authors_set(
        "video-holmes",
        "holmes",
        HOLMES_AUTHORS,
        "evaluate.py, evaluate",
        in_answer_tags(choice_cases(HOLMES, pools.KNOWLEDGE + pools.SPACE)),
        {"accuracy": "mean"},
    ),
    Spec(
        name="mvtamperbench.vlmevalkit",
        close=0.005,
        benchmark="mvtamperbench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT_VIDEO,
        path="vlmeval/dataset/tamperbench.py, MVTamperBench.evaluate, and utils/tamperbench.py",
        cases=tampered_cases,
        arguments={
            "dataset": "MVTamperBench",
            "scale": 100,
            "low": None,
            "leads": ["overall", ["overall/2"], 1],
            "tables": {"_score_f1": ["Task"], "_action_f1": ["task_type", "tamper_type"]},
        },
        metrics={
            **{ours: f"_score_f1/overall/{theirs}" for ours, theirs in _NUMBERS_THERE.items()},
            **{
                f"tamper_type {ours}/{kind}": f"_score_f1/{kind}/{theirs}"
                for ours, theirs in _NUMBERS_THERE.items()
                for kind in TAMPERINGS[1:]
            },
            **{f"task_type f1/{task}": f"_action_f1/{task}/overall/F1 Score" for task in TAMPERED_TASKS},
        },
    ),
    Spec(
        name="q-bench-video.vlmevalkit",
        benchmark="q-bench-video",
        rule="vlmevalkit",
        oracle=replace(VLMEVALKIT, script="vlmevalkit_judged"),
        path="vlmeval/dataset/qbench_video.py, QBench_Video_MCQ.evaluate",
        cases=choice_cases(quality_cells, pools.GENERATED + pools.BEAUTY),
        arguments={"dataset": "QBench_Video_MCQ", "column": "score", "shares": 100, "counted": True},
        metrics={"accuracy": "all", "question_type/yes_no": "yes_no", "question_type/what_how": "what_how"},
    ),
)
