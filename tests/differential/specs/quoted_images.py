"""Benchmarks of images that model reports quote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential import styles_choice, styles_open, styles_yes_no
from tests.differential.oracle_list import LMMS_EVAL, VLMEVALKIT
from tests.differential.sets import CLOSE, Case, Spec
from tests.differential.specs.choices import Cells, choice_cases
from tests.differential.specs.choices_authors import authors_set, repository
from tests.differential.specs.open_answers import cells_of, one
from tests.differential.styles_choice import Choice
from tests.differential.styles_open import open_cases, open_question

_SPATIAL = "vlmeval/dataset/utils/spatial_bench/cal_scores.py, eval_mcq_score"
MINDCUBE = repository("mll-lab-nu/MindCube", "6d8fd9acdf5b80769373a21cdbfcf068ab356e0f")
OMNISPATIAL = repository("qizekun/OmniSpatial", "208bac258d8671c6857b3be2834997936ba7fc51")
EMMA = replace(repository("EMMA-Bench/EMMA", "50609fd4d7e4ce03124092b3862e10654b3b7cda"), script="authors_open")
VISUALPUZZLES = repository("neulab/VisualPuzzles", "ee212f97864bde4f0b662acca8ec14534e2ce9a7", "MIT")
NATURALBENCH = repository("Baiqi-Li/NaturalBench", "99676059da42c0094df345bb3333b1140a18483b")
PATTERNS = (
    *("grid_number", "size_grid", "rectangle_height_color", "shape_size_hexagon", "rectangle_height_number"),
    *("shape_reflect", "circle_size_number", "polygon_sides_color", "color_overlap_squares", "color_size_circle"),
    *("venn", "size_cycle", "polygon_sides_number", "shape_size_grid", "color_hexagon", "grid_number_color"),
    *("color_grid", "shape_morph", "triangle", "color_number_hexagon"),
)
"""The patterns of PuzzleVQA; VLMEvalKit divides by the count of each."""
FOUR = tuple(question for question in styles_choice.QUESTIONS if len(question.options) == 4)
"""Questions of the benchmarks whose scripts know four labels alone."""


def listed_row(column: str = "options", *, by_text: bool = False, **columns: Any) -> Cells:
    """Cells with the options as a Python list, and the answer as label or text."""

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        return {
            "question": question.question,
            column: str(list(question.options.values())),
            "answer": question.options[question.gold] if by_text else question.gold,
            **_turn(columns, number),
        }

    return cells


def written_row(column: str = "question", **columns: Any) -> Cells:
    """Cells with the options as lines below the question."""

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        lines = (question.question, *(f"{label}. {text}" for label, text in question.options.items()))
        return {column: "\n".join(lines), "answer": question.gold, **_turn(columns, number)}

    return cells


def _turn(columns: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The columns of a row: one with several values takes them in turn."""
    return {name: value[number % len(value)] if isinstance(value, tuple) else value for name, value in columns.items()}


def class_set(benchmark: str, dataset: str, where: str, cases: Any, **given: Any) -> Spec:
    """A set judged by the class that scores `dataset`, with cases of a layout of its own."""
    return Spec(
        name=f"{benchmark.replace(':', '@')}.vlmevalkit",
        benchmark=benchmark,
        rule="vlmevalkit",
        path=where,
        cases=cases,
        **{"oracle": VLMEVALKIT, "arguments": {"dataset": dataset}, **given},
    )


MEMORY = replace(VLMEVALKIT, script="vlmevalkit_memory")
"""Its classes over tables in memory, which evaluate every row by itself in no time."""
IMAGE_MCQ = ("ImageMCQDataset",)


def memory_set(
    benchmark: str,
    dataset: str,
    file: str,
    classes: tuple[str, ...],
    cases: Any,
    metrics: Mapping[str, str],
    *,
    leads: str,
    where: str = "",
    close: float = CLOSE,
    **given: Any,
) -> Spec:
    """A set judged by a class of VLMEvalKit out of its module."""
    return class_set(
        benchmark,
        dataset,
        where or f"vlmeval/dataset/{file}, {classes[-1]}.evaluate",
        cases,
        oracle=MEMORY,
        arguments={"dataset": dataset, "file": file, "classes": classes, "leads": leads, **given},
        metrics=metrics,
        close=close,
    )


