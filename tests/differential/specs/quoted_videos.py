"""Benchmarks about videos that model reports quote, read by lmms-eval, VLMEvalKit or their authors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential import styles_open
from tests.differential.oracle_list import (
    LMMS_EVAL_VIDEO,
    MMVU_AUTHORS,
    TVBENCH_AUTHORS,
    VIDEO_MME_V2,
    VLMEVALKIT,
    VSI_BENCH_AUTHORS,
)
from tests.differential.sets import CLOSE, Case, Oracle, Spec
from tests.differential.specs.choices import Cells, Pool, choice_cases
from tests.differential.specs.choices_authors import authors_set
from tests.differential.specs.choices_video import candidates, four
from tests.differential.specs.judged_points import APART, CellsOf, Words, judged_cases
from tests.differential.styles_choice import Choice
from tests.differential.styles_open import Open

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
    """A set judged by a task of lmms-eval, whose numbers are shares. Where it draws most answers at random, more
    `turns` of every style leave enough verdicts."""
    task = arguments.pop("task", benchmark.partition(":")[0])
    summer = arguments.pop("summer", "mean")
    close = arguments.pop("close", CLOSE)
    metric = arguments.pop("metric", "accuracy")
    turns = arguments.pop("turns", 3)
    labels = {f"{column}/{label}": f"{column}/{label}" for column, of in (groups or {}).items() for label in of}
    return Spec(
        name=f"{benchmark.replace(':', '@')}.lmms-eval",
        benchmark=benchmark,
        rule="lmms-eval",
        oracle=LMMS_EVAL_VIDEO,
        path=f"lmms_eval/tasks/{task}/utils.py, {process}",
        cases=choice_cases(cells, pool, turns, shifted=True),
        arguments={
            "task": task,
            "process": process,
            "result": result,
            "metrics": {"overall": summer},
            "groups": list(groups or {}),
            "scale": 100,
            **arguments,
        },
        metrics={metric: "overall", **labels},
        close=close,
    )


NUMBERS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("number", str),
    ("number and unit", "{} m".format),
    ("number and stop", "{}.".format),
    ("about", "About {}".format),
    ("sentence", "There are {} of them, as far as I can see.".format),
    ("ten percent more", lambda gold: f"{float(gold) * 1.1:g}"),
    ("a third less", lambda gold: f"{float(gold) * 0.66:g}"),
    ("half", lambda gold: f"{float(gold) / 2:g}"),
    ("half more", lambda gold: f"{float(gold) * 1.5:g}"),
    ("twice", lambda gold: f"{float(gold) * 2:g}"),
    ("at a threshold", lambda gold: repr(float(gold) * 1.05)),
    ("below a threshold", lambda gold: repr(float(gold) * 0.95)),
    ("negative", "-{}".format),
    ("words", lambda gold: "Twenty-one chairs"),
    ("words and digits", "one room, {} chairs".format),
    ("digits and words", "{} chairs in one room".format),
    ("long numeral", lambda gold: "three hundred and ten"),
    ("thousand", lambda gold: "two thousand"),
    ("answer tag", "<answer>{}</answer>".format),
    ("answer tag, unit", "<answer>{} metres</answer>".format),
    ("thinking", "<think>It is 2 or 3.</think>{}".format),
    ("open thinking", "<think>It is 2 or {}".format),
    ("range", "{} to 90".format),
    ("list", "[{}, 77]".format),
    ("bold", "**{}**".format),
    ("dollars", "${}$".format),
    ("boxed", "\\boxed{{{}}}".format),
    ("lead-in", "Answer: {}".format),
    ("last line", "2 on the left.\n{}".format),
    ("line breaks", "\n\n{}\n".format),
    ("exponent", lambda gold: f"{float(gold):.3e}"),
    ("grouped", lambda gold: f"{float(gold) * 1000:,.0f}"),
    ("not a number", lambda gold: "nan"),
    ("infinite", lambda gold: "inf"),
    ("refusal", lambda gold: "I cannot tell from these frames."),
    ("empty", lambda gold: ""),
    ("failed", lambda gold: "Failed to obtain answer via API."),
)
"""Styles of replies that hold a number."""
GOLDS = ("4", "4.6", "21", "0.8", "310")
CHOICE_TYPES = (
    *("object_rel_direction_easy", "object_rel_direction_medium", "object_rel_direction_hard"),
    *("object_rel_distance", "route_planning", "obj_appearance_order"),
)
NUMBER_TYPES = ("object_abs_distance", "object_counting", "object_size_estimation", "room_size_estimation")


def room_cases(options: str, gold: str, columns: Mapping[str, str]) -> Callable[[], Iterator[Case]]:
    """Choices and numbers of VSI-Bench. `options` and `gold` are what the columns are called."""
    chosen = cells_of(options, f"letter {gold}", dressed=True, question_type=CHOICE_TYPES, **columns)

    def cases() -> Iterator[Case]:
        choices = list(choice_cases(chosen, with_options(_MIXED, 4))())
        yield from choices
        number = len(choices)
        for right in GOLDS:
            for style, reply in NUMBERS:
                cells = {
                    "question": "How many, or how long?",
                    gold: right,
                    "question_type": NUMBER_TYPES[number % len(NUMBER_TYPES)],
                    **columns,
                }
                yield Case(str(number), cells, f"number: {style}", reply(right))
                number += 1

    return cases


def pair_cells(question: Choice, number: int) -> Mapping[str, Any]:
    """A row of VideoMathQA's pairs: three are about one question."""
    cells = cells_of(gold="letter answer", dressed=True, videoID="a", category="Chart", length="short")
    return {**cells(question, number), "question_id": f"q{number // 3}"}


