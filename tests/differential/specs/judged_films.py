"""Open questions about videos that a judge grades; the judge's words are given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.sets import Spec
from tests.differential.specs.clues import ABILITIES, DOMAINS, DURATIONS
from tests.differential.specs.judged_points import FIRST, CellsOf, Words, judged_spec
from tests.differential.styles_open import QUESTIONS, Open

_QUALITY_ALIKE: Words = {
    "labelled": lambda n: f"Score:{n % 3}",
    "labelled, blank": lambda n: f"Score: {n % 3}",
    "labelled, blanks": lambda n: f"  Score:  {n % 3} ",
    "labelled, line break": lambda n: f"Score: {n % 3}\n",
    "digit": lambda n: str(n % 3),
    "digit, line break before": lambda n: f"\n{n % 3}",
    "label in a line of its own": lambda n: f"Score:\n{n % 3}",
}
_QUALITY_UNLIKE: Words = {"above the top": lambda n: f"Score: {3 + n}", "below zero": lambda n: f"Score: -{1 + n}"}


def _quality_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "video": f"film{number % 40}",
        "video_path": f"./video/film{number % 40}.mp4",
        "question": question.question,
        "answer": question.golds[0],
        "dimensions": str([("open_ended,technical", "open_ended,temporal")[number % 2]]),
    }


def _fenced(value: object) -> str:
    return f"```json\n{json.dumps({'result': value})}\n```"


_CLUE_ALIKE: Words = {
    "fenced": lambda n: _fenced(n % 2),
    "fenced, explained before": lambda n: f"The meaning is close.\n{_fenced(n % 2)}",
    "fenced, explained behind": lambda n: f"{_fenced(n % 2)}\nThey name one thing.",
    "digit": lambda n: str(n % 2),
    "labelled": lambda n: f"Result: {n % 2}",
    "object alone": lambda n: json.dumps({"result": n % 2}),
    "object over lines": lambda n: json.dumps({"result": n % 2}, indent=2),
    "full stop": lambda n: f"{n % 2}.",
}
_CLUE_UNLIKE: Words = {
    "undecided": lambda n: _fenced(2),
    "above the top": lambda n: _fenced(3 + n),
    "nothing": lambda n: "I cannot tell.",
}


def _clue_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "video_uid": f"film{number % 30}",
        "video": f"cg_videos_720p/film{number % 30}.mp4",
        "duration": DURATIONS[number % len(DURATIONS)],
        "domain": DOMAINS[number // 3 % len(DOMAINS)],
        "sub_category": ABILITIES[number % len(ABILITIES)],
        "question": question.question,
        "answer": question.golds[0],
        "clue_intervals": "[[8, 11], [20, 30]]",
        # Verdicts are paired there with rows in the order of a set of these: small ones keep it.
        "qid": number - FIRST,
    }


def _match(n: int, **others: object) -> dict[str, object]:
    return {"pred": "yes" if n % 3 else "no", "score": n % 6, **others}


_MATCH_ALIKE: Words = {
    "Python": lambda n: str(_match(n)),
    "JSON": lambda n: json.dumps(_match(n)),
    "JSON over lines": lambda n: json.dumps(_match(n), indent=2),
    "blanks around": lambda n: f"  {_match(n)}",
    "line break behind": lambda n: f"{_match(n)}\n",
    "halves": lambda n: str(_match(n, score=n % 5 + 0.5)),
    "capital Yes": lambda n: str(_match(n, pred="Yes" if n % 3 else "No")),
    "another order": lambda n: str(dict(reversed(_match(n).items()))),
    "a key more": lambda n: str(_match(n, reason="It names the thing.")),
    "a comma behind": lambda n: str(_match(n)).replace("}", ",}"),
}
_MATCH_UNLIKE: Words = {
    "fenced": lambda n: f"```json\n{json.dumps(_match(n + 1))}\n```",
    "explained before": lambda n: f"It names one of the things.\n{_match(n + 1)}",
    "thinking": lambda n: f"<think>Let me see.</think>{_match(n + 1)}",
    "another word": lambda n: str(_match(n, pred="partly")),
    "above the top": lambda n: str(_match(n, pred="yes", score=6 + n)),
    "prose": lambda n: "The answer is right.",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
}


def _film_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "video": f"film{number % 40}.mp4",
        "mode": ("global", "breakpoint")[number % 2],
        "question": question.question,
        "answer": question.golds[0],
    }


def _lecture_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "video": f"film{number % 40}.mp4",
        "discipline": ("Math", "physics", "chemistry")[number % 3],
        "question": question.question,
        "answer": question.golds[0],
        # It looks for the reply in this column, which no file has.
        "pred_response": "the reply",
    }


def _asked(question: Open) -> str:
    return str([{"question": question.question, "answer": question.golds[0]}])


def _lecture_caption_cells(question: Open, number: int) -> Mapping[str, Any]:
    cells = dict(_lecture_cells(question, number))
    del cells["answer"], cells["pred_response"]
    return {**cells, "question": _asked(question)}


_CAPTION_KINDS = ("short", "detailed", "background", "main_object", "camera")


def _caption_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "video": f"film{number % 40}.mp4",
        "caption_type": _CAPTION_KINDS[number % len(_CAPTION_KINDS)],
        "question": _asked(question),
    }


def _match_spec(
    name: str, dataset: str, path: str, cells: CellsOf, column: str, labels: Sequence[str], **arguments: Any
) -> Spec:
    """A set whose rows are evaluated one by one beside a row that is wrong: half of the share of
    right ones is the credit."""
    first = cells(QUESTIONS[0], FIRST)
    filler = {"id": "1", "cells": first, "reply": "That.", "verdict": "{'pred': 'no', 'score': 0}"}
    return judged_spec(
        name,
        dataset,
        path,
        cells,
        (_MATCH_ALIKE, _MATCH_UNLIKE),
        metrics={
            "accuracy": "coarse_accuracy/overall",
            "score": "coarse_valid/overall",
            **{f"{column}/{label}": f"coarse_accuracy/{label}" for label in labels},
            **{f"{column} score/{label}": f"coarse_valid/{label}" for label in labels},
        },
        # Shares are rounded to two places.
        close=0.501,
        times=1,
        metric="coarse_accuracy/overall",
        filler=filler,
        scale=50,
        factor=100,
        plain="coarse_valid",
        **arguments,
    )


_MATCH_SPECS = (
    _match_spec(
        "moviechat1k",
        "MovieChat1k",
        "vlmeval/dataset/moviechat1k.py, MovieChat1k.evaluate, and utils/moviechat1k.py",
        _film_cells,
        "mode",
        ("global", "breakpoint"),
        judge="chatgpt-0125",
    ),
    _match_spec(
        "video-mmlu",
        "Video_MMLU_QA",
        "vlmeval/dataset/video_mmlu.py, Video_MMLU_QA.evaluate, and utils/video_mmlu.py",
        _lecture_cells,
        "discipline",
        ("math", "physics", "chemistry"),
    ),
    _match_spec(
        "video-mmlu@part=captions",
        "Video_MMLU_CAP",
        "vlmeval/dataset/video_mmlu.py, Video_MMLU_CAP.evaluate, and utils/video_mmlu.py",
        _lecture_caption_cells,
        "discipline",
        ("math", "physics", "chemistry"),
        marks=["prediction", "question"],
    ),
    _match_spec(
        "vdc",
        "VDC",
        "vlmeval/dataset/vdc.py, VDC.evaluate, and utils/vdc.py",
        _caption_cells,
        "caption_type",
        _CAPTION_KINDS,
        marks=["prediction", "question"],
    ),
)
SPECS = (
    *_MATCH_SPECS,
    judged_spec(
        "q-bench-video@part=open",
        "QBench_Video_VQA",
        "vlmeval/dataset/qbench_video.py, QBench_Video_VQA.evaluate, and utils, check_ans_vqa",
        _quality_cells,
        (_QUALITY_ALIKE, _QUALITY_UNLIKE),
        metrics={"score": "all", "question_type/open_ended": "open_ended"},
        column="score",
        scale=2,
        shares=50,
    ),
    judged_spec(
        "cg-bench@part=open",
        "CG-Bench_OpenEnded",
        "vlmeval/dataset/cgbench.py, CGBench_OpenEnded.evaluate, and utils/cgbench.py",
        _clue_cells,
        (_CLUE_ALIKE, _CLUE_UNLIKE),
        metrics={
            "accuracy": "overall",
            **{f"domain/{label}": f"domain/{label}" for label in DOMAINS},
            **{f"sub_category/{label}": f"sub_category/{label}" for label in ABILITIES},
            "duration/60+": "duration/60+",
            "duration/0 ~ 10": "duration/0 ~ 10",
        },
        close=0.02,
        column="score",
        factor=100,
        low=0,
        unseen="utils.cgbench:save_clue_video_frames",
    ),
)
