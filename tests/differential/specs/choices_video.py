"""Multiple-choice benchmarks about videos, and MME-RealWorld, whose replies VLMEvalKit reads by
their first capital letter or against the gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.specs.choices import Cells, Pool, choice_cases, table_row
from tests.differential.styles_choice import Choice

_NONE_OF_THESE = "The image does not feature the object."
LABELS = "ABCDE"


def four(pool: Pool) -> Pool:
    """The questions of a pool that have exactly four options."""
    return tuple(one for one in pool if len(one.options) == 4)


def candidates(*, dressed: bool, **columns: Any) -> Cells:
    """Cells of a video benchmark: options as a list, `dressed` as "A. text" and with a letter for
    an answer, else bare and with the text for an answer."""
    common = table_row(**columns)

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        row = dict(common(question, number))
        texts = [row.pop(label) for label in question.options]
        if dressed:
            texts = [f"{label}. {text}" for label, text in question.options.items()]
        else:
            row["answer"] = question.options[question.gold]
        return {**row, "candidates": str(texts)}

    return cells


def with_refusal(pool: Pool) -> Pool:
    """Questions of four options with the fifth of MME-RealWorld; a bracketed label before each."""
    return tuple(
        Choice(
            one.question,
            {
                label: f"({label}) {text}"
                for label, text in zip(LABELS, (*one.options.values(), _NONE_OF_THESE), strict=True)
            },
            one.gold,
        )
        for one in four(pool)
    )


def realworld_cases() -> Iterator[Case]:
    """Replies repeat the options as they are called, without the bracketed label."""
    bare = four(pools.KNOWLEDGE + pools.GENERATOR)
    columns = {
        "category": ("Perception/OCR with Complex Context", "Perception/Monitoring", "Reasoning/Monitoring"),
        "l2-category": ("license", "vehicle/attribute", "intention"),
    }
    dressed = {one.question: one for one in with_refusal(bare)}
    row = table_row(**columns)

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        full = row(dressed[question.question], number)
        return {**full, "multi-choice options": str(list(dressed[question.question].options))}

    yield from choice_cases(cells, bare)()


def _video(
    benchmark: str, dataset: str, where: str, leads: tuple[Any, ...] = (), *, counted: bool = False, **given: Any
) -> Spec:
    return Spec(
        name=f"{benchmark.replace(':', '@')}.vlmevalkit",
        benchmark=benchmark,
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path=where,
        arguments={
            "dataset": dataset,
            "scale": 100,
            **({"leads": leads} if leads else {}),
            **({"counted": True} if counted else {}),
        },
        **given,
    )


SHORT = four(pools.KNOWLEDGE + pools.GENERATOR + pools.BEAUTY)
VIDEO_MME = candidates(
    dressed=True,
    video=("fFjv93ACGo8", "N1cdUjctpG8"),
    duration=("short", "medium", "long"),
    domain=("Knowledge", "Life Record"),
    sub_category=("Geography", "Law"),
    task_type=("Counting Problem", "OCR Problems"),
)
_WORLDSENSE = candidates(
    dressed=True,
    video=("aaa", "bbb"),
    duration=("<1min", ">8min"),
    domain=("Tech & Science", "Music"),
    sub_category=("Physics", "Remixes"),
    audio_class="['Speech']",
    task_domain=("Recognition", "Reasoning"),
    task_type=("Audio Counting", "Event Recognition"),
)
TASKS = ("Action Sequence", "Moving Count", "Episodic Reasoning")
MVBENCH = candidates(dressed=False, task_type=TASKS, prefix="./video/star/", video=("a.mp4", "b.mp4"))
MLVU = candidates(
    dressed=False,
    task_type=("plotQA", "needle", "count"),
    prefix="./video/1_plotQA/",
    video=("a.mp4", "b.mp4"),
    duration=480.5,
)
SPECS = (
    _video(
        "video-mme",
        "Video-MME",
        "vlmeval/dataset/videomme.py, VideoMME.evaluate",
        cases=choice_cases(VIDEO_MME, SHORT),
        close=0.05,
    ),
    _video(
        "worldsense",
        "WorldSense",
        "vlmeval/dataset/worldsense.py, WorldSense.evaluate",
        ("overall", ["overall/overall"], 100),
        cases=choice_cases(_WORLDSENSE, SHORT),
        close=0.05,
    ),
    _video(
        "mvbench",
        "MVBench",
        "vlmeval/dataset/mvbench.py, MVBench.evaluate",
        ("overall", ["overall/2"], 1),
        cases=choice_cases(MVBENCH, pools.ABILITIES),
        close=0.005,
        counted=True,
    ),
    _video(
        "mlvu",
        "MLVU_MCQ",
        "vlmeval/dataset/mlvu.py, MLVU_MCQ.evaluate",
        ("", [], 1),
        cases=choice_cases(MLVU, pools.GENERATOR),
    ),
    _video(
        "mme-realworld", "MME-RealWorld", "vlmeval/dataset/image_mcq.py, MMERealWorld.evaluate", cases=realworld_cases
    ),
)
