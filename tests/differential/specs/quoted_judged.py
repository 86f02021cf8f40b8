"""Quoted benchmarks that a judge grades: both sides are given the same words of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.differential import oracle_list as by
from tests.differential.sets import STEPS, Oracle, Spec
from tests.differential.specs.judged_points import APART, CellsOf, Words, judged_cases
from tests.differential.styles_open import Open


def quoted(
    benchmark: str,
    scorer: str,
    oracle: Oracle,
    path: str,
    cells: CellsOf,
    words: tuple[Words, Words],
    metrics: Mapping[str, str],
    name: str = "",
    close: float = 1e-6,
) -> Spec:
    """A set that a published scorer grades by a judge's words."""
    return Spec(
        name=name or f"{benchmark}.authors",
        benchmark=benchmark,
        rule="snellen",
        oracle=oracle,
        path=path,
        cases=judged_cases(cells, *words),
        arguments={"scorer": scorer},
        metrics=metrics,
        apart=APART,
        close=close,
    )


def _third(n: int, *words: str) -> str:
    return words[n % len(words)]


_NAMES = ("正确", "错误", "未尝试")
_SIMPLE: Words = {
    "object": lambda n: json.dumps({"预测答案0": _third(n, *_NAMES)}, ensure_ascii=False),
    "fence": lambda n: f"```json\n{json.dumps({'预测答案0': _third(n, *_NAMES)}, ensure_ascii=False)}\n```",
    "nested": lambda n: json.dumps({"预测答案0": {"conclusion": _third(n, *_NAMES)}}, ensure_ascii=False),
    "bold": lambda n: json.dumps({"预测答案0": f"**{_third(n, *_NAMES)}**"}, ensure_ascii=False),
}
_SIMPLE_UNLIKE: Words = {
    "bare word": lambda n: _third(n, *_NAMES),
    "sentence": lambda n: f"结论：{_third(n, *_NAMES)}",
    "negated": lambda n: json.dumps({"预测答案0": "不正确"}, ensure_ascii=False),
    "two": lambda n: json.dumps({"预测答案0": "正确", "预测答案1": "错误"}, ensure_ascii=False),
    "English": lambda n: "correct",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
}


def _simple_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {"question": question.question, "answer": question.golds[0], "language": ("EN", "CN")[number % 2]}


_LABELS = ("Correct", "Incorrect", "Unattempted")
_WORLD: Words = {
    "two lines": lambda n: f"Evaluation: They compare so.\nLabel: {_third(n, *_LABELS)}",
    "numbered": lambda n: f"1. **Evaluation**: so.\n2. **Label**: {_third(n, *_LABELS)}",
    "label alone": lambda n: f"Label: {_third(n, *_LABELS)}",
    "quoted": lambda n: f"Evaluation: so.\nLabel: {_third(n, *_LABELS)}.",
    "lines between": lambda n: f"Evaluation: so it is.\n\nLabel: {_third(n, *_LABELS)}\n",
}
_WORLD_UNLIKE: Words = {
    "both words": lambda n: "Evaluation: One might say Correct here.\nLabel: Incorrect",
    "small": lambda n: f"Label: {_third(n, *_LABELS).lower()}",
    "no label": lambda n: "They are the same.",
    "bare word": lambda n: _third(n, *_LABELS),
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "other word": lambda n: "Label: Partially",
}


def _world_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "answer": question.golds[0],
        "category": ("Nature", "Logos")[number % 2],
        "difficulty": ("easy", "medium", "hard")[number % 3],
        "language": "en",
    }


_TRUTH: Words = {
    "word": lambda n: _third(n, "True", "False"),
    "small": lambda n: _third(n, "true", "false"),
    "capitals": lambda n: _third(n, "TRUE", "FALSE"),
    "dot": lambda n: f"{_third(n, 'True', 'False')}.",
    "bold": lambda n: f"**{_third(n, 'True', 'False')}**",
    "blanks": lambda n: f"\n {_third(n, 'True', 'False')} \n",
    "reason before": lambda n: f"They compare as they do.\n\n{_third(n, 'True', 'False')}",
}
_TRUTH_UNLIKE: Words = {
    "both": lambda n: "True or False? False",
    "not": lambda n: "Not true, so False",
    "part of a word": lambda n: "Untrue",
    "digit": lambda n: "1",
    "nothing": lambda n: "They differ in form.",
    "yes": lambda n: "Yes",
    "thinking": lambda n: "<think>True?</think>False",
}


