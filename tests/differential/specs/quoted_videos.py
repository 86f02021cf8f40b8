"""Benchmarks about videos that model reports quote, read by lmms-eval, VLMEvalKit or their authors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential.oracle_list import LMMS_EVAL_VIDEO, VLMEVALKIT
from tests.differential.sets import CLOSE, Spec
from tests.differential.specs.choices import Cells, Pool, choice_cases
from tests.differential.specs.choices_video import four
from tests.differential.styles_choice import Choice

NONE_OF_THESE = "none of the others"
LABELS = "ABCDEFGH"


def with_options(pool: Pool, count: int) -> Pool:
    """The questions of four options, or with so many more that are made up, or fewer."""
    more = [NONE_OF_THESE, "both of the first", "it is not shown", "neither of the last"]

    def resized(question: Choice) -> Choice:
        texts = [*question.options.values(), *more][:count]
        gold = question.gold if LABELS.index(question.gold) < count else "A"
        return Choice(question.question, dict(zip(LABELS, texts, strict=False)), gold)

    return tuple(map(resized, four(pool)))


def cells_of(options: str = "options", gold: str = "answer", *, dressed: bool = False, **columns: Any) -> Cells:
    """A row in a layout of the hub: the options as a list, `dressed` with their labels, or in
    columns that end in their number (`a{}`), or in the lines of the question (empty); the gold
    answer as a place from 0, unless `gold` begins with `letter ` or `text `."""

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        texts = list(question.options.values())
        labelled = [f"{label}. {text}" for label, text in question.options.items()]
        row: dict[str, Any] = {"question": question.question}
        if not options:
            row["question"] = "\n".join([question.question, *labelled])
        elif "{}" in options:
            row |= {options.format(place): text for place, text in enumerate(texts)}
        else:
            row[options] = labelled if dressed else texts
        form, _, column = gold.rpartition(" ")
        golds = {"letter": question.gold, "text": question.options[question.gold], "": list(question.options)}
        row[column] = golds[form] if form else list(question.options).index(question.gold)
        turns = {
            name: value[number % len(value)] if isinstance(value, tuple) else value for name, value in columns.items()
        }
        return {**row, **turns}

    return cells


def lmms_set(
    benchmark: str,
    process: str,
    result: str,
    cells: Cells,
    pool: Pool,
    groups: Mapping[str, Sequence[str]] | None = None,
    **arguments: Any,
) -> Spec:
    """A set judged by a task of lmms-eval, whose numbers are shares."""
    task = arguments.pop("task", benchmark.partition(":")[0])
    summer = arguments.pop("summer", "mean")
    close = arguments.pop("close", CLOSE)
    labels = {f"{column}/{label}": f"{column}/{label}" for column, of in (groups or {}).items() for label in of}
    return Spec(
        name=f"{benchmark.replace(':', '@')}.lmms-eval",
        benchmark=benchmark,
        rule="lmms-eval",
        oracle=LMMS_EVAL_VIDEO,
        path=f"lmms_eval/tasks/{task}/utils.py, {process}",
        cases=choice_cases(cells, pool),
        arguments={
            "task": task,
            "process": process,
            "result": result,
            "metrics": {"overall": summer},
            "groups": list(groups or {}),
            "scale": 100,
            **arguments,
        },
        metrics={"accuracy": "overall", **labels},
        close=close,
    )


_MIXED = pools.KNOWLEDGE + pools.GENERATOR + pools.BEAUTY
MOTIONS = ("Action Order", "Camera Motion", "Repetition Count")
SPECS = (
    lmms_set(
        "lvbench",
        "lvbench_process_results",
        "lvbench_score",
        cells_of(gold="letter answer", video_path="a.mp4", type=("cartoon", "sport"), question_type="['reasoning']"),
        with_options(_MIXED, 4),
        {"type": ("cartoon", "sport")},
    ),
    lmms_set(
        "longvideobench",
        "longvideobench_process_results",
        "lvb_acc",
        cells_of(
            "option{}",
            "correct_choice",
            video_path="a.mp4",
            duration_group=(15, 60, 600, 3600),
            question_category=("S2E", "T3O"),
        ),
        with_options(_MIXED, 5),
        summer="longvideobench_aggregate_results",
        close=0.0005,
    ),
    lmms_set(
        "perceptiontest",
        "perceptiontest_val_process_results_mc",
        "accuracy",
        cells_of(gold="answer_id", video_name=("a", "b"), area=("physics", "memory"), reasoning="descriptive", tag="x"),
        with_options(_MIXED, 3),
        {"area": ("physics", "memory")},
        task="perceptiontest/val",
        summer="perceptiontest_val_aggregate_accuracy",
    ),
    lmms_set(
        "egoschema",
        "egoschema_process_results_generation",
        "score",
        cells_of("option", dressed=True, video_idx="a"),
        with_options(_MIXED, 5),
        summer="egoschema_aggregate_score",
    ),
    lmms_set(
        "nextqa",
        "nextqa_mc_process_results",
        "exact_match",
        cells_of("a{}", video=4010069381, qid=6, type=("CW", "TN", "DC")),
        with_options(_MIXED, 5),
        {"type": ("CW", "TN", "DC")},
    ),
    lmms_set(
        "tomato",
        "tomato_process_results",
        "tomato_score",
        cells_of(video_path="a.mp4", reason_type=("count", "direction"), demonstration_type=("human", "object")),
        with_options(_MIXED, 6),
        {"reason_type": ("count", "direction"), "demonstration_type": ("human", "object")},
        summer="tomato_aggregate_results",
    ),
    lmms_set(
        "tvbench",
        "tvbench_process_results",
        "tvbench_acc",
        cells_of("candidates", "text answer", video="a.mp4", task=("Action Count", "Object Count")),
        with_options(_MIXED, 4),
        {"task": ("Action Count", "Object Count")},
    ),
    lmms_set(
        "videomathqa",
        "videomathqa_process_results",
        "videomathqa_perception_score",
        cells_of(
            gold="letter answer",
            dressed=True,
            videoID="a",
            category=("Chart", "Counting"),
            length=("short", "medium", "long"),
        ),
        with_options(_MIXED, 5),
        {"category": ("Chart", "Counting")},
        summer="videomathqa_mcq_aggregate_results",
        scale=1,
    ),
    lmms_set(
        "mmworld",
        "mmworld_process_results",
        "mmworld_accuracy",
        cells_of(gold="letter correct_answer_label", video_id="a", discipline=("Science", "Game"), type="Explanation"),
        with_options(_MIXED, 4),
        {"discipline": ("Science", "Game")},
        summer="mmworld_aggregate_results",
        scale=1,
    ),
    lmms_set(
        "motionbench",
        "motionbench_process_results",
        "motionbench_acc",
        cells_of("", "letter answer", video_path="a.mp4", question_type=MOTIONS, video_type="movie"),
        with_options(_MIXED, 6),
        {"question_type": MOTIONS},
        summer="motionbench_aggregate_acc",
    ),
    Spec(
        name="longvideobench.vlmevalkit",
        benchmark="longvideobench",
        rule="vlmevalkit",
        oracle=replace(VLMEVALKIT),
        path="vlmeval/dataset/longvideobench.py, LongVideoBench.evaluate, and utils/longvideobench.py",
        cases=choice_cases(
            cells_of(
                "candidates",
                "correct_choice",
                video="a",
                video_path="./videos/a.mp4",
                duration_group=(15, 60, 600, 3600),
                question_category=("S2E", "T3O", "SAA"),
            ),
            with_options(_MIXED, 5),
        ),
        arguments={
            "dataset": "LongVideoBench",
            "scale": 100,
            "leads": ["overall", ["overall/overall"], 100],
            "counted": True,
        },
        close=0.05,
    ),
)
