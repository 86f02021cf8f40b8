"""Multiple-choice benchmarks, scored by VLMEvalKit without a judge model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential import styles_choice
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec

Cells = Callable[[styles_choice.Choice, int], Mapping[str, Any]]
"""The row of a data file for a question and the number of the row."""
Pool = tuple[styles_choice.Choice, ...]


def table_row(**columns: Any) -> Cells:
    """Cells in VLMEvalKit's layout: question, options by letter, answer, and further columns. A
    column with several values takes them in turn."""

    def cells(question: styles_choice.Choice, number: int) -> Mapping[str, Any]:
        return {
            "question": question.question,
            **question.options,
            "answer": question.gold,
            **{
                name: value[number % len(value)] if isinstance(value, tuple) else value
                for name, value in columns.items()
            },
        }

    return cells


def choice_cases(
    cells: Cells, questions: Pool = styles_choice.QUESTIONS, turns: int = 3, *, shifted: bool = False
) -> Callable[[], Iterator[Case]]:
    """Every style of reply to `turns` of the questions, which rotate; with `shifted` in other wrappers behind three
    turns."""

    def cases() -> Iterator[Case]:
        number = 0
        for turn in range(turns):
            count = len(list(styles_choice.styles()))
            for position in range(count):
                question = questions[(position + turn * 2) % len(questions)]
                style, reply = list(styles_choice.replies(question, turn, turn // 3 if shifted else 0))[position]
                yield Case(str(number), cells(question, number), style, reply)
                number += 1

    return cases


def vlmevalkit_set(
    benchmark: str,
    dataset: str,
    pool: Pool = styles_choice.QUESTIONS,
    metrics: Mapping[str, str] | None = None,
    where: str = "vlmeval/dataset/image_mcq.py, ImageMCQDataset.evaluate",
    headline: str = "",
    **columns: Any,
) -> Spec:
    """A set of every style over the questions of `pool`, judged by the class that scores
    `dataset`. Underscores of the columns stand for what their names hold in the file."""
    return Spec(
        name=f"{benchmark.replace(':', '@')}.vlmevalkit",
        benchmark=benchmark,
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path=where,
        cases=choice_cases(table_row(**columns), pool),
        arguments={"dataset": dataset, "scale": 100},
        metrics={"accuracy": "Overall"} if metrics is None else metrics,
        headline=headline,
    )


def _groups(column: str, *labels: str) -> dict[str, str]:
    """The headline, and the mean of each label as VLMEvalKit calls it."""
    return {"accuracy": "Overall", **{f"{column}/{label}": label for label in labels}}


_CLASS = "vlmeval/dataset/image_mcq.py, {}.evaluate"
_MEDICAL = "clinical vqa task"
SPECS = (
    vlmevalkit_set("mmstar", "MMStar", category=("colour", "shape"), l2_category="scenes"),
    vlmevalkit_set(
        "ai2d", "AI2D_TEST", pools.LETTERS, _groups("category", "typesOf"), category=("foodChainsWebs", "typesOf")
    ),
    vlmevalkit_set("ai2d:mask=off", "AI2D_TEST_NO_MASK", category=("foodChainsWebs", "typesOf")),
    vlmevalkit_set("a-bench", "A-Bench_VAL", pools.GENERATED, category=("part1 -> Basic", "part2 -> Quality")),
    vlmevalkit_set("a-okvqa", "A-OKVQA", pools.KNOWLEDGE),
    vlmevalkit_set(
        "aesbench",
        "AesBench_VAL",
        pools.BEAUTY,
        _groups("category", "Perception", "Emotion"),
        category=("Perception", "Emotion"),
    ),
    vlmevalkit_set(
        "blink",
        "BLINK",
        pools.PERCEPTION,
        _groups("category", "Counting", "Jigsaw"),
        category=("Counting", "Jigsaw", "Relative_Depth"),
        split="val",
    ),
    vlmevalkit_set(
        "gmai-mmbench",
        "GMAI-MMBench_VAL",
        pools.MEDICINE,
        where=_CLASS.format("GMAIMMBenchDataset"),
        split="VAL",
        category=("DD", "SG"),
        department=("Surgery", "Urology"),
        modality=("CT", "MR"),
        **{
            _MEDICAL: ("Disease Diagnosis", "Severity Grading"),
            "perceptual granularity": ("image level", "mask level"),
        },
    ),
    vlmevalkit_set("medxpertqa", "MedXpertQA_MM_test", pools.MEDICINE, category=("Diagnosis", "Treatment")),
    vlmevalkit_set("microvqa", "MicroVQA", pools.MEDICINE, category=("1", "2")),
    vlmevalkit_set("mmmb", "MMMB_en", pools.LANGUAGES, category=("scene", "text")),
    vlmevalkit_set("mmmb:lang=ru", "MMMB_ru", pools.LANGUAGES, category=("scene", "text")),
    vlmevalkit_set(
        "muirbench", "MUIRBench", pools.MANY_IMAGES, _groups("category", "Ordering"), category=("Ordering", "Counting")
    ),
    vlmevalkit_set("q-bench", "Q-Bench1_VAL", pools.GENERATED, category=("0,0", "1,1")),
    vlmevalkit_set("r-bench", "R-Bench-Dis", pools.SPACE, category=("low", "high")),
    vlmevalkit_set("r-bench:images=reference", "R-Bench-Ref", pools.GENERATED),
    vlmevalkit_set("realworldqa", "RealWorldQA", pools.NUMBERS),
    vlmevalkit_set(
        "scienceqa",
        "ScienceQA_TEST",
        pools.SCIENCE,
        split="test",
        category=("biology", "physics"),
        hint=("The passage below\ndescribes an experiment.", ""),
    ),
    vlmevalkit_set(
        "taskmeanything",
        "TaskMeAnything_v1_imageqa_random",
        pools.GENERATOR,
        _groups("category", "3d-what"),
        category=("2d-how-many", "3d-what"),
    ),
    vlmevalkit_set(
        "vstarbench",
        "VStarBench",
        pools.DETAILS,
        _groups("category", "relative_position"),
        category=("direct_attributes", "relative_position"),
    ),
    vlmevalkit_set(
        "worldmedqa-v",
        "WorldMedQA-V",
        pools.EXAMS,
        _groups("category", "Japan"),
        category=("Brazil", "Israel", "Japan", "Spain"),
    ),
)