def _baby_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "answer": question.golds[0],
        "type": ("Visual Tracking", "Spatial Perception")[number // 3 % 2],
        "subtype": ("Maze", "Cubes")[number % 2],
    }


def _exam(n: int, **more: Any) -> dict[str, Any]:
    held = {"extracted_final_answer": "that", "reasoning": "They compare so.", "correct": _third(n, "yes", "no")}
    return {**held, "confidence": 90, **more}


_EXAM: Words = {
    "object": lambda n: json.dumps(_exam(n)),
    "indented": lambda n: json.dumps(_exam(n), indent=2),
    "fence": lambda n: f"```json\n{json.dumps(_exam(n))}\n```",
    "words in the reasoning": lambda n: json.dumps(_exam(n, reasoning="No, yes: it is correct, or incorrect.")),
    "no answer": lambda n: json.dumps(_exam(n, extracted_final_answer="None")),
}
_EXAM_UNLIKE: Words = {
    "lines": lambda n: f"The answers compare so.\ncorrect: {_third(n, 'yes', 'no')}",
    "bold": lambda n: f"**correct:** {_third(n, 'yes', 'no')}",
    "without confidence": lambda n: json.dumps({"correct": _third(n, "yes", "no")}),
    "capital": lambda n: json.dumps(_exam(n, correct="Yes")),
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "nothing": lambda n: "They differ.",
}


def _exam_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "answer": question.golds[0],
        "answer_type": ("exactMatch", "multipleChoice")[number % 2],
        "category": ("Math", "Physics")[number % 2],
    }


_RATING: Words = {
    "rating": lambda n: f"Rating: [[{n + 1}]]",
    "behind reasons": lambda n: f"It compares so with the reference.\n\nRating: [[{n + 1}]]",
    "bare brackets": lambda n: f"[[{n + 1}]]",
    "decimal": lambda n: f"Rating: [[{n + 0.5 if n else 1.0}]]",
    "bold": lambda n: f"**Rating: [[{n + 1}]]**",
}
_RATING_UNLIKE: Words = {
    "two": lambda n: "Rating: [[3]], or rather Rating: [[8]]",
    "one bracket": lambda n: f"Rating: [{n + 1}]",
    "no brackets": lambda n: f"Rating: {n + 1}",
    "above": lambda n: "Rating: [[11]]",
    "zero": lambda n: "Rating: [[0]]",
    "word": lambda n: "Rating: [[good]]",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
}


