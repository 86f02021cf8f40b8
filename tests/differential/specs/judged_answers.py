"""Benchmarks of `open_answers`, by VLMEvalKit's own code; the judge's words are given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import STEPS, Case, Spec
from tests.differential.specs.judged_points import APART, FIRST, VLMEVALKIT_JUDGED, CellsOf, Words, judged_spec
from tests.differential.styles_open import Open

from snellen.benchmarks.documents.charxiv import ANSWER_KINDS, TASKS_OF_QUESTIONS

_MOAT_ABILITIES = (["CNT"], ["OCR", "RLA"], ["3DTF", "GNDT", "GNDV"], ["CNT", "3DQNT"])
_MOAT_WORDS: Words = {
    "JSON": lambda n: json.dumps({"verdict": n % 2}),
    "no blanks": lambda n: f'{{"verdict":{n % 2}}}',
    "over lines": lambda n: json.dumps({"verdict": n % 2}, indent=2),
    "fenced": lambda n: f'```json\n{{"verdict": {n % 2}}}\n```',
    "with a point": lambda n: f'{{"verdict": {n % 2}.0}}',
    "a reason before": lambda n: json.dumps({"reason": "It is {0, 1}.", "verdict": n % 2}),
    "a reason behind": lambda n: json.dumps({"verdict": n % 2, "reason": "Score: 1"}),
    "blank lines": lambda n: f'\n\n{{"verdict": {n % 2}}}\n',
}


def _moat_cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "answer": question.golds[0],
        "capability": str(_MOAT_ABILITIES[number // 3 % len(_MOAT_ABILITIES)]),
    }


_RATINGS_SAID: Mapping[str, Callable[[str, str, str], str]] = {
    "as asked": lambda r, a, c: f"Total Score: {r}\nAesthetics Rating: {a}\nInstruction Consistency Rating: {c}",
    "for reality assessment": lambda r, a, c: (
        f"1. Yes\n2. No\nTotal Score for Reality Assessment: {r}\n"
        f"Aesthetics Rating: {a}\nInstruction Consistency Rating: {c}"
    ),
    "bold labels": lambda r, a, c: (
        f"**Total Score:** {r}\n**Aesthetics Rating:** {a}\n**Instruction Consistency Rating:** {c}"
    ),
    "bold lines": lambda r, a, c: (
        f"**Total Score: {r}**\n\n**Aesthetics Rating: {a}**\n\n**Instruction Consistency Rating: {c}**"
    ),
    "bold numbers": lambda r, a, c: (
        f"Total Score: **{r}**\nAesthetics Rating: **{a}**\nInstruction Consistency Rating: **{c}**"
    ),
    "fractions": lambda r, a, c: (
        f"Total Score: {r}/7\nAesthetics Rating: {a}/5\nInstruction Consistency Rating: {c} / 5"
    ),
    "list": lambda r, a, c: f"- Total Score: {r}\n- Aesthetics Rating: {a}\n- Instruction Consistency Rating: {c}",
    "one line": lambda r, a, c: f"Total Score: {r}; Aesthetics Rating: {a}; Instruction Consistency Rating: {c}",
    "small letters": lambda r, a, c: f"total score: {r}\naesthetics rating: {a}\ninstruction consistency rating: {c}",
    "is": lambda r, a, c: (
        f"Total Score: {r}\nThe Aesthetics Rating is {a} and the Instruction Consistency Rating is {c}."
    ),
    "headings": lambda r, a, c: (
        f"### Question 1\nTotal Score: {r}\n### Question 2\nAesthetics Rating:\n{a}\n"
        f"### Question 3\nInstruction Consistency Rating:\n{c}"
    ),
    "scales in brackets": lambda r, a, c: (
        f"Total Score: {r}\nAesthetics Rating (1-5): {a}\nInstruction Consistency Rating (1-5): {c}"
    ),
    "another order": lambda r, a, c: f"Instruction Consistency Rating: {c}\nAesthetics Rating: {a}\nTotal Score: {r}",
    "dots behind": lambda r, a, c: f"Total Score: {r}.\nAesthetics Rating: {a}.\nInstruction Consistency Rating: {c}.",
    "table": lambda r, a, c: (
        f"| Total Score | {r} |\n| Aesthetics Rating | {a} |\n| Instruction Consistency Rating | {c} |"
    ),
    "explained": lambda r, a, c: (
        f"The glass bends the light.\nTotal Score: {r}\nAesthetics Rating: {a}, the colours are "
        f"warm.\nInstruction Consistency Rating: {c}, two of 3 things are there."
    ),
    "one missing": lambda r, a, c: f"Total Score: {r}\nAesthetics Rating: {a}",
    "questions only": lambda r, a, c: "1. Yes\n2. No\n3. Cannot Determine",
    "bare numbers": lambda r, a, c: f"{r}, {a}, {c}",
    "Chinese colon": lambda r, a, c: f"Total Score：{r}\nAesthetics Rating：{a}\nInstruction Consistency Rating：{c}",
    "failure": lambda r, a, c: "Failed to obtain answer via API.",
    "JSON": lambda r, a, c: f'{{"Total Score": {r}, "Aesthetics Rating": {a}, "Instruction Consistency Rating": {c}}}',
    "two numbers": lambda r, a, c: (
        f"Total Score: {r}\nAesthetics Rating: {a} to 5\nInstruction Consistency Rating: {c}-5"
    ),
    "spaced colon": lambda r, a, c: f"Total Score : {r}\nAesthetics Rating : {a}\nInstruction Consistency Rating : {c}",
    "line break": lambda r, a, c: f"Total Score:\n{r}\nAesthetics Rating\n{a}\nInstruction Consistency Rating\n{c}",
}
_LEFT_OUT = (
    "one missing",
    "questions only",
    "dots behind",
    "bare numbers",
    "failure",
    "JSON",
    "spaced colon",
    "table",
    "Chinese colon",
)
_NUMBERS_SAID: Mapping[str, tuple[str, str, str]] = {
    "the gold ones": ("4", "3.5", "4.25"),
    "a tenth away": ("4.1", "3.4", "4.35"),
    "a quarter away": ("3.75", "3.75", "4"),
    "a half away": ("4.5", "3", "4.75"),
    "far away": ("1", "1", "1"),
    "a hundredth away": ("4.01", "3.49", "4.24"),
    "some nearer": ("4", "3.9", "2"),
    "many digits": ("4.123456", "3.456789", "4.2500001"),
    "two points": ("4.0.1", "3.5", "4.25"),
}


def _gobench() -> Iterator[Case]:
    """Every way to say the numbers with every set of numbers; those that VLMEvalKit leaves out
    for the first of three golds alone."""
    number = FIRST
    golds = (("4", "3.5", "4.25"), ("4.2", "3.6", "4.5"), ("3.9", "3", "4"))
    for gold in golds:
        r, a, c = gold
        cells = {
            "question": "Prompt: A glass on a table. 1. Is the refraction right?",
            "answer": f"Reality Assessment Score: {r}\nAesthetics Rating: {a}\nInstruction Consistency Rating: {c}",
        }
        for form, write in _RATINGS_SAID.items():
            for which, numbers in _NUMBERS_SAID.items():
                if gold != golds[0] and (form in _LEFT_OUT or which == "two points"):
                    continue
                yield Case(str(number), cells, f"{form}; {which}", write(*numbers))
                number += 1


_CHARXIV_ALIKE: Words = {
    "JSON": lambda n: json.dumps({"extracted_answer": "it", "score": n % 2}),
    "no blanks": lambda n: f'{{"extracted_answer":"it","score":{n % 2}}}',
    "over lines": lambda n: json.dumps({"extracted_answer": "it", "score": n % 2}, indent=2),
    "score first": lambda n: json.dumps({"score": n % 2, "extracted_answer": "it"}),
    "with a point": lambda n: f'{{"extracted_answer": "it", "score": {n % 2}.0}}',
    "number extracted": lambda n: json.dumps({"extracted_answer": n, "score": n % 2}),
    "a half": lambda n: json.dumps({"extracted_answer": "it", "score": n % 3 / 2}),
    "nothing extracted": lambda n: json.dumps({"extracted_answer": "", "score": n % 2}),
    "a reason": lambda n: json.dumps({"why": "{1}", "extracted_answer": "it", "score": n % 2}),
    "blank lines": lambda n: f'\n\n{{"extracted_answer": "it", "score": {n % 2}}}\n',
}
_CHARXIV_UNLIKE: Words = {
    "fenced": lambda n: f'```json\n{{"extracted_answer": "it", "score": {n % 2}}}\n```',
    "score alone": lambda n: json.dumps({"score": n % 2}),
    "Python": lambda n: str({"extracted_answer": "it", "score": n % 2}),
    "explained": lambda n: f'It is so: {{"extracted_answer": "it", "score": {n % 2}}}',
    "bare number": lambda n: str(n % 2),
    "labelled": lambda n: f"Score: {n % 2}",
    "words": lambda n: "The answer is right.",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "cut off": lambda n: '{"extracted_answer": "it", "sco',
    "list": lambda n: '["it", 1]',
    "above one": lambda n: json.dumps({"extracted_answer": "it", "score": 2}),
}


def _charxiv_cells(column: str, numbers: int) -> CellsOf:
    def cells(question: Open, number: int) -> Mapping[str, Any]:
        return {
            "question": question.question,
            "answer": question.golds[0],
            column: number // 3 % numbers + 1,
            "grading_query": f"Truth: {question.golds[0]}\nResponse: {{PREDICTION}}\nScore it.",
        }

    return cells


def _charxiv_spec(split: str, column: str, categories: Sequence[str], numbers: int) -> Spec:
    return judged_spec(
        f"charxiv@split={split}",
        f"CharXiv_{split}_val",
        "vlmeval/dataset/charxiv.py, CharXiv.evaluate and auxeval",
        _charxiv_cells(column, numbers),
        (_CHARXIV_ALIKE, _CHARXIV_UNLIKE),
        metrics={"accuracy": "Overall", **{f"category/{name}": name for name in categories}},
        marks=["grading_query"],
        column="score",
        judge="gpt-4o-mini",
        factor=100,
    )


_SIGNS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
_PREFERENCES: Words = {
    "as asked": lambda n: f"Assistant A Evaluation: well.\nFinal Verdict is: [[{_SIGNS[n % 5]}]]",
    "bold": lambda n: f"**Final Verdict is: [[{_SIGNS[n % 5]}]]**",
    "bold choice": lambda n: f"Final Verdict is: **[[{_SIGNS[n % 5]}]]**",
    "heading": lambda n: f"### 3. Final Verdict is: [[{_SIGNS[n % 5]}]]\nB is nicer.",
    "blanks": lambda n: f"Final Verdict is: [[ {' '.join(_SIGNS[n % 5].partition('B'))} ]]",
    "small letters": lambda n: f"final verdict is: [[{_SIGNS[n % 5].lower()}]]",
    "turned": lambda n: "Final Verdict is: [[{}]]".format(("B<<A", "B<A", "B=A", "A<B", "A<<B")[n % 5]),
    "options repeated": lambda n: (
        f"Options were [[A>>B]], [[A=B]] and [[B>>A]].\nFinal Verdict is: [[{_SIGNS[n % 5]}]]"
    ),
}
_FACTS: Words = {
    "as asked": lambda n: (
        f"Response A Visual Factuality Score: {n % 11}/10\nResponse B Visual Factuality Score: {n * 3 % 11}/10"
    ),
    "bold": lambda n: (
        f"**Response A Visual Factuality Score: {n % 11}/10**\n**Response B Visual Factuality Score: {n * 3 % 11}/10**"
    ),
    "bold numbers": lambda n: (
        f"Response A Visual Factuality Score: **{n % 11}/10**\nResponse B Visual Factuality Score: **{n * 3 % 11}/10**"
    ),
    "halves": lambda n: (
        f"Both are fine.\nResponse A Visual Factuality Score: {n % 10}.5/10\n"
        f"Response B Visual Factuality Score: {n * 3 % 10}.25/10"
    ),
    "blanks": lambda n: (
        f"Response A Visual Factuality Score:   {n % 11} / 10\nResponse B Visual Factuality Score:   {n * 3 % 11} / 10"
    ),
}
_TASKS = (
    "landscape_to_poem",
    "recipe_infer_and_guide",
    "meme_explanation",
    "travel_journal",
    "story_continue",
    "snapshot_analysis",
)


def _creation_cells(number: int) -> Mapping[str, Any]:
    facts = {"objective_criteria": "It names the hill."} if number % 4 else {}
    return {
        "question": f"Write about picture {number % 7}.",
        "task_name": _TASKS[number // 2 % len(_TASKS)],
        "criteria": str({"subjective_criteria": "It is kind.", **facts}),
        "ground_truth": "A hill." if number % 3 == 0 else "",
        "reference_answer_by_gpt4o": "REFERENCE: the hill is green.",
    }


def _creation() -> Iterator[Case]:
    """Two verdicts in each order, each in all of its forms."""
    preferences, facts = list(_PREFERENCES.items()), list(_FACTS.items())
    for position in range(320):
        number = FIRST + position
        said, forms = [], []
        for order in range(2):
            form, prefer = preferences[(position + order * 3) % len(preferences)]
            fact, score = facts[(position // 8 + order) % len(facts)]
            said.append(f"{prefer(position * 7 + order * 2)}\n{score(position + order * 4)}")
            forms += [form, fact]
        length = ("short", "long", "with a list")[position % 3]
        reply = {"short": "A hill.", "long": "A hill. " * 30, "with a list": "1. A\n2. B"}[length]
        style = "; ".join((length, *forms))
        yield Case(str(number), _creation_cells(number), style, reply, json.dumps(said))


_CREATION_METRICS = {
    "reward": "overall/reward",
    "win_rate": "overall/win_rate",
    "visual_factuality": "overall/visual_factuality_score",
    "reference_visual_factuality": "overall/visual_factuality_ref_score",
    "category/literary writing": "CATEGORY_Literary_Writing/reward",
    "category/common functional writing": "CATEGORY_Common_Functionality_Writing/reward",
    "category/professional functional writing": ("CATEGORY_Professional_Functionality_Writing/reward"),
    "category/creative multimodal understanding": ("CATEGORY_Creative_Multimodal_Understanding/reward"),
    "visual_factuality/literary writing": ("CATEGORY_Literary_Writing/visual_factuality_score"),
    "visual_factuality/creative multimodal understanding": (
        "CATEGORY_Creative_Multimodal_Understanding/visual_factuality_score"
    ),
    "task/landscape_to_poem": "landscape_to_poem/reward",
    "task/meme_explanation": "meme_explanation/reward",
}

SPECS = (
    _charxiv_spec("reasoning", "inst_category", ANSWER_KINDS, len(ANSWER_KINDS)),
    _charxiv_spec("descriptive", "qid", [name for name, _ in TASKS_OF_QUESTIONS], 19),
    Spec(
        name="creation-mmbench.vlmevalkit",
        benchmark="creation-mmbench",
        rule="snellen",
        oracle=VLMEVALKIT_JUDGED,
        path="vlmeval/dataset/creation.py, CreationMMBenchDataset.evaluate and merge_dual",
        cases=_creation,
        arguments={
            "dataset": "Creation_MMBench",
            "marks": ["question"],
            "pictures": True,
            "steps": [r"\[ASSISTANT A\]\nREFERENCE", r"\[ASSISTANT B\]\nREFERENCE"],
            "left": "*merged_rating.json",
            "metric": "overall/reward",
            "offset": 100,
            "scale": 200,
        },
        metrics=_CREATION_METRICS,
        role=STEPS,
        apart=APART,
    ),
    Spec(
        name="gobench.vlmevalkit",
        benchmark="gobench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/gobench.py, GOBenchDataset.evaluate",
        cases=_gobench,
        arguments={
            "dataset": "GOBench",
            "columns": ["reality_score", "aesthetics_score", "consistency_score"],
            "absent": -1,
        },
        metrics={
            "overall": "Overall",
            "reality": "Reality_Score",
            "aesthetics": "Aesthetics_Score",
            "consistency": "Instruction_Consistency_Score",
        },
        apart=APART,
        close=0.005,
    ),
    judged_spec(
        "moat",
        "MOAT",
        "vlmeval/dataset/moat.py, MOAT.evaluate",
        _moat_cells,
        (_MOAT_WORDS, {}),
        metrics={
            "accuracy": "overall_acc",
            "capability/CNT": "capability_acc/CNT",
            "capability/GNDV": "capability_acc/GNDV",
            "capability/3DQNT": "capability_acc/3DQNT",
        },
        marks=["answer"],
        column="verdict",
        factor=100,
    ),
)
