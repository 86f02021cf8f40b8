"""Reading a multiple-choice reply: one fact a row."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.output import Answer, Empty, NoMatch, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract.choice import parse_choice

COLOURS = {"A": "red", "B": "green", "C": "blue", "D": "yellow"}
ANIMALS = {"A": "cat", "B": "dog"}
NUMBERS = {"A": "1", "B": "10", "C": "100", "D": "3"}
SHADES = {"A": "blue", "B": "light blue", "C": "red"}
CELLS = {"A": "T cells", "B": "platelets", "C": "B cells", "D": "E. coli", "E": "none"}
YES_NO = {"A": "yes", "B": "no"}
UNKNOWN: dict[str, str] = {}


def value_of(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, ParsedAnswer) else None


LABELS = [
    # reply, label, rule
    ("B", "B", "bare label"),
    ("(B)", "B", "bare label"),
    ("B.", "B", "bare label"),
    ("**B**", "B", "bare label"),
    ("[B]", "B", "bare label"),
    ('"B"', "B", "bare label"),
    ("b", "B", "bare label"),
    ("(b)", "B", "bare label"),
    ("Ｂ", "B", "bare label"),
    ("（Ｂ）。", "B", "bare label"),
    ("Option B", "B", "bare label"),
    ("选项B", "B", "bare label"),
    ("选B", "B", "bare label"),
    ("答案是B", "B", "bare label"),
    ("答案：B", "B", "bare label"),
    ("Answer: B", "B", "bare label"),
    ("Answer: $B$", "B", "bare label"),
    ("Answer: C</s>", "C", "bare label"),
    ("<s> A", "A", "bare label"),
    ("B<|im_end|>", "B", "bare label"),
    ("The answer is (B)", "B", "bare label"),
    ("La réponse est B", "B", "stated answer"),
    ("B. green", "B", "label and content"),
    ("(B) green.", "B", "label and content"),
    ("**C. blue**", "C", "label and content"),
    ("B - green", "B", "leading label"),
    ("B, because it is green", "B", "leading label"),
    ("A、red", "A", "leading label"),
    ("B\nbecause the sky is blue", "B", "leading label"),
    ("D. it can't be A or B", "D", "leading label"),
    (r"\boxed{B}", "B", "boxed: bare label"),
    (r"So we get $\boxed{\text{B}}$.", "B", "boxed: bare label"),
    ("<answer>B</answer>", "B", "answer: bare label"),
    ("<answer>B. green", "B", "answer: leading label"),
    ("The correct answer is **B**. Because A is wrong and C too", "B", "stated answer"),
    ("The image shows a sky.\n\nFinal answer: D", "D", "conclusion: bare label"),
    ("It is red because of the light.\nAnswer: D", "D", "stated answer"),
    ("The correct option is B: green", "B", "stated answer"),
    ("The answer is\n\nB", "B", "bare label"),
    ("The answer to the question about the sky is most likely option (C).", "C", "stated answer"),
    ("The answer is A, but on reflection the correct answer is C.", "C", "stated answer"),
    ("The answer is not B, it is C.", "C", "stated answer"),
    ("There is no doubt that the answer is B", "B", "stated answer"),
    ("The arrow points NE and the answer is (B)", "B", "stated answer"),
    ("Sorry for the delay! The answer is B.", "B", "stated answer"),
    ("The final answer is $\\boxed{D}$. I hope it is correct.", "D", "boxed: bare label"),
    ("正确答案是 (C) blue", "C", "stated answer"),
    ("所以答案为D。", "D", "stated answer"),
    ("图中的天空是蓝色的，因此应该选C。", "C", "stated answer"),
    ("Die richtige Antwort ist C.", "C", "stated answer"),
    ("La respuesta correcta es (D)", "D", "stated answer"),
    ("A resposta correta é B.", "B", "stated answer"),
    ("Правильный ответ: C", "C", "stated answer"),
    ("Doğru cevap B", "B", "stated answer"),
    ("الإجابة الصحيحة هي B", "B", "stated answer"),
    ("正解はBです", "B", "stated answer"),
    ("I think B is right because the sky is over there", "B", "chosen label"),
    ("I would go with (D) here.", "D", "chosen label"),
    ("Option A is wrong since it is not red. Option B is right.", "B", "chosen label"),
    ("A is incorrect. B is incorrect. C is incorrect. So D.", "D", "chosen label"),
    ("The answer is A. No wait, B is correct.", "B", "chosen label"),
    ("B. green. Wait, actually it is C.", "C", "chosen label"),
    ("I first thought A. Wait, actually the answer is D.", "D", "stated answer"),
    ("The image shows a sky.\n\nC", "C", "last line"),
    ("The image shows a sky.\n\n**C. blue**", "C", "named option"),
    ("Based on the image, option C describes it.", "C", "only label"),
    ("<think>B? The answer is A.</think>\nD", "D", "bare label"),
    ("<think>the answer is C</think>The answer is A", "A", "bare label"),
]


@pytest.mark.parametrize(("reply", "label", "rule"), LABELS)
def test_a_label_is_read(reply: str, label: str, rule: str) -> None:
    answer = parse_choice(reply, COLOURS)
    assert isinstance(answer, ParsedAnswer)
    assert (answer.value, answer.rule) == (label, rule)
    assert answer.span is not None
    assert reply[answer.span[0] : answer.span[1]].upper() in (label, "Ｂ")


CONTENTS = [
    # reply, options, label, rule
    ("blue", COLOURS, "C", "content"),
    ("Green.", COLOURS, "B", "content"),
    ("A dog", ANIMALS, "B", "content"),
    ("The answer is blue", COLOURS, "C", "stated content"),
    ("The answer is: **blue**.", COLOURS, "C", "stated content"),
    ("Answer: A dog", ANIMALS, "B", "stated content"),
    ("It is blue.", COLOURS, "C", "mentioned content"),
    ("The cat sits on the mat", ANIMALS, "A", "mentioned content"),
    ("It is not a cat but a dog", ANIMALS, "B", "mentioned content"),
    ("The sky is light blue.", SHADES, "B", "mentioned content"),
    ("There are 100 of them", NUMBERS, "C", "mentioned content"),
    ("There are three dogs", NUMBERS, "D", "mentioned content"),
    ("three", NUMBERS, "D", "content"),
    ("The answer is B cells", CELLS, "C", "stated content"),
    ("E. coli", CELLS, "D", "content"),
    ("E. coli is seen here", CELLS, "D", "mentioned content"),
    ("Yes, there is no doubt about it.", YES_NO, "A", "leading content"),
    ("No, the car is to the left.", YES_NO, "B", "leading content"),
]


@pytest.mark.parametrize(("reply", "options", "label", "rule"), CONTENTS)
def test_a_content_is_read(reply: str, options: dict[str, str], label: str, rule: str) -> None:
    answer = parse_choice(reply, options)
    assert isinstance(answer, ParsedAnswer)
    assert (answer.value, answer.rule) == (label, rule)


UNREAD = [
    # reply, options: a guess would be the only way to read these
    ("A or B", COLOURS),
    ("A, B", COLOURS),
    ("A/B", COLOURS),
    ("(A)(B)", COLOURS),
    ("ABCD", COLOURS),
    ("The answer is either A or B.", COLOURS),
    ("The answer is A and C", COLOURS),
    ("The answer is (A) red, (B) green, and (C) blue.", COLOURS),
    ("Both A and C are correct", COLOURS),
    ("(B) is correct. (C) is also correct.", COLOURS),
    ("A. red\nB. green\nC. blue\nD. yellow", COLOURS),
    ("A. red B. green C. blue D. yellow", COLOURS),
    ("(A) first (B) second (C) third", UNKNOWN),
    ("The correct answer is:\n\n(A) red\n(B) green\n(C) blue\n(D) yellow", COLOURS),
    ("B. blue", COLOURS),
    ("Sentence A: dog", ANIMALS),
    ("green and blue", COLOURS),
    ("It could be green or blue.", COLOURS),
    ("Neither red nor green", COLOURS),
    ("not blue", COLOURS),
    ("It isn't blue.", COLOURS),
    ("It is not a cat", ANIMALS),
    ("There are cats", ANIMALS),
    ("a category", ANIMALS),
    ("not B", COLOURS),
    ("不是B", COLOURS),
    ("B不正确", COLOURS),
    ("B is wrong.", COLOURS),
    ("The answer is not B.", COLOURS),
    ("I don't think the answer is B", COLOURS),
    ("A cat is on the mat here", COLOURS),
    ("A tall house", COLOURS),
    ("The answer is A tall house", COLOURS),
    ("Is it blue?", COLOURS),
    ("E", COLOURS),
    ("The answer is E", COLOURS),
    ("1,000", NUMBERS),
    ("3.5", NUMBERS),
    ("In 2019 there were 10", NUMBERS),
    ("B B B B B B", COLOURS),
    ("The third row is J, M, ? and corresponds to the letter P.", UNKNOWN),
    ("Failed to obtain answer via API.", COLOURS),
    ("Failed to obtain answer via API. D", UNKNOWN),
]


@pytest.mark.parametrize(("reply", "options"), UNREAD)
def test_no_answer_is_guessed(reply: str, options: dict[str, str]) -> None:
    assert isinstance(parse_choice(reply, options), Unparsed)


OUTCOMES = [
    ("", Empty),
    (" \n", Empty),
    ("Z", NoMatch),
    ("(Z)", NoMatch),
    ("None of the above", NoMatch),
    ("None of the options fits the picture.", NoMatch),
    ("以上都不对", NoMatch),
    ("Sorry, I can't help with images of people yet.", Refused),
    ("I'm sorry, but I can't assist with that.", Refused),
    ("I cannot tell", Refused),
    ("Cannot determine the answer", Refused),
    ("抱歉，我无法回答这个问题。", Refused),
    ("I'm sorry, I cannot determine whether it is blue.", Refused),
]


@pytest.mark.parametrize(("reply", "outcome"), OUTCOMES)
def test_why_nothing_was_read(reply: str, outcome: type[Answer]) -> None:
    assert isinstance(parse_choice(reply, COLOURS), outcome)


def test_none_of_the_above_can_be_an_option() -> None:
    options = {**COLOURS, "E": "None of the above"}
    assert value_of(parse_choice("None of the above.", options)) == "E"


def test_z_can_be_a_label() -> None:
    options = {chr(65 + i): f"text {i}" for i in range(26)}
    assert value_of(parse_choice("Z", options)) == "Z"


def test_a_cut_reply_is_truncated_unless_it_was_read() -> None:
    assert isinstance(parse_choice("Let us look at the", COLOURS, stop_reason="length"), Truncated)
    assert isinstance(parse_choice("", COLOURS, stop_reason="length"), Truncated)
    assert value_of(parse_choice("The answer is B", COLOURS, stop_reason="length")) == "B"


@pytest.mark.attack("prose that was cut off at the token limit", "read where it states its answer")
@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Let me think about the answer A", None),
        ("I think it might be option C, since", None),
        ("The answer is A", "A"),
        ("The answer: B", "B"),
        ("答案是C", "C"),
        ("B. because the", "B"),
        ("B", "B"),
        ("\\boxed{C} as we have", "C"),
        ("<answer>A</answer> and", "A"),
    ],
)
def test_of_a_reply_that_was_cut_only_what_is_firm_counts(reply: str, label: str | None) -> None:
    answer = parse_choice(reply, COLOURS, stop_reason="length")
    assert (answer.value if isinstance(answer, ParsedAnswer) else None) == label
    assert isinstance(answer, ParsedAnswer | Truncated)


def test_labels_win_over_contents_that_are_letters() -> None:
    assert value_of(parse_choice("B", {"A": "B", "B": "A"})) == "B"


def test_options_of_the_same_text_are_one_answer() -> None:
    assert value_of(parse_choice("red", {"A": "red", "B": "red"})) == "A"
    assert value_of(parse_choice("B. red", {"A": "red", "B": "red"})) == "B"
    assert isinstance(parse_choice("cat", {"A": "a cat", "B": "the cat"}), Unparsed)


def test_digits_may_be_labels() -> None:
    options = {"1": "a flower wilts", "2": "an eye opens"}
    assert value_of(parse_choice("Option 2", options)) == "2"
    assert isinstance(parse_choice("2", UNKNOWN), Unparsed)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.sampled_from([COLOURS, NUMBERS, YES_NO, CELLS, UNKNOWN]))
def test_any_text_can_be_read(reply: str, options: dict[str, str]) -> None:
    answer = parse_choice(reply, options)
    if isinstance(answer, ParsedAnswer):
        assert answer.value in options or not options
        assert answer.span is None or 0 <= answer.span[0] < answer.span[1] <= len(reply)


_WORDS = """
The answer is A B C D . , : not or and option correct I think red green blue (B) because wait
答案 是 ** \\boxed{ } <answer> </think>
"""
_PROSE = st.lists(st.sampled_from([*_WORDS.split(), "\n"]), max_size=25).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(_PROSE, st.sampled_from(["", " ", "\n", " \n\t "]), st.sampled_from(["", "\n", "  \n "]))
def test_surrounding_space_changes_nothing(reply: str, before: str, after: str) -> None:
    bare, spaced = parse_choice(reply, COLOURS), parse_choice(before + reply + after, COLOURS)
    assert type(bare) is type(spaced)
    assert value_of(bare) == value_of(spaced)


@given(
    st.integers(min_value=2, max_value=25),
    st.data(),
    st.sampled_from(["{}", "({})", "{}.", "**{}**", "Answer: {}", "The answer is {}.", "选项{}"]),
)
def test_a_bare_label_is_always_read(count: int, data: st.DataObject, dress: str) -> None:
    labels = [chr(65 + i) for i in range(count)]
    label = data.draw(st.sampled_from(labels))
    assert value_of(parse_choice(dress.format(label), dict.fromkeys(labels, ""))) == label


@given(st.permutations(list(COLOURS.values())), _PROSE.filter(lambda text: text.islower()))
def test_content_rules_follow_the_texts_not_their_order(texts: list[str], reply: str) -> None:
    shuffled = dict(zip(COLOURS, texts, strict=True))
    first, second = value_of(parse_choice(reply, COLOURS)), value_of(parse_choice(reply, shuffled))
    assert (first and COLOURS[first]) == (second and shuffled[second])


@pytest.mark.parametrize("bit", [" ", "\n", "answer is ", "(A) ", "A or ", "red ", "**", "<answer>", "_"])
def test_a_reply_that_never_ends_is_read_in_linear_time(bit: str) -> None:
    reply = "The answer is" + bit * (30_000 // len(bit)) + "x"
    start = time.perf_counter()
    parse_choice(reply, COLOURS)
    assert time.perf_counter() - start < 5
