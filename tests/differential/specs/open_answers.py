"""Benchmarks of open questions, scored by VLMEvalKit without a judge model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Oracle, Spec
from tests.differential.styles_open import BASES, QUESTIONS, Base, Cells, Open, open_cases, open_question

NO_HEADLINE = ("", [], 1)
VLMEVALKIT_OPEN = replace(VLMEVALKIT, script="vlmevalkit_open")


def listed(golds: tuple[str, ...]) -> str:
    """Gold answers as the data files hold them."""
    return str(list(golds))


def cells_of(answer: Callable[[Open], str], column: str = "answer", **columns: Any) -> Cells:
    """The row of a question; a column with several values rotates through them."""

    def cells(question: Open, number: int) -> Mapping[str, Any]:
        return {
            "question": question.question,
            column: answer(question),
            **{
                name: value[number % len(value)] if isinstance(value, tuple) else value
                for name, value in columns.items()
            },
        }

    return cells


def groups(
    benchmark: str,
    dataset: str,
    cells: Cells,
    path: str,
    *,
    metrics: Mapping[str, str],
    label: str = "split",
    scale: float = 1,
    factor: float = 0.01,
    questions: tuple[Open, ...] = QUESTIONS,
) -> Spec:
    """A set for which VLMEvalKit gives a number for every group, and every row is one."""
    arguments = {"how": "groups", "dataset": dataset, "label": label, "scale": scale, "factor": factor}
    return _spec(benchmark, cells, path, arguments, metrics, questions)


def alone(
    benchmark: str,
    dataset: str,
    cells: Cells,
    path: str,
    *,
    metrics: Mapping[str, str],
    metric: str,
    scale: float = 1,
    factor: float = 1,
    fillers: tuple[Mapping[str, Any], ...],
    questions: tuple[Open, ...] = QUESTIONS,
    bases: Mapping[str, Base] = BASES,
    leads: tuple[Any, ...] = (),
) -> Spec:
    """A set whose rows VLMEvalKit evaluates one by one, each beside rows that earn nothing."""
    arguments = {
        "how": "alone",
        "dataset": dataset,
        "metric": metric,
        "factor": factor,
        "scale": scale,
        "fillers": [
            {"id": str(90000 + n), "reply": "qqqq", "verdict": "", "cells": {"question": "q", **one}}
            for n, one in enumerate(fillers)
        ],
        **({"leads": leads} if leads else {}),
    }
    return _spec(benchmark, cells, path, arguments, metrics, questions, bases)


def _spec(
    benchmark: str,
    cells: Cells,
    path: str,
    arguments: Mapping[str, Any],
    metrics: Mapping[str, str],
    questions: tuple[Open, ...],
    bases: Mapping[str, Base] = BASES,
) -> Spec:
    return Spec(
        name=f"{benchmark.replace(':', '@')}.vlmevalkit",
        benchmark=benchmark,
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path=f"vlmeval/dataset/{path}",
        cases=open_cases(cells, questions, bases=bases),
        arguments=arguments,
        metrics=metrics,
    )


def golds(question: Open) -> str:
    return listed(question.golds)


def ten(question: Open) -> str:
    return listed(question.ten)


def one(question: Open) -> str:
    return question.golds[0]


def authors(
    benchmark: str,
    scorer: str,
    oracle: Oracle,
    path: str,
    cells: Cells,
    *,
    metrics: Mapping[str, str],
    headline: str = "",
    questions: tuple[Open, ...] = QUESTIONS,
    bases: Mapping[str, Base] = BASES,
    **arguments: Any,
) -> Spec:
    """A set judged by a published script, and scored by the rule `official`."""
    return Spec(
        name=f"{benchmark.replace(':', '@')}.authors",
        benchmark=benchmark,
        rule="official",
        oracle=oracle,
        path=path,
        cases=open_cases(cells, questions, bases=bases),
        arguments={"scorer": scorer, **arguments},
        metrics=metrics,
        headline=headline,
    )


def repository(name: str, commit: str, licence: str, checkout: str = "") -> Oracle:
    return Oracle("authors_open", name, commit, licence, checkout or name.split("/")[1])


VQA = repository("GT-Vision-Lab/VQA", "a013f0043c1e2cdc995922dfe257f7149aa9af06", "BSD-2-Clause")
LLAVA = repository("haotian-liu/LLaVA", "c121f0432da27facab705978f83c4ada465e46fd", "Apache-2.0")
PIX2STRUCT = repository("google-research/pix2struct", "945f27e936c9464d9d7c133f1bd1f4f383be9e99", "Apache-2.0")
RRC = repository("QwenLM/Qwen-VL", "aa00ed04091eea5fcdd32985e7915f1c53e7d599", "Tongyi Qianwen", "Qwen-VL")
"""Which holds the competition's script as it is downloaded there."""
MTVQA = repository("bytedance/MTVQA", "efc6a78a701516a76649430e1100c98e2904a7d8", "CC BY-NC 4.0")
OCRBENCH = repository("Yuliang-Liu/MultimodalOCR", "794c36d6423cf1d5764081128bcaeb46b240def6", "MIT")
SLIDEVQA = repository("nttmdlab-nlp/SlideVQA", "e1f0bd991a46b36024af5a18b3429e923f9610c4", "NTT's evaluation licence")