def spatial_set(benchmark: str, dataset: str, cells: Cells, pool: tuple[Choice, ...], **metrics: str) -> Spec:
    return class_set(
        benchmark,
        dataset,
        _SPATIAL,
        choice_cases(cells, pool),
        metrics={"accuracy": "overall", **metrics},
        headline="overall",
    )


_OMNISPATIAL = {
    "task_type": ("Dynamic_Reasoning", "Spatial_Interaction", "Complex_Logic"),
    "sub_task_type": ("Manipulation", "Localization", "Geometric_Reasoning"),
}
KINDS = ("spatial", "algorithmic", "analogical", "inductive", "deductive")
LEVELS = ("easy", "medium", "hard")
_PUZZLES = {"category": KINDS, "difficulty": LEVELS}


def _puzzles(benchmark: str, dataset: str, cases: Any, fillers: tuple[Mapping[str, str], ...]) -> Spec:
    """A set whose rows are evaluated one by one, each beside wrong ones of every group."""
    cells = {"question": "q", "options": "['u', 'v', 'w', 'x']", "answer": "A" if benchmark[0] == "v" else "u"}
    return memory_set(
        benchmark,
        dataset,
        "image_mcq.py",
        (*IMAGE_MCQ, dataset),
        cases,
        {"accuracy": "acc/0"},
        leads="acc/0",
        metric="hit/0",
        fillers=[
            {"id": str(90000 + n), "reply": "qqqq", "verdict": "", "cells": {**cells, **one}}
            for n, one in enumerate(fillers)
        ],
    )


def _table(**columns: Any) -> Cells:
    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        named = {"question": question.question, **question.options, "answer": question.gold}
        return {**named, **_turn(columns, number)}

    return cells


def _flipped_cases() -> Iterator[Case]:
    """3DSRBench: every question four times, exchanged and mirrored; one of each four is answered in
    the style that turns."""
    every = list(styles_choice.styles())
    number = 0
    for turn in range(2):
        for position in range(len(every)):
            question = pools.PAIRS[(position + turn) % len(pools.PAIRS)]
            qid = f"Q{turn}{position:06d}"
            for place, suffix in enumerate(("", "-1", "-flip", "-flip-1")):
                gold, other = ("A", "B") if place % 2 == turn else ("B", "A")
                said, rest = (other, gold) if (position + place) % 7 == 0 else (gold, other)
                name, write = every[position] if place == position % 4 else every[0]
                cells = {
                    "qid": f"{qid}{suffix}",
                    "question": question.question,
                    **question.options,
                    "answer": gold,
                    "category": ("height_higher", "location_above", "orientation_viewpoint")[position % 3],
                }
                texts = question.options
                yield Case(str(number), cells, name, write(said, texts[said], rest, texts[rest]))
                number += 1


def _four_cases() -> Iterator[Case]:
    """NaturalBench: groups of four rows, of which one is answered in the style that turns."""
    number = 0
    for words, every, kind in (
        (("Yes", "No"), list(styles_yes_no.styles()), "yes_no"),
        (("A", "B"), list(styles_choice.styles()), "multiple_choice"),
    ):
        for position, (style, write) in enumerate(every):
            for place, gold in enumerate((words[0], words[1], words[1], words[0])):
                other = words[1] if gold == words[0] else words[0]
                said, rest = (other, gold) if (position + place) % 5 == 0 else (gold, other)
                if place != position % 4:
                    reply = said
                elif kind == "yes_no":
                    reply = write(said.lower(), rest.lower())
                else:
                    reply = write(said, TEXTS[said], rest, TEXTS[rest])
                question = f"Which is it? Option: A: {TEXTS['A']}; B: {TEXTS['B']};" if kind[0] == "m" else "Is it?"
                cells = {"question": question, "type": kind, "answer": gold}
                yield Case(str(number), cells, style if place == position % 4 else "plain", reply)
                number += 1