def group_cells(question: Choice, number: int) -> Mapping[str, Any]:
    """A row of Video-MME-v2: four rows are a group."""
    group, place = divmod(number, 4)
    kind = ("relevance", "logic", "logic", "logic")[group % 4]
    structures = ("[1, 2, 3, 4]", "[1, 2, 3, 4]", "[1, [2, 3], 4]", "[[1, 2], 3, 4]")
    lines = [f"{label}. {text}" for label, text in question.options.items()]
    return {
        "video_id": f"{group:03}",
        "question_id": f"{group:03}-{place + 1}",
        "group_type": kind,
        "group_structure": structures[group % 4],
        "level": group % 3 + 1,
        "second_head": ("Order", "Action")[group % 2],
        "third_head": ("Entrances", "Exits")[group % 2],
        "question": question.question,
        "options": "\n".join(lines),
        "answer": question.gold,
    }


def mostly_right(cases: Callable[[], Iterator[Case]]) -> Callable[[], Iterator[Case]]:
    """The cases, every second with its gold answer for a reply, so that groups have several."""

    def with_golds() -> Iterator[Case]:
        for number, case in enumerate(cases()):
            if number // 3 % 2:
                yield replace(case, style="gold", reply=case.cells["answer"])
            else:
                yield case

    return with_golds


def lecture_cases() -> Iterator[Case]:
    """Choices and open questions of Video-MMMU."""
    chosen = cells_of(gold="letter answer", question_type="multiple-choice", category="Perception")
    for case in choice_cases(chosen, with_options(_MIXED, 6))():
        yield replace(case, cells={**case.cells, "id": f"dev_Math_{case.id}"})
    bases = list(styles_open.BASES.items())
    number = 1000
    for turn in range(3):
        for position, (style, write) in enumerate(bases):
            question = styles_open.QUESTIONS[(position + turn) % len(styles_open.QUESTIONS)]
            cells = {"question": question.question, "options": [], "answer": question.golds[0], "question_type": "open"}
            cells |= {"category": "Adaptation", "id": f"dev_Art_{number}"}
            reply = styles_open.reply_to(question, write, position + turn)
            yield Case(str(number), cells, f"open: {style}", reply)
            number += 1


def _match(n: int) -> dict[str, object]:
    return {"pred": "yes" if n % 3 else "no", "score": n % 6}


