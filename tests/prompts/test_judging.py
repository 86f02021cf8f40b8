"""What judges are asked is what the benchmarks' authors ask, sign by sign."""

from __future__ import annotations

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.videos.mlvu import parse_two_marks
from snellen.benchmarks.videos.tempcompass import _parse_gold_choice as label_is_gold
from snellen.core.benchmark import Variant
from snellen.extract.verdicts import parse_grades
from snellen.prompts.judging import load_rubric

AUTHORS = {
    "mmbench-video": (
        {"question": "Q?", "gold": "G", "reply": "R"},
        "Question: Q?\nGroundtruth answer: G\nCandidate answer: R\nYour response: ",
    ),
    "mm-vet": (
        {"question": "Q?", "gold": "a <AND> b", "reply": "R {gold}"},
        " actual physical characteristics. | 1.0\n\nQ? | a <AND> b | R {gold} | ",
    ),
    "llava-bench": (
        {"caption": "C", "question": "Q?", "reference": "G", "reply": "R"},
        "does not affect your judgment.\n\n",
    ),
    "mmdu": (
        {"question": "Q?", "reference": "G", "reply": "R"},
        "7}.\n\n\n[Question]\nQ?\n\n[The Start of Reference Answer]\nG\n[The End of Reference "
        "Answer]\n\n[The Start of Assistant’s Answer]\nR\n[The End of Assistant’s Answer]",
    ),
    "mlvu-summary": (
        {"question": "Q?", "gold": "G", "reply": "R"},
        "store the scores.\nStandard Answer: G\nRespondent's Answer: R\n",
    ),
    "mlvu-subplot": (
        {"question": "Q?", "gold": "G", "reply": "R"},
        "store the scores.\nQuestion: Q?\nScoring Points: G\nRespondent's Answer: R\n",
    ),
    "mathverse-answer": ({"reply": "R"}, "\n7.\n\nModel response: 'R'\nExtracted Answer: "),
    "mathverse-same": (
        {"question": "Q?", "gold": "G", "answer": "R"},
        "Judgement: 1\n\n[Question]: Q?\n[Standard Answer]: G\n[Model_answer] : R\nJudgement: ",
    ),
    "tempcompass-caption": (
        {"question": "Q?", "reply": "R"},
        "```\n\nVideo Description:R\nMulti-Choice Question:\nQ?\n",
    ),
    "tempcompass-answer": (
        {"rule": load_rubric("tempcompass-answer").rules["yes_no"], "question": "Q?", "gold": "yes", "reply": "R"},
        'respond "Incorrect".\n\nYes/No Question:\nQ?\nGround-Truth Answer: yes\nModel Prediction: R',
    ),
}


@pytest.mark.parametrize("name", AUTHORS)
def test_a_rubric_ends_as_its_authors_end_it(name: str) -> None:
    fields, end = AUTHORS[name]
    *_, asked = load_rubric(name).messages(**fields)
    assert asked.text().endswith(end)
    assert load_rubric(name).source.startswith(("MM", "LLaVA", "MLVU", "TempCompass", "Math"))


def test_two_answers_are_laid_out_as_llava_has_them() -> None:
    asked = load_rubric("llava-bench").messages(caption="C", question="Q", reference="G", reply="R")
    assert [message.role for message in asked] == ["system", "user"]
    assert (
        asked[1]
        .text()
        .startswith(
            "[Context]\nC\n\n[Question]\nQ\n\n[Assistant 1]\nG\n\n[End of Assistant 1]\n\n"
            "[Assistant 2]\nR\n\n[End of Assistant 2]\n\n[System]\nWe would like"
        )
    )
    assert "describing the image. \nPlease rate" in asked[1].text()


@pytest.mark.parametrize(
    ("reply", "marks"),
    [
        ("So: {'score_accuracy': 4, 'score_relevance': 5, 'total_score': 9}", (4.0, 5.0)),
        ('{"accuracy": 2, "relevance": 3}', (2.0, 3.0)),
        ("4 5", (4.0, 5.0)),
    ],
)
def test_marks_of_mlvu_are_read_as_they_are_asked_for(reply: str, marks: tuple[float, float]) -> None:
    found = parse_two_marks(reply, ("accuracy", "relevance"))
    assert found is not None
    assert tuple(found.values.values()) == marks


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("Reasoning: It goes left.\nAnswer: A. left", 1.0),
        ("Reasoning: A or B.\n**Answer:** B. right", 0.0),
        ("Answer: None of the choices are correct", 0.0),
        ("None of the choices are correct", 0.0),
        ("A", 1.0),
        ("Correct", 1.0),
        ("Reasoning: It goes left. Answer: A. left", 1.0),
        ('Answer: "A. left"', 1.0),
        ('{"Answer": "A. left"}', 1.0),
        ("Answer: A. left or B. right", 0.0),
        ("Answer: A. left, B. right", 0.0),
    ],
)
def test_a_caption_is_graded_by_the_answer_line(reply: str, grade: float) -> None:
    found = label_is_gold(reply, ("A",))
    assert found is not None
    assert found.values["grade"] == grade


def test_a_dictionary_of_marks_as_python_writes_it_is_read() -> None:
    names = ("Creativity", "Overall Score")
    found = parse_grades("First ... {'Creativity': 9, 'Overall Score': 7}.", names, 0.0, 10.0)
    assert found is not None
    assert found.values == {"Creativity": 9.0, "Overall Score": 7.0}


@pytest.mark.parametrize("name", ["mm-vet", "llava-bench", "mmdu", "mmbench-video"])
def test_an_exact_rubric_makes_an_exact_benchmark(name: str) -> None:
    assert open_benchmark(name, Variant(judges=1)).coverage == "exact"
