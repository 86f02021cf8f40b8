"""Multiple-choice benchmarks with a layout or a summary of their own, scored by VLMEvalKit."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential import styles_choice
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.specs.choices import choice_cases, table_row, vlmevalkit_set

_CLASS = "vlmeval/dataset/image_mcq.py, {}.evaluate"


def _pair_cases() -> Iterator[Case]:
    """MMVP: two rows ask the same of two pictures, whose answers differ."""
    number = 0
    every = list(styles_choice.styles())
    for turn in range(2):
        for position in range(len(every)):
            question = pools.PAIRS[(position + turn) % len(pools.PAIRS)]
            for gold, other in (("A", "B"), ("B", "A")):
                style, write = every[position] if gold == "A" or turn else every[0]
                said, rest = (other, gold) if (position + number) % 5 == 0 else (gold, other)
                texts = question.options
                number += 1
                yield Case(
                    str(number),
                    {"question": question.question, **texts, "answer": gold},
                    style,
                    write(said, texts[said], rest, texts[rest]),
                )


def _mmt_rows() -> tuple[tuple[str, str], ...]:
    """Two subtasks of each of the 32 meta-tasks: VLMEvalKit's summary needs all of them."""
    folder = files("snellen.benchmarks") / "data"

    def read(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader((folder / name).read_text(encoding="utf-8").splitlines()))

    meta_tasks = {row["abbreviation"]: row["meta_task"] for row in read("mmt_meta_tasks.csv")}
    found: dict[str, list[str]] = {}
    for row in read("mmt_subtasks.csv"):
        found.setdefault(meta_tasks[row["meta_task"]], []).append(row["subtask"])
    return tuple((task, meta) for meta, tasks in found.items() for task in tasks[:2])


_MMT = _mmt_rows()


def _mmt_cases() -> Iterator[Case]:
    for case in choice_cases(table_row(split="VAL"), pools.TASKS)():
        task, meta = _MMT[int(case.id) % len(_MMT)]
        cells: Mapping[str, Any] = {**case.cells, "category": task, "l2-category": meta}
        yield Case(case.id, cells, case.style, case.reply)


def _own_cases(name: str, dataset: str, **arguments: Any) -> Spec:
    """A set whose cases or arguments differ from the common ones."""
    given: dict[str, Any] = {
        "name": f"{name.replace(':', '@')}.vlmevalkit",
        "benchmark": name,
        "rule": "vlmevalkit",
        "oracle": VLMEVALKIT,
        "path": _CLASS.format("ImageMCQDataset"),
        "arguments": {"dataset": dataset, "scale": 100},
        **arguments,
    }
    return Spec(**given)


def _mmmu_cases() -> Iterator[Case]:
    """Choices, and open questions, which VLMEvalKit turns into the choice between the gold answer
    and "Other Answers"."""
    columns = {"split": "validation", "category": ("Accounting", "Art", "Math")}
    yield from choice_cases(table_row(**columns), pools.EXPERT)()
    number = 3 * len(list(styles_choice.styles()))
    for turn, (question, gold, texts) in enumerate(OPEN_QUESTIONS):
        for position, (style, write) in enumerate(styles_choice.styles()):
            right, wrong = texts if (position + turn) % 3 else texts[::-1]
            cells = {
                "question": question,
                "answer": gold,
                "split": "validation",
                "category": columns["category"][position % 3],
            }
            yield Case(str(number), cells, f"open, {style}", write(right, right, wrong, wrong))
            number += 1


def spatial457_cases() -> Iterator[Case]:
    """Spatial457: words, counts, yes and no, plain and in the form that its prompt asks for."""
    forms = (
        lambda text: text,
        lambda text: f"{{'Reasoning': 'It is there.', 'Answer': '{text}'}}",
        lambda text: f'{{"Reasoning": "It is there.", "Answer": "{text}"}}',
    )
    number = 0
    for turn, form in enumerate(forms):
        for position, (style, write) in enumerate(styles_choice.styles()):
            gold, right, wrong = SPATIAL[(position + turn) % len(SPATIAL)]
            said = right[number % len(right)] if (position + turn) % 3 else wrong
            cells = {
                "question": "What is the thing beside the bus?",
                "answer": gold,
                "category": ("L1_single", "L2_objects", "L5_collision")[number % 3],
            }
            # In the first of each form's replies the answer stands alone.
            text = form(said if position % 2 else write(said, said, wrong, wrong))
            kind = "alone" if position % 2 else style
            yield Case(str(number), cells, f"{kind}, form {turn}, {said}", text)
            number += 1


