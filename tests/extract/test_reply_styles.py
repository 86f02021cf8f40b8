"""Replies in the styles of many models, each with the reading that a careful person gives it.

None is a reply in which a person would have to guess. One fact a row.
"""

from __future__ import annotations

import pytest

from snellen.core.answer import Answer, Found
from snellen.extract.choice import read_choice

TREES = {"A": "oak", "B": "elm", "C": "fir", "D": "ash"}
COUNTS = {"A": "12 cm", "B": "14 cm", "C": "15 cm", "D": "21 cm"}
WORDS = {"A": "Yes", "B": "No"}
LAST = {"A": "a dog", "B": "a cat", "C": "a horse", "D": "All of the above"}
LETTERS = {"A": "A", "B": "B", "C": "C", "D": "D"}
MOVED = {"A": "B", "B": "C", "C": "D", "D": "A"}
FORMULAS = {"A": r"$\frac{1}{2}$", "B": r"$\frac{3}{4}$", "C": r"$\sqrt{2}$", "D": r"$90^\circ$"}
SAME = {"A": "9", "B": "18", "C": "18"}
LONG = {
    "A": "The Atlantic slave trade",
    "B": "The gold rush of California",
    "C": "The fall of Constantinople",
}
UNKNOWN: dict[str, str] = {}