def _core_cases() -> Iterator[Case]:
    """CoreCognition: choices, then yes and no."""
    columns = {"category": ("Stage Sensorimotor", "Stage Formal Operational"), "l2-category": ("Boundary", "Tool Use")}
    yield from choice_cases(written_row(question_type="MCQ", **columns), pools.PAIRS + pools.SPACE, 2)()
    number = 2 * len(list(styles_choice.styles()))
    for gold in ("yes", "no"):
        for style, reply in styles_yes_no.replies(gold, gold == "no"):
            cells = {"question": "Is it so?", "answer": gold.title(), "question_type": "YORN", **_turn(columns, number)}
            yield Case(str(number), cells, f"yes/no: {style}", reply)
            number += 1


TEXTS = {"A": "a red cup", "B": "the blue cup"}
COUNTS = tuple(
    open_question(f"How many {thing} are there?", f"{gold}|{word}", f"{wrong}|{gold}{gold}")
    for thing, gold, word, wrong in (
        ("chairs", "2", "two", "12"),
        ("ducks", "10", "ten", "1"),
        ("keys", "3", "three", "4"),
        ("boats", "7", "seven", "6"),
    )
)
RADIOLOGY = (
    open_question("Which organ is shown?", "Liver", "Lung|left liver"),
    open_question("Is the lung healthy?", "No", "Yes|unclear"),
    open_question("Which modality is it?", "X-Ray", "CT|MRI (T2)"),
    open_question("肺部正常吗？", "不正常", "是的|左肺"),
    open_question("这是什么器官？", "肝脏", "脾脏|肺（左）"),
    open_question("Does it show a mass?", "Yes", "nope|true mass"),
)
AREAS = (
    ("Counting", "Overall counting", "C"),
    ("Land use classification", "Overall Land use classification", "AB"),
    ("Object properties", "Object color", "D"),
)
BLIND = (
    ("Subway Connections", "2", "3", "{{{0}}}"),
    ("Nested Squares", "4", "5", "{{{0}}}"),
    ("Line Plot Intersections", "1", "0", "There are {{{0}}} of them"),
    ("Touching Circles", "Yes", "No", "{0}"),
    ("Counting Grid - Word Grids", "4,7", "5,7", "rows={{{1}}} columns={{{2}}}"),
    ("Counting Grid - Blank Grids", "3,5", "3,6", "({1}, {2})"),
    ("Olympic Counting - Pentagons", "5", "6", "{0}"),
    ("Olympic Counting - Circles", "8", "9", "{0}"),
    ("Circled Letter", "k", "n", "{{{0}}}"),
)
"""Task, gold, a wrong answer, and the form that the question asks for."""


def _blind_cases() -> Iterator[Case]:
    """Every style of a short answer, bare and in the form that its question asks for."""
    every = list(styles_open.styles())
    for number in range(3 * len(every)):
        style, write = every[number % len(every)]
        task, gold, wrong, form = BLIND[number % len(BLIND)]
        said, rest = (gold, wrong) if number % 3 else (wrong, gold)
        if number % 2:
            said, rest = (form.format(text, *text.split(",")) for text in (said, rest))
        cells = {"question": "How many are there?", "answers": gold, "task": task}
        yield Case(str(number), cells, f"{style}, {number % 2}", write(said, rest))