_MATCHES: Words = {
    "Python": lambda n: str(_match(n)),
    "JSON": lambda n: json.dumps(_match(n)),
    "JSON over lines": lambda n: json.dumps(_match(n), indent=2),
    "blanks around": lambda n: f"  {_match(n)}",
    "fenced": lambda n: f"```json\n{json.dumps(_match(n))}\n```",
    "explained before": lambda n: f"It names one of the things.\n{_match(n)}",
    "capital Yes": lambda n: str({**_match(n), "pred": "Yes" if n % 3 else "No"}),
    "another order": lambda n: str(dict(reversed(_match(n).items()))),
}


def _compared(n: int) -> dict[str, object]:
    return {"extracted_answer": "that", "correct": bool(n % 3)}


_COMPARED: Words = {
    "JSON": lambda n: json.dumps(_compared(n)),
    "JSON over lines": lambda n: json.dumps(_compared(n), indent=2),
    "no blanks": lambda n: json.dumps(_compared(n), separators=(",", ":")),
    "another order": lambda n: json.dumps(dict(reversed(_compared(n).items()))),
    "line break behind": lambda n: f"{json.dumps(_compared(n))}\n",
}
_COMPARED_APART: Words = {
    "fenced": lambda n: f"```json\n{json.dumps(_compared(n))}\n```",
    "prose": lambda n: "It is right.",
}
_LETTERS: Words = {
    "letter": lambda n: "ABC"[n % 3],
    "letter and stop": lambda n: f"{'ABC'[n % 3]}.",
    "letter and word": lambda n: ("A: CORRECT", "B: INCORRECT", "C: NOT_ATTEMPTED")[n % 3],
    "small letter": lambda n: "abc"[n % 3],
    "blanks": lambda n: f"  {'ABC'[n % 3]}\n",
}
_LETTERS_APART: Words = {
    "word": lambda n: ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")[n % 3],
    "sentence": lambda n: "The grade is B.",
}


def judged_set(
    benchmark: str, end: str, oracle: Oracle, path: str, cells: CellsOf, words: Sequence[Words], **given: Any
) -> Spec:
    """A set whose judge's words are given, by Snellen's rule."""
    alike, unlike = words
    return Spec(
        name=f"{benchmark}.{end}",
        benchmark=benchmark,
        rule="snellen",
        oracle=oracle,
        path=path,
        cases=judged_cases(cells, alike, unlike),
        apart=APART,
        **given,
    )


def activity_cells(question: Open, number: int) -> Mapping[str, Any]:
    cells = {"video_name": "1QIUV7WYKXg", "question_id": f"q{number}", "type": str(number % 9)}
    return {**cells, "question": question.question, "answer": question.golds[0]}


def subject_cells(question: Open, number: int) -> Mapping[str, Any]:
    """A row of MMVU, every second a choice."""
    texts = (question.golds[0], *question.wrong, NONE_OF_THESE, "it is not shown", "both")[:5]
    chosen = dict(zip(LABELS, texts, strict=False)) if number % 2 else dict.fromkeys("ABCDE", "")
    return {
        "question_type": "multiple-choice" if number % 2 else "open-ended",
        "video_path": "videos/Art/0.mp4",
        "question": question.question,
        "choices": chosen,
        "answer": "A" if number % 2 else question.golds[0],
    }


def long_cells(question: Open, number: int) -> Mapping[str, Any]:
    cells = {"video": "a.mp4", "qa_type": ("Local Perception", "Holistic Reasoning")[number % 2], "answer": "A"}
    texts = [f"A. {question.golds[0]}", f"B. {question.wrong[0]}"]
    return {**cells, "question": question.question, "options": texts, "answer_text": question.golds[0]}