B_SAID = [
    # bare, and in the dress of markdown, LaTeX and JSON
    "B", "b", "B.", "B)", "(B)", "(B).", "[B]", "B:", " B\n", "B\n\n", "**B**", "**B.**", "*B*",
    "__B__", "`B`", "```\nB\n```", "'B'", '"B"', "<B>", "B</s>", "B<|im_end|>", "B<|eot_id|>",
    "$B$", r"$\boxed{B}$", r"\boxed{B}", r"\boxed{\text{B}}", r"\boxed{\textbf{B}}", r"\(\boxed{B}\)",
    r"\[\boxed{B}\]", r"\boxed{(B)}", r"\boxed{B. elm}", r"\boxed{\text{(B) elm}}", r"\fbox{B}",
    r"\boxed{b}", r"\boxed{elm}", '{"answer": "B"}', "{'answer': 'B'}", '{"answer": "B. elm"}',
    '```json\n{"answer": "B"}\n```', '{"final_answer": "B", "confidence": 0.9}',
    '{"reasoning": "A and C have needles.", "answer": "B"}',
    '{"answer": "B", "explanation": "A is an oak, C has needles, so not A or C."}',
    '{"choice": "B"}', '{"selected_option": "B"}', '{"correct_option": "(B)"}', '{"answer": ["B"]}',
    # announced
    "Answer: B", "Answer:B", "answer: b", "ANSWER: B", "Ans: B", "Ans. B", "ans: B", "Answer - B",
    "Answer: (B)", "Answer: **B**", "**Answer:** B", "**Answer**: B", "*Answer*: B",
    "Answer: B. elm", "Answer: elm", "Answer: option B", "Final answer: B", "**Final Answer**: B",
    "**Final Answer:** B", "### Final Answer\nB", "## Final Answer\n\n**B**", "**Final Answer**\n\nB",
    "### Answer\n\nB", "### Answer: B", "Final Answer: The final answer is $B$. I hope it is correct.",
    "### Conclusion\n\nB", "**Conclusion:** B. elm", "Conclusion: The tree is an elm.",
    "The answer is B", "The answer is B.", "The answer is (B).", "The answer is: B", "The answer is **B**.",
    "The answer is `B`.", "The answer is option B.", "The answer is elm.", "The answer is B, elm.",
    "The correct answer is B.", "The correct answer is (B) elm.", "The correct answer is: **B. elm**",
    "The correct option is B.", "The right choice is B.", "The best answer is B.", "My answer is B.",
    "The correct choice is B because A is wrong.", "Correct answer: B", "Correct option: (B)",
    "Option B", "Option B is correct.", "Option (B)", "option b", "Choice B", "Choice: B",
    "B is the correct answer.", "B is correct because the leaves are uneven.", "(B) is the best choice.",
    "I choose B.", "I would choose option B.", "I'd go with B.", "I think it's B.", "I select (B).",
    "So the answer is B.", "Therefore, the answer is B.", "Thus, option B is correct.", "Hence B.",
    "Therefore, B.", "So, B.", "It must be B.", "It's B.", "That would be option B.",
    # with the option's text
    "elm", "Elm", "Elm.", "**elm**", "an elm", "the elm", "B. elm", "B) elm", "(B) elm", "B: elm",
    "B - elm", "B elm", "B, elm", "b) elm", "(b) elm", "It is an elm.", "This is an elm tree.",
    "The tree in the picture is an elm.", "elm (B)", "The tree shown is (B) elm.",
    "Based on the shape of its leaves, the tree is most likely an elm.",
    # an explanation behind or before it
    "B\n\nExplanation: A is wrong.", "B\nThe leaves are uneven at the base.",
    "B. The leaves are uneven, unlike those of A.", "(B) because the leaves are uneven.",
    "**B. elm**\n\nThe leaves rule out A, C and D.", "Answer: B\n\nExplanation: (A) has acorns.",
    "Answer: B\nReason: C has needles and A has acorns.",
    "The leaves of (A) and (C) do not fit.\nAnswer: B", "A has acorns. C has needles.\n\nAnswer: B",
    "Step 1: look at the leaves.\nStep 2: compare with A, C and D.\n\nB",
    "A: no, acorns.\nB: fits.\nC: no, needles.\nD: no.\n\nThe answer is B.",
    "- A is wrong: no acorns.\n- C is wrong: no needles.\n- D is wrong.\n\nSo the correct answer is **B**.",
    "A is incorrect. C is incorrect. D is incorrect. So B.",
    "Option A is incorrect because of the acorns. Option B is correct.",
    "We can rule out A, C and D, which leaves B as the answer is B.",
    "The answer is not A, it is B.", "It is not an oak but an elm.", "Not A. The answer is B.",
    "The answer is A. Wait, no. Actually, B is correct.", "The answer is A. Actually, the answer is B.",
    "I first thought the answer is C. But the correct answer is B.",
    "A would be wrong, since oaks have acorns; the answer is B.",
    # thinking first
    "<think>A or C? A is wrong.</think>B", "<think>\nThe answer is A?\n</think>\n\nB",
    "<think>It may be (C).</think>\n\n**Answer:** B", "<thinking>A? No.</thinking>B",
    "<thought>C fits too.</thought>The answer is B.", "◁think▷A or C◁/think▷B",
    "[THINK]The answer is A.[/THINK]B", "<|begin_of_thought|>A<|end_of_thought|>B",
    "<seed:think>The answer is C</seed:think>B", "Let me see. A is likely.</think>B",
    "<reasoning>The answer is A at first sight.</reasoning>\nB",
    "<|channel|>analysis<|message|>Maybe A.<|end|><|start|>assistant<|channel|>final<|message|>B",
    "<think>A or C?</think><answer>B</answer>", "<think>(C)</think> <answer> (B) elm </answer>",
    "<think>C</think>\n<|begin_of_box|>B<|end_of_box|>",
    "<SUMMARY>We look at leaves.</SUMMARY><REASONING>(A) is an oak. The answer is A at first."
    "</REASONING><CONCLUSION> B </CONCLUSION>",
    "Option A is plausible. The answer is A.\n<CONCLUSION> B </CONCLUSION>",
    "<conclusion>The tree is an elm, option B.</conclusion>", "<final>B</final>",
    "<final_answer>B</final_answer>", "<final answer>B</final answer>", "<FinalAnswer>B</FinalAnswer>",
    "<response>B</response>", "A is tempting.\n<result>B</result>", "<output>B</output>",
    "<solution>The leaves are uneven, so the answer is B.</solution>", "<ans>B</ans>",
    "<answer>B", "<ANSWER>B</ANSWER>", "<answer>\nB\n</answer>", "<answer>elm</answer>",
    r"<answer>\boxed{B}</answer>", r"<answer>The answer is $\boxed{B}$.</answer>",
    "[ANSWER]B[/ANSWER]", "The answer is A.\n<answer>B</answer>", "(A) is wrong, (C) is wrong. <answer>B</answer>",
    r"First I had \boxed{A}. After checking, \boxed{B}.", "<答案>B</答案>", "<respuesta>B</respuesta>",
    r"Therefore the answer is $\boxed{B}$, as A and C are out.",
    # other languages
    "答案是B", "答案：B", "答案:B。", "【答案】B", "正确答案是B。", "选B", "故选B。", "因此，答案为B。", "选项B",
    "所以选择B。", "应该选B", "我认为答案是B。", "正解はBです。", "答えはBです", "정답은 B입니다.", "답: B",
    "La réponse est B.", "Réponse : B", "La bonne réponse est (B).", "Die Antwort ist B.", "Antwort: B",
    "La respuesta es B.", "La respuesta correcta es la B.", "Respuesta: B", "A resposta é B.",
    "Resposta correta: B", "La risposta è B.", "Risposta: B", "Ответ: B", "Правильный ответ: B.",
    "Cevap: B", "Doğru cevap B.", "Đáp án: B", "Jawabannya adalah B.", "Odpowiedź: B", "الإجابة: B",
]  # fmt: skip