_VQA = "image_vqa.py, ImageVQADataset.evaluate"
_VQA_FILE = "PythonEvaluationTools/vqaEvaluation/vqaEval.py, VQAEval.evaluate"
_COUNTS = (
    open_question("How many dogs are there?", "2|two", "3|20"),
    open_question("How many people?", "12|twelve", "21|eleven"),
    open_question("How many hats?", "0|zero", "1|none"),
    open_question("How many chairs?", "15|fifteen", "5|115"),
)
_AGREED = tuple(
    replace(question, people=question.golds[:1] * 10) if number % 4 == 0 else question
    for number, question in enumerate(QUESTIONS)
)
"""Of every fourth question all ten people say the same."""


def _ocrbench_json(question: Open, number: int) -> Mapping[str, Any]:
    """A row of the authors' JSON."""
    kinds = (
        ("textVQA", "Scene Text-centric VQA"),
        ("HME100k", "Handwritten Mathematical Expression Recognition"),
        ("docVQA", "Doc-oriented VQA"),
    )
    name, kind = kinds[number % 3]
    return {"question": question.question, "answers": listed(question.golds), "dataset_name": name, "type": kind}


SPECS = (
    groups("textvqa", "TextVQA_VAL", cells_of(ten), _VQA, metrics={"vqa_accuracy": "Overall"}),
    groups("docvqa", "DocVQA_VAL", cells_of(golds), _VQA, metrics={"anls": "Overall"}),
    groups("infovqa", "InfoVQA_VAL", cells_of(golds), _VQA, metrics={"anls": "Overall"}),
    groups("ocrvqa", "OCRVQA_TESTCORE", cells_of(golds), _VQA, metrics={"exact_match": "Overall"}),
    groups("gqa", "GQA_TestDev_Balanced", cells_of(one), _VQA, metrics={"exact_match": "Overall"}),
    groups(
        "chartqa",
        "ChartQA_TEST",
        cells_of(golds, split=("human", "augment")),
        _VQA,
        metrics={"relaxed_accuracy": "Overall", "split/human": "human", "split/augment": "augment"},
    ),
    groups(
        "mtvqa",
        "MTVQA_TEST",
        cells_of(one, category=("DE", "FR", "RU"), split="test"),
        "image_vqa.py, MTVQADataset.evaluate",
        label="category",
        metrics={"accuracy": "Average", "category/DE": "DE"},
    ),
    alone(
        "ocrbench",
        "OCRBench",
        cells_of(
            golds,
            category=("Scene Text-centric VQA", "Handwritten Mathematical Expression Recognition", "Doc-oriented VQA"),
        ),
        "image_vqa.py, OCRBench.evaluate",
        metric="Final Score",
        # Its score is the number of right answers of all 1,000 questions: here there are fewer.
        leads=NO_HEADLINE,
        metrics={"final_score": "Final Score"},
        fillers=({"answer": "['zzzz']", "category": "Key Information Extraction"},),
    ),
    alone(
        "tallyqa",
        "TallyQA",
        cells_of(one, issimple=("True", "False")),
        "image_vqa.py, TallyQA.evaluate",
        metric="TallyQA",
        metrics={"accuracy": "TallyQA"},
        factor=2,
        scale=100,
        fillers=({"answer": "19"},),
        questions=_COUNTS,
    ),
    authors(
        "textvqa",
        "textvqa",
        LLAVA,
        "llava/eval/m4c_evaluator.py, TextVQAAccuracyEvaluator",
        cells_of(ten),
        metrics={"vqa_accuracy": "mean"},
        questions=_AGREED,
    ),
    authors(
        "ok-vqa",
        "vqa",
        VQA,
        _VQA_FILE,
        cells_of(ten, "answers"),
        metrics={"vqa_accuracy": "mean"},
        questions=_AGREED,
        column="answers",
    ),
    authors(
        "vizwiz",
        "vqa",
        VQA,
        _VQA_FILE,
        cells_of(ten, "answers", category=("other", "number")),
        metrics={"vqa_accuracy": "mean"},
        questions=_AGREED,
        column="answers",
    ),
    authors(
        "chartqa",
        "relaxed",
        PIX2STRUCT,
        "pix2struct/metrics.py, relaxed_correctness",
        cells_of(golds, split=("human", "augment")),
        metrics={"relaxed_accuracy": "mean"},
    ),
    authors(
        "docvqa",
        "anls",
        RRC,
        "eval_mm/infographicsvqa_eval.py, evaluate_method",
        cells_of(golds),
        metrics={"anls": "mean"},
    ),
    authors(
        "infovqa",
        "anls",
        RRC,
        "eval_mm/infographicsvqa_eval.py, evaluate_method",
        cells_of(golds),
        metrics={"anls": "mean"},
    ),
    authors(
        "mtvqa",
        "mtvqa",
        MTVQA,
        "scripts/evaluate.py, evaluate_exact_match_accuracy",
        cells_of(golds, category=("DE", "FR", "RU")),
        metrics={"category/DE": "DE", "mean_of_languages": "Average"},
        headline="Average",
    ),
    authors("ocrbench", "ocrbench", OCRBENCH, "OCRBench/example.py", _ocrbench_json, metrics={"accuracy": "mean"}),
    authors(
        "slidevqa",
        "slidevqa",
        SLIDEVQA,
        "evaluate.py, evaluate_f1_em_qa",
        cells_of(one),
        metrics={"f1": "mean", "exact_match": "EM"},
    ),
)
