"""Benchmarks of texts alone, judged by their authors' scorers and lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.differential import oracle_list as by
from tests.differential import questions_choice as pools
from tests.differential.sets import Case, Oracle, Spec
from tests.differential.specs.choices import choice_cases, table_row
from tests.differential.styles_math import VALUES, math_cases
from tests.differential.styles_open import BASES, Open, open_cases, open_question


def led(cases: Callable[[], Iterable[Case]], form: str) -> Callable[[], Iterable[Case]]:
    """The cases, and each once more with its reply where the benchmark asks the answer to stand."""

    def twice() -> Iterable[Case]:
        plain = list(cases())
        yield from plain
        first = 1 + max(int(case.id) for case in plain)
        for place, case in enumerate(plain):
            reply = form.replace("@", case.reply.strip())
            yield Case(str(first + place), case.cells, f"{case.style}, led", reply)

    return twice


def texts_set(
    benchmark: str,
    scorer: str,
    oracle: Oracle,
    path: str,
    cases: Callable[[], Iterable[Case]],
    metrics: Mapping[str, str],
) -> Spec:
    """A set that a published scorer judges, for `--rule official`."""
    return Spec(
        name=f"{benchmark}.authors",
        benchmark=benchmark,
        rule="official",
        oracle=oracle,
        path=path,
        cases=cases,
        arguments={"scorer": scorer},
        metrics=metrics,
    )


_SUMS = (
    open_question("A box holds 6 eggs. How many do 12 boxes hold?", "72", "18|7.2"),
    open_question("What do ten cars cost?", "16,000", "1600|16000.5"),
    open_question("How many degrees is it colder?", "-3", "3|-3.5"),
    open_question("What does one cup cost?", "2.50", "2.5|250"),
    open_question("How many are left?", "0", "none|10"),
)
_MARKED = {
    "mark": lambda a, b: f"#### {a}",
    "mark and dot": lambda a, b: f"#### {a}.",
    "mark and dollar": lambda a, b: f"#### ${a}",
    "mark without blank": lambda a, b: f"####{a}",
    "mark behind steps": lambda a, b: f"First there are {b}, then {a}.\n#### {a}",
    "mark and unit": lambda a, b: f"#### {a} eggs",
    "mark and comma behind": lambda a, b: f"#### {a}, so it is.",
    "two marks": lambda a, b: f"#### {b}\n#### {a}",
    "three signs": lambda a, b: f"### {a}",
    "mark and decimals": lambda a, b: f"#### {a}.00",
    "mark and plus": lambda a, b: f"#### +{a}",
    "mark and bold": lambda a, b: f"#### **{a}**",
}


def _sum_cells(question: Open, number: int) -> Mapping[str, Any]:
    gold = question.golds[0]
    return {"question": question.question, "answer": f"It is worked out step by step.\n#### {gold}"}


_SUBJECTS = ("Algebra", "Geometry", "Prealgebra")


def _problem(question: Open, number: int) -> Mapping[str, Any]:
    return {"problem": question.question, "answer": question.golds[0], "subject": _SUBJECTS[number % 3], "level": "2"}


_COUNTS = tuple(
    open_question(f"Find the remainder, part {n}.", gold, other)
    for n, (gold, other) in enumerate(
        (("70", "700|7"), ("33", "033|33.5"), ("588", "587|558"), ("0", "1|10"), ("204", "-204|2.04"))
    )
)

SPECS = (
    texts_set(
        "gsm8k",
        "gsm8k",
        by.GSM8K,
        "grade_school_math/dataset.py, is_correct",
        led(open_cases(_sum_cells, _SUMS, bases={**BASES, **_MARKED}), "It is so.\n#### @"),
        {"exact_match": "mean"},
    ),
    texts_set(
        "gpqa",
        "gpqa",
        by.SIMPLE_EVALS,
        "gpqa_eval.py, GPQAEval",
        led(
            choice_cases(table_row(**{"high-level domain": ("Physics", "Biology")}), pools.KNOWLEDGE),
            "So it is.\nAnswer: @",
        ),
        {"accuracy": "mean"},
    ),
    texts_set(
        "mmlu-pro",
        "mmlu-pro",
        by.MMLU_PRO,
        "evaluate_from_api.py, extract_answer",
        led(choice_cases(table_row(category=("law", "physics")), pools.TASKS), "So the answer is (@)"),
        {"accuracy": "mean"},
    ),
    texts_set(
        "math-500",
        "math",
        by.HENDRYCKS_MATH,
        "modeling/math_equivalence.py, is_equiv",
        led(math_cases(_problem, VALUES), "So it is $\\boxed{@}$."),
        {"exact_match": "mean"},
    ),
    texts_set(
        "aime",
        "aime",
        by.LM_HARNESS,
        "lm_eval/tasks/aime/utils.py, process_results",
        led(math_cases(_problem, _COUNTS), "So it is $\\boxed{@}$."),
        {"exact_match": "mean"},
    ),
)
