"""Benchmarks of texts alone, judged by their authors' scorers and lm-evaluation-harness."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.differential import oracle_list as by
from tests.differential import questions_choice as pools
from tests.differential.sets import Case, Oracle, Spec
from tests.differential.specs.choices import choice_cases, table_row
from tests.differential.specs.open_answers import VQA, authors, cells_of, ten
from tests.differential.styles_math import VALUES, math_cases
from tests.differential.styles_open import BASES, QUESTIONS, Base, Open, open_cases, open_question


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
    tool: str = "",
) -> Spec:
    """A set that a published scorer judges, for `--rule official`, or for the rule of that tool."""
    return Spec(
        name=f"{benchmark}.{tool or 'authors'}",
        benchmark=benchmark,
        rule=tool or "official",
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

_KINDS = ("Factoid", "Conversational", "Hypothetical", "Fact Checking", "Multi Choice")
_CHARTS = (
    *QUESTIONS,
    open_question("Which years?", "[2010, 2011]", "[2010]|['2010', '2011']"),
    open_question("Which two?", "['Oslo', 'Bern']", "['Bern', 'Oslo']|Oslo"),
    open_question("Is it true?", "True", "False|true"),
    open_question("Which option?", "b", "c|B"),
    open_question("How far from zero?", "0", "0.0|1"),
)


def _chart_cells(question: Open, number: int) -> Mapping[str, Any]:
    kind, gold = _KINDS[number % 5], question.golds[0]
    earlier = kind == "Conversational"
    asked = ["What came before?", question.question] if earlier else [question.question]
    return {
        "question": str(asked),
        "answer": str(["this", gold] if earlier else [gold]),
        "question_type": kind,
        "year": str(["NO", ("NO", "YES")[number % 2]] if earlier else [("NO", "YES", "NO")[number % 3]]),
    }


def _pair_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "Text": question.question,
        "Output1": question.golds[0],
        "Output2": question.wrong[0],
        "Better": ("Output1", "Output2")[number % 2],
        "Category": ("general", "safety")[number % 2],
    }


_TAGS: Mapping[str, Base] = {
    "tag": lambda a, b: "[[A]]",
    "other tag": lambda a, b: "[[B]]",
    "tag behind reasons": lambda a, b: f"{a} fits better than {b}. [[B]]",
    "both tags": lambda a, b: "Not [[B]] but [[A]]",
    "both tags, turned": lambda a, b: "Not [[A]] but [[B]]",
    "bold tag": lambda a, b: "**[[B]]**",
    "verdict": lambda a, b: "Final verdict: [[A]]",
    "tie": lambda a, b: "[[C]]",
    "one bracket": lambda a, b: "[A]",
    "small tag": lambda a, b: "[[a]]",
}
_JUDGMENTS: Mapping[str, Base] = {
    "judgment": lambda a, b: "Overall Judgment: Answer 1 is better.",
    "other judgment": lambda a, b: "Overall Judgment: Answer 2 is better.",
    "bold judgment": lambda a, b: f"{a}: so.\n\n**Overall Judgment:** Answer 2 is better.",
    "slightly": lambda a, b: "Overall Judgment: Answer 1 is slightly better.",
    "the better": lambda a, b: "Overall Judgment: Answer 2 is the better one.",
    "therefore": lambda a, b: f"{b} is wrong. Therefore, Answer 1 is better.",
    "small": lambda a, b: "overall judgment: answer 2 is better",
    "on lines": lambda a, b: "Overall Judgment:\n- Answer 1 is better.",
    "two": lambda a, b: "Overall Judgment: Answer 1 is better. Therefore Answer 2 is better.",
    "no lead-in": lambda a, b: "Answer 2 is better.",
    "much better": lambda a, b: "Overall Judgment: Answer 1 is much better.",
    "three": lambda a, b: "Overall Judgment: Answer 3 is better.",
}


def _ranked_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "id": f"{('mathverse_', 'RLHF-', 'wildvision-')[number % 3]}{number}",
        "query": question.question,
        "response": json.dumps([question.golds[0], question.wrong[0] + "!" * (number % 2)]),
        "human_ranking": ("[0, 1]", "[1, 0]")[number // 2 % 2],
    }


_DRAWERS = (
    open_question("How many pens are there?", "11.90", "11.9|12"),
    open_question("Which letter is last?", "Q", "O|Queen"),
    open_question("Which year?", "1987", "198|19872"),
    open_question("Which word?", "Anker", "anchor|the Anker"),
)
_BRACED: Mapping[str, Base] = {
    "braces": lambda a, b: f"{{{a}}}",
    "braces behind steps": lambda a, b: f"First {b}, then:\n\n{{{a}}}",
    "two braces": lambda a, b: f"{{{b}}} or rather {{{a}}}",
    "bold braces": lambda a, b: f"**{{{a}}}**",
    "blanks in braces": lambda a, b: f"{{ {a} }}",
    "name in braces": lambda a, b: f"{{final answer: {a}}}",
    "double braces": lambda a, b: f"{{{{{a}}}}}",
    "capitals in braces": lambda a, b: f"{{{a.upper()}}}",
    "box of braces": lambda a, b: f"$\\boxed{{{a}}}$",
    "braces on two lines": lambda a, b: f"{{{a}\n}}",
    "unit in braces": lambda a, b: f"{{{a} pens}}",
    "empty braces": lambda a, b: f"{{}} {a}",
}


def _drawer_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {"question": question.question, "answers": question.golds[0]}


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
    texts_set(
        "chartqapro",
        "chartqapro",
        by.CHARTQAPRO,
        "evaluate_predictions.py, evaluate_predictions_chartqapro",
        open_cases(_chart_cells, _CHARTS),
        {"relaxed_accuracy": "Overall", "question_type/Factoid": "Factoid"},
    ),
    texts_set(
        "zerobench",
        "zerobench",
        by.INSPECT_ZEROBENCH,
        "inspect_evals/zerobench/scorer.py, zerobench_scorer",
        led(open_cases(_drawer_cells, _DRAWERS, bases={**BASES, **_BRACED}), "Let me see.\n{@}"),
        {"exact_match": "mean"},
    ),
    texts_set(
        "zerobench",
        "zerobench-vlmevalkit",
        by.VLMEVALKIT_TEXTS,
        "vlmeval/dataset/image_vqa.py, ZEROBench.evaluate",
        led(open_cases(_drawer_cells, _DRAWERS, bases={**BASES, **_BRACED}), "Let me see.\n{@}"),
        {"exact_match": "accuracy"},
        tool="vlmevalkit",
    ),
    texts_set(
        "siuo-mcq",
        "siuo",
        by.SIUO,
        "eval/mcqa-eval.py, parse_multi_choice_response",
        led(choice_cases(table_row(category=("self-harm", "privacy")), pools.KNOWLEDGE, turns=4), "So it is:\n(@)"),
        {"accuracy": "mean"},
    ),
    texts_set(
        "siuo-mcq",
        "siuo-vlmevalkit",
        by.VLMEVALKIT_TEXTS,
        "vlmeval/dataset/siuo_mcq.py, _extract_option",
        led(choice_cases(table_row(category=("self-harm", "privacy")), pools.KNOWLEDGE, turns=4), "So it is:\n(@)"),
        {"accuracy": "mean"},
        tool="vlmevalkit",
    ),
    texts_set(
        "multimodal-rewardbench",
        "multimodal-rewardbench",
        by.REWARDBENCH,
        "scripts/2_get_accuracy.py, extract_judgment",
        led(open_cases(_pair_cells, bases={**_TAGS, **BASES}), "@ So the verdict is [[A]]."),
        {"accuracy": "mean"},
    ),
    texts_set(
        "vl-rewardbench",
        "vl-rewardbench",
        by.VL_REWARDBENCH,
        "cal.py, distribution",
        led(open_cases(_ranked_cells, bases={**_JUDGMENTS, **BASES}), "@\n\nOverall Judgment: Answer 1 is better."),
        {"accuracy": "mean"},
    ),
    authors(
        "vqav2",
        "vqa",
        VQA,
        "PythonEvaluationTools/vqaEvaluation/vqaEval.py, VQAEval.evaluate",
        cells_of(ten, "answers", answer_type=("other", "number")),
        metrics={"vqa_accuracy": "mean"},
        questions=QUESTIONS,
        column="answers",
    ),
)
