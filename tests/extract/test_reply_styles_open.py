"""Replies to yes/no, number and open questions in the styles of many models, each with the reading
that a careful person gives it. One fact a row."""

from __future__ import annotations

import time

import pytest

from snellen.core.output import Answer, ParsedAnswer, Truncated
from snellen.extract.choice import parse_choice
from snellen.extract.forms import answer_form, parse_form
from snellen.extract.numbers import parse_numeric_answer
from snellen.extract.open_text import parse_final, parse_open
from snellen.extract.yes_no import parse_yes_no
from snellen.scoring.open_answer import has_same_labels, matches_gold

SAID_NO = [
    "no",
    "No",
    "NO.",
    "**No**",
    "No, there is none.",
    "Nope.",
    "Answer: No",
    "**Answer:** No",
    "**Final Answer**: No",
    "### Final Answer\n\nNo",
    "The answer is no.",
    "The correct answer is **No**.",
    "<answer>No</answer>",
    "<CONCLUSION> No </CONCLUSION>",
    "<final_answer>no</final_answer>",
    "<think>Yes? It seems so, yes.</think>No",
    "<think>yes</think><answer>No, it is not.</answer>",
    "Yes, at first sight.\n<answer>No</answer>",
    r"\boxed{No}",
    r"$\boxed{\text{no}}$",
    '{"answer": "no"}',
    '{"reasoning": "yes, it may be", "answer": "No"}',
    "<|begin_of_box|>No<|end_of_box|>",
    "◁think▷yes◁/think▷ no",
    "There are two dogs.\n\nConclusion: No",
    "False",
    "False.",
    "Incorrect.",
    "Non.",
    "Nein.",
    "Nein, das ist falsch.",
    "Нет.",
    "いいえ",
    "いいえ、違います。",
    "아니요",
    "Não.",
    "Hayır.",
    "Không.",
    "Tidak.",
    "Nie.",
    "La respuesta es no.",
    "不是。",
    "没有",
    "否",
    "不对。",
]
SAID_YES = [
    "yes",
    "Yes.",
    "**Yes**",
    "Yes, there is a dog.",
    "Yeah",
    "Answer: yes",
    "**Final Answer:** Yes",
    "<answer>yes</answer>",
    "<conclusion>Yes.</conclusion>",
    "<response>Yes</response>",
    r"\boxed{Yes}",
    '{"answer": "Yes"}',
    "<think>no, no</think>Yes",
    "[THINK]no[/THINK]Yes",
    "No cat is there at first, but the answer is yes.",
    "True",
    "True.",
    "Correct.",
    "Oui.",
    "Oui, il y a un chien.",
    "Ja.",
    "Ja, genau.",
    "Sí.",
    "Sí, hay un perro.",
    "Sim.",
    "Да.",
    "はい",
    "はい、あります。",
    "네",
    "예.",
    "Evet.",
    "نعم",
    "Ya.",
    "是的。",
    "有。",
    "对。",
    "答案：是",
]
SAID_NEITHER = [
    "Yes and no.",
    "yes or no",
    "maybe",
    "I see a dog.",
    "<answer>maybe</answer> yes",
    "<think>yes, because",
    "<answer>I cannot tell</answer>",
    "<answer>yes or no</answer>",
    "Right side",
    "notable",
    "The true colour is red",
]


@pytest.mark.parametrize(
    ("reply", "value"), [*((reply, "Yes") for reply in SAID_YES), *((reply, "No") for reply in SAID_NO)]
)
def test_parses_yes_or_no(reply: str, value: str) -> None:
    assert value_of(parse_yes_no(reply)) == value


@pytest.mark.parametrize("reply", SAID_NEITHER)
def test_parses_neither_yes_nor_no(reply: str) -> None:
    assert value_of(parse_yes_no(reply)) is None


NUMBERS = [
    ("42", "42"),
    ("42.", "42"),
    ("The answer is 42.", "42"),
    ("Answer: 42", "42"),
    ("**Answer**: 42", "42"),
    ("**Final Answer**: 42", "42"),
    ("### Final Answer\n\n42", "42"),
    ("The answer is $42$.", "42"),
    (r"\boxed{42}", "42"),
    (r"So $x = \boxed{42}$.", "42"),
    (r"\boxed{42\text{ cm}}", "42"),
    ("42 cm", "42"),
    ("<answer>42</answer>", "42"),
    ("<CONCLUSION> 42 </CONCLUSION>", "42"),
    ("<think>41? 40?</think>42", "42"),
    ("<|begin_of_box|>42<|end_of_box|>", "42"),
    ('{"answer": 42}', "42"),
    ('{"answer": "42"}', "42"),
    ("We add 40 and 2.\n#### 42", "42"),
    ("There are 42 dogs.", "42"),
    ("It is 1,000.", "1,000"),
    ("-3.5", "-3.5"),
    ("答案是42。", "42"),
    ("Antwort: 42", "42"),
    ("La respuesta es 42.", "42"),
    ("正解は42です", "42"),
    ("Ответ: 42", "42"),
    ("Step 1: 40 + 2.\nStep 2: we get 42.\n<answer>42</answer>", "42"),
    ("40 and 2 are 42.\n\nThe final answer is 42", "42"),
    ("3/4", "3/4"),
    (r"\boxed{\frac{3}{4}}", r"\frac{3}{4}"),
]


@pytest.mark.parametrize(("reply", "number"), NUMBERS)
def test_a_number_is_given(reply: str, number: str) -> None:
    assert value_of(parse_numeric_answer(reply)) == number