_MIXED = pools.KNOWLEDGE + pools.GENERATOR + pools.BEAUTY
QA_TYPES = ("Local Perception", "Holistic Reasoning")
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
        cells_of("candidates", "text answer", video="a.mp4", task_type=("Action Count", "Object Count")),
        with_options(_MIXED, 4),
        {"task_type": ("Action Count", "Object Count")},
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
    *(
        Spec(
            name=f"vsi-bench.{name}",
            benchmark="vsi-bench",
            rule=rule,
            oracle=oracle,
            path=path,
            cases=room_cases("options", "ground_truth", {"dataset": "arkitscenes", "scene_name": "41069025"}),
            arguments={
                "task": "vsibench",
                "process": "vsibench_process_results",
                "credit": ["accuracy", "MRA:.5:.95:.05"],
                "scale": scale,
                **arguments,
            },
            metrics={"mean_of_tasks": "overall"},
            close=close,
        )
        for name, rule, oracle, path, scale, close, arguments in (
            (
                "authors",
                "official",
                VSI_BENCH_AUTHORS,
                "lmms_eval/tasks/vsibench/utils.py",
                1,
                CLOSE,
                {
                    "checkout": "thinking-in-space",
                    "result": "vsibench_score",
                    "metrics": {"overall": "vsibench_aggregate_results:overall"},
                },
            ),
            (
                "lmms-eval",
                "lmms-eval",
                LMMS_EVAL_VIDEO,
                "lmms_eval/tasks/vsibench/utils.py",
                100,
                0.0001,
                {"result": "vsibench_overall", "metrics": {"overall": "vsibench_aggregate_overall"}},
            ),
        )
    ),
    Spec(
        name="vsi-bench.vlmevalkit",
        benchmark="vsi-bench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/vsibench.py, VsiBench.evaluate, and utils/spatial_bench",
        cases=room_cases("candidates", "answer", {"video": "arkitscenes/41069025.mp4"}),
        arguments={"dataset": "VSI-Bench", "columns": ["hit", "MRA:.5:.95:.05"], "leads": ["overall", ["overall"], 1]},
        metrics={"mean_of_tasks": "overall"},
    ),
    lmms_set(
        "videomathqa-pairs",
        "videomathqa_process_results",
        "videomathqa_perception_score",
        lambda question, number: {
            **cells_of(gold="letter answer", dressed=True, videoID="a", category="Chart", length="short")(
                question, number
            ),
            "question_id": f"q{number // 3}",
        },
        with_options(_MIXED, 2),
        task="videomathqa",
        summer="videomathqa_multi_binary_aggregate_results",
        metric="pair_accuracy",
        scale=1,
    ),
    Spec(
        name="video-mme-v2.lmms-eval",
        benchmark="video-mme-v2",
        rule="lmms-eval",
        oracle=LMMS_EVAL_VIDEO,
        path="lmms_eval/tasks/videomme_v2/utils.py, videomme_v2_process_results",
        cases=mostly_right(choice_cases(group_cells, with_options(_MIXED, 8))),
        arguments={
            "task": "videomme_v2",
            "process": "videomme_v2_process_results",
            "result": "videomme_v2_overall_score",
            "credit": ["score"],
            "metrics": {
                name: f"videomme_v2_aggregate_{name}"
                for name in ("overall_score", "relevance_score", "logic_score", "level_1_score", "overall_acc")
            },
        },
        metrics={
            "group_score": "overall_score",
            "group_score by group_type/relevance": "relevance_score",
            "group_score by group_type/logic": "logic_score",
            "group_score by level/1": "level_1_score",
            "accuracy": "overall_acc",
        },
    ),
    Spec(
        name="video-mme-v2.authors",
        benchmark="video-mme-v2",
        rule="vlmevalkit",
        oracle=VIDEO_MME_V2,
        path="evaluation/test_video_mme_v2.py, evaluate",
        cases=mostly_right(choice_cases(group_cells, with_options(_MIXED, 8))),
        arguments={"scorer": "video-mme-v2"},
        metrics={
            "group_score": "total",
            "group_score by group_type/relevance": "relevance_score",
            "group_score by group_type/logic": "logic_score",
            "group_score by level/2": "level_2",
            "group_score by second_head/Order": "Order",
            "accuracy": "mean",
        },
    ),
    Spec(
        name="video-mme-v2.vlmevalkit",
        benchmark="video-mme-v2",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/videommev2.py, VideoMMEv2.evaluate, and utils/videomme.py",
        cases=mostly_right(choice_cases(group_cells, with_options(_MIXED, 8))),
        arguments={"dataset": "Video-MME-v2", "counted": True, "leads": ["total", ["final_rating/total"], 1]},
        metrics={
            "group_score": "final_rating/total",
            "group_score by group_type/logic": "final_rating/logic_score",
            "group_score by level/2": "final_rating/level_2",
            "group_score by second_head/Order": "second_head_rating/Order",
        },
    ),
    Spec(
        name="videommmu.lmms-eval",
        benchmark="videommmu",
        rule="lmms-eval",
        oracle=LMMS_EVAL_VIDEO,
        path="lmms_eval/tasks/videommmu/utils.py, videommmu_process_results",
        cases=lecture_cases,
        arguments={
            "task": "videommmu",
            "process": "videommmu_process_results",
            "result": "mmmu_acc",
            "absent": ["parsed_pred", "API Error"],
            "metrics": {"overall": "videommmu_aggregate_results"},
            "scale": 100,
        },
        metrics={"accuracy": "overall"},
        close=0.0005,
    ),
    Spec(
        name="videommmu.vlmevalkit",
        benchmark="videommmu",
        rule="vlmevalkit",
        oracle=replace(VLMEVALKIT, script="authors_videos"),
        path="vlmeval/dataset/videommmu.py, process_results and aggregate_results",
        cases=lecture_cases,
        arguments={"scorer": "videommmu"},
        metrics={"accuracy": "overall"},
    ),
    lmms_set(
        "videoevalpro-choice",
        "videoevalpro_mcq_process_results",
        "videoevalpro_mcq_score",
        cells_of(gold="letter answer", dressed=True, video="a.mp4", qa_type=QA_TYPES, answer_text="that"),
        with_options(_MIXED, 4),
        {"qa_type": QA_TYPES},
        task="videoevalpro",
        summer="videoevalpro_mcq_aggregate_results:overall",
    ),
    authors_set(
        "tvbench",
        "check_ans",
        TVBENCH_AUTHORS,
        "vqa_dataset.py, check_ans",
        choice_cases(
            candidates(dressed=False, video="a.mp4", task_type=("Action Count", "Object Count")), pools.ABILITIES
        ),
        {"accuracy": "mean"},
        path=["tvbench", "vqa_dataset.py"],
    ),
    judged_set(
        "activitynetqa",
        "lmms-eval",
        LMMS_EVAL_VIDEO,
        "lmms_eval/tasks/activitynetqa/utils.py, activitynetqa_process_results",
        activity_cells,
        (_MATCHES, {}),
        arguments={
            "task": "activitynetqa",
            "process": "activitynetqa_process_results",
            "result": "gpt_eval_accuracy",
            "asks": "get_eval",
            "metrics": {"accuracy": "activitynetqa_aggregate_accuracy", "score": "activitynetqa_aggregate_score"},
        },
        metrics={"accuracy": "accuracy", "score": "score"},
    ),
    judged_set(
        "mmvu",
        "authors",
        MMVU_AUTHORS,
        "utils/eval_utils.py, get_acc_async",
        subject_cells,
        (_COMPARED, _COMPARED_APART),
        arguments={"scorer": "mmvu"},
        metrics={"accuracy": "overall"},
    ),
    judged_set(
        "videoevalpro",
        "lmms-eval",
        LMMS_EVAL_VIDEO,
        "lmms_eval/tasks/videoevalpro/utils.py, videoevalpro_process_results",
        long_cells,
        (_LETTERS, _LETTERS_APART),
        arguments={
            "task": "videoevalpro",
            "process": "videoevalpro_process_results",
            "result": "videoevalpro_score",
            "grades": "_parse_abc_response",
            "metrics": {"overall": "videoevalpro_aggregate_results:overall"},
            "scale": 100,
        },
        metrics={"accuracy": "overall"},
    ),
    Spec(
        name="longvideobench.vlmevalkit",
        benchmark="longvideobench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
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