@pytest.mark.parametrize("reply", B_SAID)
def test_b_is_said(reply: str) -> None:
    assert value_of(read_choice(reply, TREES)) == "B"


OTHERS = [
    # reply, options, label
    ("All of the above", LAST, "D"),
    ("All of the above.", LAST, "D"),
    ("The answer is all of the above.", LAST, "D"),
    ("D. All of the above", LAST, "D"),
    ("a cat", LAST, "B"),
    ("A cat.", LAST, "B"),
    ("A cat is sitting there.", LAST, "B"),
    ("A dog", LAST, "A"),
    ("Yes", WORDS, "A"),
    ("No.", WORDS, "B"),
    ("No, there is none.", WORDS, "B"),
    ("yes, it is", WORDS, "A"),
    ("<CONCLUSION> No </CONCLUSION>", WORDS, "B"),
    ("14 cm", COUNTS, "B"),
    ("14cm", COUNTS, "B"),
    ("The length is 14 cm.", COUNTS, "B"),
    (r"\boxed{14}", COUNTS, "B"),
    (r"\boxed{14\text{ cm}}", COUNTS, "B"),
    (r"So x = \boxed{14} cm.", COUNTS, "B"),
    (r"\boxed{42}. The correct answer is C.", COUNTS, "C"),
    ("<answer>14</answer>", COUNTS, "B"),
    ("The length is 12 + 2 = 14 cm. Answer: B", COUNTS, "B"),
    ("1/2", FORMULAS, "A"),
    (r"\frac{3}{4}", FORMULAS, "B"),
    (r"$\dfrac{3}{4}$", FORMULAS, "B"),
    (r"\boxed{\frac{3}{4}}", FORMULAS, "B"),
    (r"\boxed{\sqrt{2}}", FORMULAS, "C"),
    (r"The answer is $\sqrt{2}$.", FORMULAS, "C"),
    ("90°", FORMULAS, "D"),
    (r"\boxed{90^{\circ}}", FORMULAS, "D"),
    ("The node is indicated by C.", LETTERS, "C"),
    ("Point C", LETTERS, "C"),
    ("C", LETTERS, "C"),
    ("The answer is C.", MOVED, "C"),
    ("18", SAME, "B"),
    ("The answer is 18.", SAME, "B"),
    ("C. 18", SAME, "C"),
    ("C", SAME, "C"),
    ("The most likely cause is (A) The Atlantic slave trade. The others (B and C) came later.",
     LONG, "A"),
    ("It was the Atlantic slave trade. " + "Many people were carried across the sea. " * 15,
     LONG, "A"),
    ("Many things happened then, also the gold rush of California. " + "People moved. " * 30
     + "Therefore, it was the fall of Constantinople.", LONG, "C"),
    ("The Atlantic slave trade\nIt brought many people across the sea.", LONG, "A"),
    ("B", UNKNOWN, "B"),
    ("(b) 0.42", UNKNOWN, "B"),
    ("<CONCLUSION> D </CONCLUSION>", UNKNOWN, "D"),
    ("The lines (A) and (C) are parallel. \\boxed{D}", UNKNOWN, "D"),
    (r"The area is $\boxed{6}$ (C)", UNKNOWN, "C"),
    (r"The area is $\boxed{6}$. Option C is correct.", UNKNOWN, "C"),
    ("Z", {chr(65 + place): f"text {place}" for place in range(26)}, "Z"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "options", "label"), OTHERS)