@pytest.mark.parametrize("reply", ["3 or 4", "between 3 and 4", "<answer>3 or 4</answer> 3", "none", "<think>3"])
def test_no_number_is_guessed(reply: str) -> None:
    assert value_of(parse_numeric_answer(reply)) is None


TEXTS = [
    ("blue", "blue"),
    ("Blue.", "Blue"),
    ("**blue**", "blue"),
    ("The answer is blue.", "blue"),
    ("Answer: blue", "blue"),
    ("**Answer**: blue", "blue"),
    ("*Answer*: blue", "blue"),
    ("Ans: blue", "blue"),
    ("**Final Answer**: blue", "blue"),
    ("**Final Answer:** blue", "blue"),
    ("**Final Answer**\n\nblue", "blue"),
    ("### Final Answer\nblue", "blue"),
    ("Final Answer: **blue**", "blue"),
    (r"\boxed{\text{blue}}", "blue"),
    (r"The answer is \textbf{blue}.", "blue"),
    ("$blue$", "blue"),
    ("<answer>blue</answer>", "blue"),
    ("<answer>The answer is blue.</answer>", "blue"),
    (r"<answer>\boxed{blue}</answer>", "blue"),
    ("red or blue?\n<CONCLUSION> blue </CONCLUSION>", "blue"),
    ("<final_answer>blue</final_answer>", "blue"),
    ("<response>blue</response>", "blue"),
    ('{"answer": "blue"}', "blue"),
    ("<think>red</think>blue", "blue"),
    ("◁think▷red◁/think▷blue", "blue"),
    ("<thinking>red</thinking>\n\nblue", "blue"),
    ("答案是蓝色。", "蓝色"),
    ("Réponse : bleu", "bleu"),
    ("La respuesta es azul.", "azul"),
    ("Antwort: blau", "blau"),
    ("blue</s>", "blue"),
    ("<|begin_of_box|>blue<|end_of_box|>", "blue"),
    ("The sky is shown in the upper half.\n\nblue", "blue"),
]


@pytest.mark.parametrize(("reply", "text"), TEXTS)
def test_a_text_is_given(reply: str, text: str) -> None:
    assert value_of(parse_open(reply)) == text


KEPT = [
    "<table><tr><td>Answer</td></tr></table>",
    "<option>red</option> <option>blue</option>",
    "Answers and more",
    '{"name": "Ann", "total": 12}',
    "Question: who? Response time 5 s",
]


@pytest.mark.parametrize("reply", KEPT)
def test_text_without_a_final_mark_is_unchanged(reply: str) -> None:
    assert value_of(parse_final(reply)) == reply


FORMS = [
    # reply, gold, right
    ("True", "True", True),
    ("true.", "True", True),
    ("True. Because the red line goes on.", "True", True),
    ("**Final Answer**: True", "True", True),
    ("*Answer*: True", "True", True),
    ("T", "True", True),
    ("The red line is longer.\n\n**Final Answer**: True", "True", True),
    ("The statement is true.", "True", True),
    ("The statement is not true.", "False", True),
    ("It is false, because the line ends.", "False", True),
    ("<think>False?</think>True", "True", True),
    ("<answer>True</answer>", "True", True),
    ("Yes.", "True", True),
    ("False. For it to be true the line would have to go on.", "False", True),
    ("No, it is shorter.", "False", True),
    ("True or False: False", "False", True),
    ("true or false", "True", False),
    ("I cannot tell", "True", False),
    ("b, d", "b,d", True),
    ("b,d", "b,d", True),
    ("B and D", "b,d", True),
    ("(b), (d)", "b,d", True),
    ("The answers are b and d.", "b,d", True),
    ("d, b", "b,d", True),
    ("<answer>b, d</answer>", "b,d", True),
    ("b", "b,d", False),
    ("a, c", "b,d", False),
]


@pytest.mark.parametrize(("reply", "gold", "right"), FORMS)
def test_a_reply_is_read_in_the_form_of_its_gold(reply: str, gold: str, right: bool) -> None:
    form = answer_form((gold,))
    assert form is not None
    value = value_of(parse_form(reply, form, (gold,))) or ""
    assert (matches_gold(value, (gold,)) or has_same_labels(value, (gold,))) == right


@pytest.mark.parametrize("golds", [(), ("blue",), ("b",), ("True", "maybe"), ("1, 2",)])
def test_other_golds_have_no_form(golds: tuple[str, ...]) -> None:
    assert answer_form(golds) is None


def test_unfinished_thinking_is_truncated() -> None:
    reply = "<think>The answer is A, or yes, or 4"
    for read in (parse_yes_no, parse_open, parse_numeric_answer):
        assert isinstance(read(reply), Truncated)
    assert isinstance(parse_choice(reply, {}), Truncated)


@pytest.mark.parametrize(
    "bit",
    [
        " ",
        "\n",
        "**",
        "_",
        "<output>",
        "</answer>",
        "\\boxed{",
        '"answer": ',
        "final answer\n",
        "therefore ",
        "</think>",
        "<think>",
        "\\text{",
        "true ",
        "not ",
    ],
)
def test_a_reply_that_never_ends_is_read_in_linear_time(bit: str) -> None:
    reply = "The answer is" + bit * (8_000 // len(bit)) + "x"
    start = time.perf_counter()
    parse_yes_no(reply)
    parse_open(reply)
    parse_form(reply, "truth", ("True",))
    assert time.perf_counter() - start < 5


def value_of(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, ParsedAnswer) else None