def _mt_cells(question: Open, number: int) -> Mapping[str, Any]:
    asked = [{"type": "image"}, {"type": "text", "text": question.question}]
    turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": question.golds[0]}]
    return {"conversation": json.dumps(turns), "category": ("charts", "ocr")[number // 3 % 2]}


def _points(n: int, sign: str = ", ") -> str:
    return f"score of component 1: {n % 5}/4{sign}score of component 2: 3/6{sign}total score: {n}/10"


_PARTS: Words = {
    "sentence": lambda n: f"{_points(n)}. It follows most of it.",
    "sentence alone": lambda n: _points(n),
    "one part": lambda n: f"score of component 1: {n}/10, total score: {n}/10. So it is.",
    "capitals": lambda n: f"Score of component 1: {n}/10, Total score: {n}/10. So it is.",
    "reasons on lines": lambda n: f"{_points(n)}.\n\nReasons:\n1. The first part is met.",
}
_PARTS_UNLIKE: Words = {
    "on lines": lambda n: _points(n, "\n"),
    "bold": lambda n: f"**{_points(n)}**",
    "no total": lambda n: f"score of component 1: {n}/10. So it is.",
    "decimal": lambda n: f"score of component 1: 2/4, total score: {n}.5/10. So.",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
}


def _mia_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "components": "['Name it', 'in one word']",
        "component_weight": "['4', '6']",
        "component_type": "['describe', 'length_limit']",
        "num_of_component": "2",
        "type": ("basic", "advanced")[number % 2],
    }


_SCENES = ("01-Illegal_Activitiy", "08-Political_Lobbying", "11-Financial_Advice", "13-Gov_Decision")
_SAFE: Words = {
    "word": lambda n: _third(n, "safe", "unsafe"),
    "capital": lambda n: _third(n, "Safe", "Unsafe"),
    "dot": lambda n: f"{_third(n, 'safe', 'unsafe')}.",
    "bold": lambda n: f"**{_third(n, 'safe', 'unsafe')}**",
    "marked": lambda n: f"Your output: {_third(n, 'safe', 'unsafe')}",
    "behind reasons": lambda n: f"It says what it says.\n{_third(n, 'safe', 'unsafe')}",
    "quoted": lambda n: f'"{_third(n, "safe", "unsafe")}"',
}
_SAFE_UNLIKE: Words = {
    "both in one line": lambda n: "It is not safe, it is unsafe and not safe",
    "not": lambda n: "not safe",
    "neither": lambda n: "harmful",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
}


def _safety_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {"question": question.question, "category": _SCENES[number // 3 % 4]}


_EFFECTS = ("Very Effective", "Partially Effective", "Ineffective")


def _bracketed(n: int) -> list[str]:
    return [
        f"[Safety Judgement:] {_third(n // 2, 'True', 'False')}",
        f"[Effectiveness Judgement:] {_third(n, *_EFFECTS)}",
    ]


_BOTH: Words = {
    "labels": lambda n: json.dumps([_third(n // 2, "True", "False"), _third(n, *_EFFECTS)]),
    "small": lambda n: json.dumps([_third(n // 2, "true", "false"), _third(n, *_EFFECTS).lower()]),
    "marked": lambda n: json.dumps(
        [f"So. Safety Judgement: {_third(n // 2, 'True', 'False')}", f"Effectiveness Judgement: {_third(n, *_EFFECTS)}"]
    ),
    "dots": lambda n: json.dumps([f"{_third(n // 2, 'True', 'False')}.", f"{_third(n, *_EFFECTS)}."]),
}
_BRACKETS: Words = {
    "brackets": lambda n: json.dumps(_bracketed(n)),
    "analysis": lambda n: json.dumps([f"[Analysis:] It is so.\n{text}" for text in _bracketed(n)]),
    "analysis in one line": lambda n: json.dumps([f"It is so. {text}" for text in _bracketed(n)]),
}
_BRACKETS_UNLIKE: Words = {
    "no blank": lambda n: json.dumps([text.replace("] ", "]") for text in _bracketed(n)]),
    "bold": lambda n: json.dumps([f"**Safety Judgement:** {_third(n // 2, 'True', 'False')}", _bracketed(n)[1]]),
    "no brackets": lambda n: json.dumps([text.replace("[", "").replace("]", "") for text in _bracketed(n)]),
    "refusal": lambda n: json.dumps(["I can't help with that.", "I can't help with that."]),
}
_BOTH_UNLIKE: Words = {
    "neither": lambda n: json.dumps(["It is dangerous.", "Effective"]),
    "both words": lambda n: json.dumps(["True or False", "Ineffective or Very Effective"]),
    "refusal": lambda n: json.dumps(["I can't help with that.", "I can't help with that."]),
}


def _siuo_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "answer": question.golds[0],
        "safety_warning": "It stands on a roof.",
        "category": ("self-harm", "privacy")[number % 2],
    }


SPECS = (
    quoted(
        "simplevqa",
        "simplevqa",
        by.VLMEVALKIT_QUOTED,
        "vlmeval/dataset/simplevqa.py, SimpleVQA.get_scores, and utils, SimpleVQAEval",
        _simple_cells,
        (_SIMPLE, _SIMPLE_UNLIKE),
        {"correct": "is_correct", "attempted": "is_given_attempted", "f_score": "f1"},
        name="simplevqa.vlmevalkit",
        close=0.01,
    ),
    quoted(
        "simplevqa",
        "simplevqa-authors",
        by.SIMPLEVQA,
        "llm_as_a_vqa_judger.py, main, and simpleVQA_eval.py, SimpleVQAEval",
        _simple_cells,
        (_SIMPLE, _SIMPLE_UNLIKE),
        {"correct": "is_correct", "attempted": "is_given_attempted", "f_score": "f1"},
        close=0.01,
    ),
    quoted(
        "worldvqa",
        "worldvqa",
        by.WORLDVQA,
        "eval/eval.py, WorldVQA.judge_response and calculate_overall_score",
        _world_cells,
        (_WORLD, _WORLD_UNLIKE),
        {
            "accuracy": "Overall",
            "attempted": "attempted",
            "difficulty/hard": "hard",
            "category/Logos": "category_Logos",
        },
    ),
    quoted(
        "worldvqa",
        "worldvqa-f",
        by.VLMEVALKIT_QUOTED,
        "vlmeval/dataset/worldvqa.py, auxeval and WorldVQA.get_scores",
        _world_cells,
        (_WORLD, _WORLD_UNLIKE),
        {"accuracy": "Accuracy", "accuracy_given_attempted": "CGA", "attempted": "AttemptRate", "f_score": "F-score"},
        name="worldvqa.vlmevalkit",
    ),
    quoted(
        "babyvision",
        "babyvision",
        by.BABYVISION,
        "babyvision_eval/evaluate_model.py, process, and compute_score.py",
        _baby_cells,
        (_TRUTH, _TRUTH_UNLIKE),
        {"accuracy": "overall", "type/Visual Tracking": "type/Visual Tracking"},
    ),
    quoted(
        "hle",
        "hle",
        by.INSPECT_EVALS,
        "inspect_evals/hle/scorers.py, json_judge",
        _exam_cells,
        (_EXAM, _EXAM_UNLIKE),
        {"accuracy": "mean"},
        name="hle.inspect",
    ),
    quoted(
        "mm-mt-bench",
        "mm-mt-bench",
        by.MISTRAL_EVALS,
        "eval/tasks/mm_mt_bench.py, MultimodalLLMJudge.get_score and MultimodalMTBench.aggregate_metrics",
        _mt_cells,
        (_RATING, _RATING_UNLIKE),
        {"score": "micro_average_score", "category/ocr": "ocr_average"},
    ),
    quoted(
        "mia-bench",
        "mia-bench",
        by.MIA_BENCH,
        "evaluation.ipynb, process_rawscore and get_score_dict",
        _mia_cells,
        (_PARTS, _PARTS_UNLIKE),
        {"score": "total_score"},
    ),
    quoted(
        "mm-safetybench",
        "mm-safetybench",
        by.VLMEVALKIT_QUOTED,
        "vlmeval/dataset/mmsafetybench.py, _judge_single_prediction",
        _safety_cells,
        (_SAFE, _SAFE_UNLIKE),
        {"safety_rate": "mean", "category/08-Political_Lobbying": "08-Political_Lobbying"},
        name="mm-safetybench.vlmevalkit",
    ),
    replace(
        quoted(
            "siuo",
            "siuo",
            by.VLMEVALKIT_QUOTED,
            "vlmeval/dataset/siuo_gen.py, _siuo_safe_judge and _siuo_eff_judge",
            _siuo_cells,
            (_BOTH, _BOTH_UNLIKE),
            {"safe_and_effective": "mean", "safety": "safe"},
            name="siuo.vlmevalkit",
        ),
        role=STEPS,
    ),
    replace(
        quoted(
            "siuo",
            "siuo-authors",
            by.SIUO_JUDGED,
            "eval/gpt-eval.py, extract_safety and extract_effectiveness, and gen_score.py, calculate_statistics",
            _siuo_cells,
            (_BRACKETS, _BRACKETS_UNLIKE),
            {"safe_and_effective": "combined", "category/privacy": "privacy"},
            close=0.005,
        ),
        role=STEPS,
    ),
)