def _area_cases() -> Iterator[Case]:
    """XLRS-Bench: one letter or several."""
    every = list(styles_choice.styles())
    for number in range(3 * len(every)):
        style, write = every[number % len(every)]
        category, task, gold = AREAS[(number + number // len(every)) % len(AREAS)]
        said, rest = (gold, "B") if number % 3 else ("B", gold)
        if len(said) > 1 and number % 2:
            said = " ".join(said) if number % 4 == 1 else ", ".join(f"({one})" for one in said)
        cells = {
            "question": "What is to be seen?",
            "multi-choice options": "\n(A) Housing\n(B) Farming\n(C) Industry\n(D) Forest",
            "answer": gold,
            "category": category,
            "l2-category": task,
        }
        yield Case(str(number), cells, style, write(said, "Forest", rest, "Housing"))


def _emma_cases() -> Iterator[Case]:
    """EMMA: choices, then open questions."""
    columns = {"context": "", "category": ("Physics", "Coding"), "subject": ("Physics", "Coding")}
    yield from choice_cases(_table(type="MCQ", **columns), pools.EXPERT, 2)()
    first = 2 * len(list(styles_choice.styles()))
    yield from open_cases(cells_of(one, type="Open", **columns), TERMS, turns=2, first=first)()


TERMS = (
    *COUNTS[:2],
    open_question("What is x?", r"\frac{1}{2}|0.5", "0.4|2"),
    open_question("Which molecule forms?", "methanol", "ethanol|methane"),
    open_question("How large is the angle?", "-3.5", "3.5|-3.6"),
)


def lmms_eval_set(
    benchmark: str, module: str, process: str, cases: Any, metric: str, numbers: Mapping[str, Any], **given: Any
) -> Spec:
    """A set judged by the functions of lmms-eval's task, for `--rule official`: `numbers` are ours
    to the metric and the function there."""
    theirs = {ours: one for ours, (one, _) in numbers.items()}
    return Spec(
        name=f"{benchmark.replace(':', '@')}.lmms-eval",
        benchmark=benchmark,
        rule="official",
        oracle=LMMS_EVAL,
        path=f"lmms_eval/tasks/{module}, {process}",
        cases=cases,
        arguments={
            "module": module,
            "process": process,
            "metric": metric,
            "numbers": {one: (one, function) for one, function in numbers.values()},
            **given,
        },
        metrics=theirs,
    )


SPECS = (
    spatial_set(
        "embspatialbench",
        "EmbSpatialBench",
        listed_row(data_source=("mp3d", "ai2thor", "scannet"), relation=("close", "far")),
        pools.SPACE,
        **{"data_source/mp3d": "mp3d_accuracy", "data_source/scannet": "scannet_accuracy"},
    ),
    class_set(
        "erqa",
        "ERQA",
        "vlmeval/dataset/erqa.py, ERQADataset.evaluate",
        choice_cases(written_row(category=("Pointing", "Task Reasoning")), pools.SPACE),
        arguments={"dataset": "ERQA", "column": "correct"},
        metrics={"accuracy": "Accuracy (%)/0"},
        headline="Accuracy (%)/0",
    ),
    memory_set(
        "3dsrbench",
        "3DSRBench",
        "image_mcq.py",
        (*IMAGE_MCQ, "_3DSRBench"),
        _flipped_cases,
        {"flip_circular_accuracy": "Overall/3", "accuracy": "Overall/0"},
        leads="Overall/3",
        scale=100,
    ),
    memory_set(
        "mindcube",
        "MindCubeBench_tiny_raw_qa",
        "mindcubebench.py",
        ("MindCubeBench",),
        choice_cases(
            written_row("input_prompt", question="Where is it?", category=("rotation", "among", "around")), pools.BRICKS
        ),
        {"accuracy": "overall", "category/among": "among_accuracy"},
        leads="overall",
        where=_SPATIAL,
        metric="overall",
        factor=0.01,
    ),
    authors_set(
        "mindcube",
        "mindcube",
        MINDCUBE,
        "src/evaluation/core/extractors.py, extract_answer",
        choice_cases(written_row("input_prompt", category=("rotation", "among")), pools.BRICKS),
        {"accuracy": "mean"},
    ),
    memory_set(
        "omnispatial",
        "OmniSpatialBench",
        "omnispatialbench.py",
        ("OmniSpatialBench",),
        choice_cases(_table(**_OMNISPATIAL), FOUR),
        {"accuracy": "overall"},
        leads="overall",
        where=_SPATIAL,
        metric="overall",
        factor=0.01,
    ),
    authors_set(
        "omnispatial",
        "omnispatial",
        OMNISPATIAL,
        'api_eval.py, the lines of eval_type == "re"',
        choice_cases(_table(**_OMNISPATIAL), FOUR),
        {"accuracy": "mean"},
    ),
    _puzzles(
        "visualpuzzles",
        "VisualPuzzles",
        choice_cases(listed_row(**_PUZZLES), FOUR),
        tuple({"category": kind, "difficulty": level} for kind, level in zip(KINDS, LEVELS * 2, strict=False)),
    ),
    authors_set(
        "visualpuzzles",
        "visualpuzzles",
        VISUALPUZZLES,
        "lmms-eval/lmms_eval/tasks/VisualPuzzles/utils.py, VisualPuzzles_process_result",
        choice_cases(listed_row(**_PUZZLES), FOUR, 5),
        {"accuracy": "mean"},
    ),
    _puzzles(
        "puzzlevqa",
        "PuzzleVQA",
        choice_cases(listed_row(by_text=True, category=PATTERNS), pools.GENERATOR),
        tuple({"category": kind} for kind in PATTERNS),
    ),
    memory_set(
        "visonlyqa",
        "VisOnlyQA-VLMEvalKit",
        "image_mcq.py",
        IMAGE_MCQ,
        choice_cases(_table(split="Eval_Real", category=("geometry__length", "geometry__angle")), pools.LETTERS),
        {"accuracy": "Overall", "category/geometry__angle": "geometry__angle"},
        leads="Overall",
        scale=100,
    ),
    authors_set(
        "emma",
        "emma",
        EMMA,
        "evaluation/evaluate.py and utils.py, fast_extract_answer and is_equal",
        _emma_cases,
        {"accuracy": "mean"},
    ),
    authors_set(
        "naturalbench",
        "naturalbench",
        NATURALBENCH,
        "naturalbench_vqa.py, extract_answer and get_scores",
        _four_cases,
        {"group_accuracy": "G_Acc", "question_accuracy": "Q_Acc", "image_accuracy": "I_Acc", "accuracy": "Acc"},
    ),
    memory_set(
        "corecognition",
        "CoreCognition",
        "image_vqa.py",
        ("CoreCognition",),
        _core_cases,
        {"accuracy": "Overall"},
        leads="Overall",
        close=0.005,
    ),
    memory_set(
        "omnimedvqa",
        "OmniMedVQA",
        "image_mcq.py",
        (*IMAGE_MCQ, "OmniMedVQA"),
        choice_cases(_table(category=("Modality Recognition", "Lesion Grading")), pools.MEDICINE),
        {"accuracy": "Overall"},
        leads="Overall",
        scale=100,
    ),
    memory_set(
        "countbench",
        "CountBenchQA",
        "image_vqa.py",
        ("CountBenchQA",),
        open_cases(cells_of(one), COUNTS),
        {"accuracy": "accuracy"},
        leads="accuracy",
        metric="accuracy",
        factor=0.01,
    ),
    memory_set(
        "vlmsareblind",
        "VLMBlind",
        "image_mcq.py",
        (*IMAGE_MCQ, "VLMBlind"),
        _blind_cases,
        {f"task/{task}": task for task, *_ in BLIND},
        leads="",
        metric="{task}",
        scale=100,
    ),
    memory_set(
        "xlrs-bench",
        "XLRS-Bench-lite",
        "image_mcq.py",
        (*IMAGE_MCQ, "XLRSBench"),
        _area_cases,
        {"mean_of_tasks": "Overall macro", "accuracy": "Overall micro"},
        leads="Overall macro",
        metric="Overall micro",
        scale=100,
    ),
    lmms_eval_set(
        "pixmocount",
        "pixmo_count/utils.py",
        "pixmo_count_process_results",
        open_cases(cells_of(one), COUNTS),
        "acc",
        {"accuracy": ("acc", "mean")},
    ),
    lmms_eval_set(
        "slake",
        "slake/utils.py",
        "slake_process_results",
        open_cases(cells_of(one, answer_type=("OPEN", "CLOSED"), modality=("CT", "MRI")), RADIOLOGY),
        "slake_accuracy",
        {
            "accuracy": ("slake_accuracy", "slake_aggregate_accuracy"),
            "answer_type/OPEN": ("slake_open_accuracy", "slake_aggregate_open_accuracy"),
            "modality/CT": ("slake_ct_accuracy", "slake_aggregate_ct_accuracy"),
        },
        field="is_correct",
    ),
)
