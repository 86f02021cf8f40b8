"""Benchmarks whose judges give two scores or marks, or answer from what the model wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.differential.specs.judged_points import Words, judged_spec
from tests.differential.styles_open import Open

_WHY = "\nAssistant 1 is shorter, Assistant 2 names 3 things more."
_LLAVA_ALIKE: Words = {
    "pair": lambda n: f"{n} 8",
    "pair, explained": lambda n: f"7 {n}{_WHY}",
    "by a comma": lambda n: f"{n},9",
    "by a comma, explained": lambda n: f"8,{n}\n{_WHY}",
    "halves": lambda n: f"{n}.5 8.5",
    "one half": lambda n: f"9 {n}.5{_WHY}",
    "top": lambda n: f"10 {n}",
    "both top": lambda n: "10 10",
    "nothing": lambda n: f"{n} 0",
    "with points": lambda n: f"{n}.0 {n}.0",
    "blank line behind": lambda n: f"8 {n}\n\nBoth are short.",
    "Chinese behind": lambda n: f"{n} 6\n两个答案都很短。",
}
_LLAVA_UNLIKE: Words = {
    "comma and blank": lambda n: f"{n + 1}, 9{_WHY}",
    "two blanks": lambda n: f"{n + 1}  9",
    "blank behind": lambda n: f"{n + 1} 9 {_WHY}",
    "blank before": lambda n: f" {n + 1} 9",
    "slash": lambda n: f"{n + 1}/9",
    "semicolon": lambda n: f"{n + 1}; 9",
    "and": lambda n: f"{n + 1} and 9",
    "tab": lambda n: f"{n + 1}\t9",
    "line break": lambda n: f"{n + 1}\n9",
    "bold": lambda n: f"**{n + 1} 9**",
    "quoted": lambda n: f'"{n + 1} 9"',
    "brackets": lambda n: f"[{n + 1}, 9]",
    "double brackets": lambda n: f"[[{n + 1}]] [[9]]",
    "parentheses": lambda n: f"({n + 1}, 9)",
    "labelled": lambda n: f"Scores: {n + 1} 9",
    "named": lambda n: f"Assistant 1: {n + 1}, Assistant 2: 9",
    "named lines": lambda n: f"Assistant 1: {n + 1}\nAssistant 2: 9",
    "out of ten": lambda n: f"{n + 1}/10 9/10",
    "JSON": lambda n: json.dumps({"assistant_1": n + 1, "assistant_2": 9}),
    "code": lambda n: f"`{n + 1} 9`",
    "fence": lambda n: f"```\n{n + 1} 9\n```",
    "line before": lambda n: f"Here are my scores.\n{n + 1} 9",
    "blank line before": lambda n: f"\n{n + 1} 9",
    "thinking": lambda n: f"<think>8 8</think>{n + 1} 9",
    "one number": lambda n: str(n + 1),
    "three numbers": lambda n: f"{n + 1} 9 8",
    "above the top": lambda n: f"{n + 1} 11",
    "below zero": lambda n: f"{n + 1} -1",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "words": lambda n: "eight nine",
    "explained on the line": lambda n: f"{n + 1} 9 since both are short",
    "full stop behind": lambda n: f"{n + 1} 9.",
}


def _llava_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "gpt4_ans": question.golds[0],
        "caption": "A street in the morning.",
        "category": ("conv", "detail", "complex")[number % 3],
    }


_MARKS = (("score_accuracy", "score_relevance"), ("score_completeness", "score_reliability"))
"""Of an even number the marks of a sub-scene, of an odd one those of a summary; so are the rows."""


def _mlvu(n: int, write: Any = lambda mark: mark) -> dict[str, Any]:
    first, second = 1 + n % 5, 1 + n * 3 % 5
    one, other = _MARKS[n % 2]
    return {one: write(first), other: write(second), "total_score": write(first + second)}


def _mlvu_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "answer": question.golds[0],
        "task_type": ("sub_scene", "summary")[number % 2],
        "scoring_points": "" if number % 2 else str(list(question.golds)),
        "video": f"{number % 80}.mp4",
        "prefix": "./MLVU/video",
    }


_MLVU_ALIKE: Words = {
    "Python": lambda n: str(_mlvu(n)),
    "JSON": lambda n: json.dumps(_mlvu(n)),
    "JSON over lines": lambda n: json.dumps(_mlvu(n), indent=4),
    "explained before": lambda n: f"Accuracy: it names one of 2 things.\n\n{_mlvu(n)}",
    "explained behind": lambda n: f"{_mlvu(n)}\nIt names one of 2 things.",
    "fenced": lambda n: f"```json\n{json.dumps(_mlvu(n), indent=2)}\n```",
    "fenced Python": lambda n: f"```python\n{_mlvu(n)}\n```",
    "scores said before": lambda n: f"**Accuracy score: {n}**\n**Relevance: 5**\n{_mlvu(n)}",
    "with points": lambda n: str(_mlvu(n, float)),
    "Chinese before": lambda n: f"评分：{_mlvu(n)}",
    "blank before the comma": lambda n: str(_mlvu(n)).replace(",", " ,"),
    "another order": lambda n: str({"total_score": 8, _MARKS[n % 2][1]: 1 + n % 5, _MARKS[n % 2][0]: 3, "end": 1}),
}
_MLVU_UNLIKE: Words = {
    "no total": lambda n: str({k: v for k, v in _mlvu(n).items() if k != "total_score"}),
    "halves": lambda n: str(_mlvu(n, lambda mark: max(1, mark - 0.5))),
    "without score_": lambda n: str(_mlvu(n)).replace("score_", ""),
    "capitals": lambda n: str(_mlvu(n)).replace("score", "Score"),
    "two numbers": lambda n: f"{1 + n % 5} 4",
    "two numbers by a comma": lambda n: f"{1 + n % 5}, 4",
    "one mark": lambda n: str({_MARKS[n % 2][0]: 4, "total_score": 4}),
    "total alone": lambda n: str({"total_score": 7}),
    "nothing": lambda n: str(_mlvu(n, lambda mark: 0)),
    "above the top": lambda n: str(_mlvu(n, lambda mark: mark + 5)),
    "prose": lambda n: "It names two of the three things, so 3 and 4.",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "empty object": lambda n: "{}",
    "two objects": lambda n: f"{_mlvu(n)}\nor rather {_mlvu(n + 4)}",
    "thinking": lambda n: f"<think>{_mlvu(n + 4)}</think>{_mlvu(n)}",
}

_OPTIONS = ("rising", "falling", "turning left", "standing still")


def _letter(n: int) -> str:
    return "ABCD"[n % 4]


def _option(n: int, dot: str = ".") -> str:
    return f"{_letter(n)}{dot} {_OPTIONS[n % 4]}"


def _caption_cells(question: Open, number: int) -> Mapping[str, Any]:
    listed = "".join(f"\n{_option(place)}" for place in range(4))
    return {
        "question": question.question,
        "answer": question.golds[0],
        "mc_question": f"What is the ball doing? (video {number}){listed}",
        "mc_answer": _option(number * 3 % 7),
        "dim": ("action", "speed", "order")[number % 3],
        "task_type": "captioning",
        "video": f"video {number % 80}",
    }


_CAPTION_ALIKE: Words = {
    "reasoned": lambda n: f"Reasoning: It is said in the text.\nAnswer: {_option(n)}",
    "reasoned, blank line": lambda n: f"Reasoning: It goes up.\n\nAnswer: {_option(n)}",
    "answer alone": lambda n: f"Answer: {_option(n)}",
    "bare": lambda n: _option(n),
    "answer first": lambda n: f"Answer: {_option(n)}\nReasoning: It is said in the text.",
    "capitals of the text": lambda n: f"Answer: {_letter(n)}. {_OPTIONS[n % 4].upper()}",
    "full stop behind": lambda n: f"Reasoning: Seen.\nAnswer: {_option(n)}.",
    "none of the choices": lambda n: "Reasoning: Nothing.\nAnswer: None of the choices are correct.",
    "none": lambda n: "Reasoning: It is not said.\nAnswer: None of the options",
    "blanks": lambda n: f"  Reasoning:  It is.  \n  Answer:   {_option(n)}  ",
    "Chinese reasons": lambda n: f"Reasoning: 球在上升。\nAnswer: {_option(n)}",
    "long reasons": lambda n: (
        f"Reasoning: The description says that the ball is {_OPTIONS[n % 4]}, although another "
        f"part of it may be read as {_OPTIONS[(n + 1) % 4]}.\nAnswer: {_option(n)}"
    ),
}
_CAPTION_UNLIKE: Words = {
    "letter and dot behind Answer": lambda n: f"Reasoning: So it is.\nAnswer: {_letter(n)}. ",
    "letter": lambda n: _letter(n),
    "letter behind Answer": lambda n: f"Reasoning: So.\nAnswer: {_letter(n)}",
    "letter in parentheses": lambda n: f"Answer: ({_letter(n)})",
    "parenthesis": lambda n: f"Answer: {_option(n, ')')}",
    "colon": lambda n: f"Answer: {_option(n, ':')}",
    "bold label": lambda n: f"**Reasoning:** So.\n**Answer:** {_option(n)}",
    "bold answer": lambda n: f"Answer: **{_option(n)}**",
    "quoted": lambda n: f'Answer: "{_option(n)}"',
    "text alone": lambda n: f"Answer: {_OPTIONS[n % 4]}",
    "two options": lambda n: f"Answer: {_option(n)}, {_option(n + 1)}",
    "or": lambda n: f"Answer: {_option(n)} or {_option(n + 1)}",
    "sentence": lambda n: f"The answer is {_option(n)}",
    "Answer sentence": lambda n: f"Reasoning: So.\nThe Answer is {_option(n)}",
    "one line": lambda n: f"Reasoning: So. Answer: {_option(n)}",
    "next line": lambda n: f"Reasoning: So.\nAnswer:\n{_option(n)}",
    "small letters": lambda n: f"reasoning: so.\nanswer: {_option(n)}",
    "small option": lambda n: f"Answer: {_option(n).lower()}",
    "JSON": lambda n: json.dumps({"Answer": _option(n)}),
    "thinking": lambda n: f"<think>Answer: {_option(n + 1)}</think>\nAnswer: {_option(n)}",
    "two answers": lambda n: f"Answer: {_option(n + 1)}\nAnswer: {_option(n)}",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "cannot tell": lambda n: "Reasoning: Not said.\nAnswer: Cannot be determined",
    "letter E": lambda n: "Answer: E. something else",
    "Correct": lambda n: "Correct",
    "one": lambda n: "1",
    "no blank": lambda n: f"Answer:{_option(n)}",
    "Option": lambda n: f"Answer: Option {_letter(n)}",
    "nothing behind": lambda n: "Reasoning: So.\nAnswer:",
    "boxed": lambda n: f"Answer: \\boxed{{{_letter(n)}}}",
}

SPECS = (
    judged_spec(
        "tempcompass@task=captioning",
        "TempCompass_Captioning",
        "vlmeval/dataset/utils/tempcompass.py, parse_llm_output, and get_dimension_rating",
        _caption_cells,
        (_CAPTION_ALIKE, _CAPTION_UNLIKE),
        metrics={"accuracy": "all", "dim/action": "action. captioning", "dim/speed": "speed. captioning"},
        marks=["mc_question"],
        shares=100,
        counted=True,
        column="score",
        low=0,
    ),
    judged_spec(
        "llava-bench",
        "LLaVABench",
        "vlmeval/dataset/utils/llavabench.py, parse_score and LLaVABench_score",
        _llava_cells,
        (_LLAVA_ALIKE, _LLAVA_UNLIKE),
        metrics={
            "relative": "overall/Relative Score (main)",
            "model_score": "overall/VLM Score",
            "reference_score": "overall/GPT4 Score",
            "category/conv": "conv/Relative Score (main)",
            "category/detail": "detail/Relative Score (main)",
            "category/complex": "complex/Relative Score (main)",
        },
        close=0.05,
        column="score",
        scale=10,
        table=["split", "Relative Score (main)", "VLM Score", "GPT4 Score"],
    ),
    judged_spec(
        "mlvu@part=open",
        "MLVU_OpenEnded",
        "vlmeval/dataset/utils/mlvu.py, MLVU_OpenEnded_extract, and get_dimension_rating",
        _mlvu_cells,
        (_MLVU_ALIKE, _MLVU_UNLIKE),
        metrics={"g_avg": "all", "task_type/summary": "summary", "task_type/sub_scene": "sub_scene"},
        marks=["question", "answer"],
        shares=1,
        counted=True,
        column="score",
        scale=10,
    ),
)