def test_a_choice_is_read(reply: str, options: dict[str, str], label: str) -> None:
    assert value_of(read_choice(reply, options)) == label


NOTHING_SAID = [
    # reply, options: several are named, or none
    ("A or B", TREES), ("A and B", TREES), ("Either A or C.", TREES), ("Both A and B are correct.", TREES),
    ("The answer is A or C.", TREES), ("not B", TREES), ("It is not B.", TREES), ("B is wrong.", TREES),
    ("The answer cannot be B.", TREES), ("I don't think it's B.", TREES), ("Not an elm.", TREES),
    ("oak or elm", TREES), ("The trees are an oak and an elm.", TREES), ("a maple", TREES), ("E", TREES),
    ("Let us look at A first.", TREES), ("Is it an elm?", TREES), ("A tree with leaves", TREES),
    ("<think>The answer is A, or maybe C, because", TREES), ("<think>B", TREES),
    ("<thinking>Option B fits best. Let me check option C", TREES),
    ("<answer>maple</answer> The leaves of (B) are uneven.", TREES),
    ("The answer is B.\n<answer>maple</answer>", TREES),
    ("<answer></answer>", TREES), (r"\boxed{A} or \boxed{C}", TREES), (r"\boxed{A, C}", TREES),
    (r"\boxed{42}", TREES), (r"In triangle ABC, point B is right above C, so \boxed{42}", TREES),
    ('{"answer": "maple"}', TREES), ("<CONCLUSION> A or B </CONCLUSION>", TREES),
    ("(A) oak (B) elm (C) fir (D) ash", TREES), ("A. oak\nB. elm\nC. fir\nD. ash", TREES),
    ("The options are A. oak, B. elm, C. fir and D. ash.", TREES), ("B. oak", TREES), ("elm (C)", TREES),
    ("13 cm", COUNTS), ("1", COUNTS), ("12 or 14", COUNTS), ("The length is between 12 cm and 14 cm.", COUNTS),
    ("Points A and B are marked.", LETTERS), ("Vitamin C is shown.", TREES),
    ("You can see the letters A, B and C.", UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "options"), NOTHING_SAID)
def test_nothing_is_guessed(reply: str, options: dict[str, str]) -> None:
    assert not isinstance(read_choice(reply, options), Found)


DECLINED = [
    "I'm sorry, but I can't help with that.", "I cannot determine the answer from the image.",
    "<answer>I cannot tell</answer>", "<answer>None of the above</answer>", "None of the above.",
    "As an AI language model I cannot see images.", "无法判断", r"\boxed{\text{None of the above}}",
    "Z", "(Z)",
]  # fmt: skip


@pytest.mark.parametrize("options", [TREES, UNKNOWN])
@pytest.mark.parametrize("reply", DECLINED)
def test_declined(reply: str, options: dict[str, str]) -> None:
    assert type(read_choice(reply, options)).__name__ in ("Refused", "NoMatch")


def value_of(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, Found) else None
