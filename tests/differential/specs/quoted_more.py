"""Further benchmarks of images, each a TOML file alone, judged by the classes of VLMEvalKit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential.sets import Spec
from tests.differential.specs.choices import Cells, Pool, choice_cases, table_row
from tests.differential.specs.quoted_images import (
    FOUR,
    IMAGE_MCQ,
    class_set,
    listed_row,
    memory_set,
    spatial_set,
    written_row,
)
from tests.differential.specs.yes_no import yes_no_cases
from tests.differential.styles_choice import QUESTIONS, Choice

SETTINGS = ("Fig2Cap", "SubFig2Cap", "SubCap2Fig")
TREE = ("Perception/Attributes", "Reasoning/Comparison", "Perception/OCR")


def _plain(
    benchmark: str, dataset: str, pool: Pool = QUESTIONS, metrics: Mapping[str, str] | None = None, **columns: Any
) -> Spec:
    """A set judged by the class of plain multiple choice."""
    return memory_set(
        benchmark,
        dataset,
        "image_mcq.py",
        IMAGE_MCQ,
        choice_cases(table_row(**columns), pool),
        {"accuracy": "Overall", **(metrics or {})},
        leads="Overall",
        scale=100,
    )


def _lines_row(**columns: Any) -> Cells:
    """ViewSpatial-Bench: the options as the lines of one cell, the answer with its letter."""
    further = table_row(**columns)

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        own = {name: further(question, number)[name] for name in columns}
        lines = (f"{label}. {text}" for label, text in question.options.items())
        gold = f"{question.gold}. {question.options[question.gold]}"
        return {"question": question.question, "candidates": "\n".join(lines), "answer": gold, **own}

    return cells


def _statement(number: int, yes: bool) -> tuple[str, Mapping[str, Any]]:
    return str(number), {"answer": "Yes" if yes else "No", "image_path": f"{number}.jpg"}


SPECS = (
    _plain("spatialeval", "SpatialEval", pools.SPACE),
    _plain("pathmmu", "PathMMU_TEST", pools.MEDICINE, category=("Atlas", "PubMed")),
    _plain("cmmu", "CMMU_MCQ", pools.CHINESE),
    _plain("k-dtcbench", "K-DTCBench", pools.EXAMS, {"category/chart": "chart"}, category=("chart", "table")),
    _plain("staticembodiedbench", "StaticEmbodiedBench", pools.TASKS),
    _plain("cvqa", "CVQA_EN", pools.KNOWLEDGE),
    _plain("cvqa:text=local", "CVQA_LOC", pools.LANGUAGES),
    _plain("microbench", "MicroBench", pools.MEDICINE),
    memory_set(
        "mmsci",
        "MMSci_DEV_MCQ",
        "image_mcq.py",
        IMAGE_MCQ,
        choice_cases(table_row(setting=SETTINGS, subject=("Optics", "Ecology"), category="Physical"), pools.SCIENCE),
        {"mean_of_settings": "Avg/2", "setting/Fig2Cap": "Fig2Cap/2"},
        leads="Avg/2",
        scale=100,
    ),
    memory_set(
        "topviewrs",
        "TopViewRS",
        "image_mcq.py",
        (*IMAGE_MCQ, "TopViewRS"),
        choice_cases(table_row(category=("Localization", "Recognition")), pools.BRICKS),
        {"accuracy": "Overall", "category/Recognition": "Recognition"},
        leads="Overall",
        scale=100,
    ),
    class_set(
        "vsr",
        "VSR-zeroshot",
        "vlmeval/dataset/image_yorn.py, ImageYORNDataset.evaluate",
        yes_no_cases(_statement),
        metrics={"accuracy": "acc"},
        headline="acc",
    ),
    memory_set(
        "treebench",
        "TreeBench",
        "image_mcq.py",
        (*IMAGE_MCQ, "TreeBench"),
        choice_cases(table_row(category=TREE, target_instances="[[1, 2, 6, 7]]"), FOUR),
        {"accuracy": "Overall"},
        leads="Overall",
        scale=100,
    ),
    spatial_set(
        "viewspatial",
        "ViewSpatialBench",
        _lines_row(
            question_type=("Camera perspective - Relative Direction", "Person perspective - Relative Direction")
        ),
        FOUR,
    ),
    spatial_set(
        "spatialviz",
        "SpatialVizBench",
        table_row(category=("MentalFolding", "MentalRotation"), task=("PaperFolding", "2DRotation")),
        FOUR,
    ),
    spatial_set("eriq", "ERIQ", written_row("question_raw", task_type=("QA_TASK_PROGRESS", "QA_TASK_GROUNDING")), FOUR),
    class_set(
        "sitebench",
        "SiteBenchImage",
        "vlmeval/dataset/utils/spatial_bench/cal_scores.py, compute_mcq_score",
        choice_cases(listed_row(category=("3d information understanding", "movement prediction and navigation")), FOUR),
        metrics={"accuracy": "overall_accuracy"},
        headline="overall_accuracy",
    ),
)