SPATIAL = (
    ("3", ("3", "three", "Three"), "2"),
    ("Yes", ("yes", "4", "Yes"), "0"),
    ("No", ("None", "0", "no"), "yes"),
    ("Airliner", ("jet", "airliner", "Fighter"), "suv"),
    ("Blue", ("blue", "BLUE", "Blue"), "red"),
    ("School bus", ("double bus", "bus", "school bus"), "road bike"),
    ("Left", ("left", "Left", "LEFT"), "right"),
)
"""Gold, what is right for it, and what is wrong."""
OPEN_QUESTIONS = (
    ("What is the net income?", "12,500", ("12,500", "1250")),
    ("Name the cell.", "['neuron', 'nerve cell']", ("a Nerve cell", "a blood cell")),
    ("What is x?", "Transport across the membrane", ("transport across the membrane", "B")),
)
"""Question, gold, and what a reply says when it is right and when it is wrong."""
_SUBJECTS = {"category": ("History", "Art", "Math")}
_IN_2D = {"mean_of_sources": "Overall", "source/ADE20K": "ADE20K"}
SPECS = (
    vlmevalkit_set(
        "cvbench:dimension=2D",
        "CV-Bench-2D",
        pools.SPACE,
        _IN_2D,
        _CLASS.format("CVBench"),
        split="2D",
        task=("Count", "Relation"),
        source=("ADE20K", "COCO", "COCO"),
    ),
    vlmevalkit_set(
        "cvbench:dimension=3D",
        "CV-Bench-3D",
        pools.SPACE,
        {"accuracy": "Overall"},
        _CLASS.format("CVBench"),
        split="3D",
        task=("Depth", "Distance"),
        source="Omni3D",
    ),
    vlmevalkit_set(
        "hrbench",
        "HRBench4K",
        pools.DETAILS,
        {"accuracy": "accuracy/12", "cycle_category/0": "accuracy/0"},
        _CLASS.format("HRBenchDataset"),
        "accuracy/12",
        cycle_category=("0", "1", "2", "3"),
        category=("single", "single", "single", "cross", "cross", "cross", "cross", "single"),
    ),
    vlmevalkit_set(
        "hrbench:size=8k",
        "HRBench8K",
        pools.KNOWLEDGE,
        {"accuracy": "accuracy/12"},
        _CLASS.format("HRBenchDataset"),
        "accuracy/12",
        cycle_category=("0", "1", "2", "3"),
        category=("single", "single", "single", "cross", "cross", "cross", "cross", "single"),
    ),
    vlmevalkit_set(
        "lego-puzzles",
        "LEGO",
        pools.BRICKS,
        where=_CLASS.format("LEGO"),
        question_type="multiple-choice",
        category=("height", "rotation"),
    ),
    vlmevalkit_set(
        "tdbench", "tdbench_rot0", pools.SPACE, where=_CLASS.format("TDBench"), category=("hallucination", "counting")
    ),
    vlmevalkit_set(
        "tdbench:rotation=90",
        "tdbench_rot90",
        pools.DETAILS,
        where=_CLASS.format("TDBench"),
        category=("hallucination", "counting"),
    ),
    vlmevalkit_set(
        "seedbench", "SEEDBench_IMG", pools.GENERATOR, category=("Instances Counting", "Scene Understanding")
    ),
    vlmevalkit_set(
        "seedbench:version=2", "SEEDBench2", pools.TASKS, {}, category=("Instances Counting", "Scene Understanding")
    ),
    vlmevalkit_set("seedbench:version=2-plus", "SEEDBench2_Plus", pools.EXPERT, category=("chart", "map", "web")),
    _own_cases(
        "mmmu",
        "MMMU_DEV_VAL",
        cases=_mmmu_cases,
        path=_CLASS.format("MMMUDataset"),
        metrics={"accuracy": "Overall", "category/Art": "Art"},
    ),
    vlmevalkit_set("mmmu-pro", "MMMU_Pro_10c", pools.TEN, where=_CLASS.format("MMMUProDataset"), **_SUBJECTS),
    vlmevalkit_set(
        "mmmu-pro:setting=10,cot=on", "MMMU_Pro_10c_COT", pools.TEN, where=_CLASS.format("MMMUProDataset"), **_SUBJECTS
    ),
    vlmevalkit_set(
        "mmmu-pro:setting=vision", "MMMU_Pro_V", pools.TEN, where=_CLASS.format("MMMUProDataset"), **_SUBJECTS
    ),
    _own_cases("mmvp", "MMVP", cases=_pair_cases, metrics={"pair_accuracy": "Overall", "accuracy": "Average"}),
    _own_cases(
        "mmt-bench",
        "MMT-Bench_VAL",
        cases=_mmt_cases,
        metrics={"overall_micro": "ALL/Overall", "l2-category/VR": "ALL/VR", "l2-category/GN": "ALL/GN"},
    ),
)
