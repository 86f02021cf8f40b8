"""Replies made of pieces that readers look for, and the phrases that models in a loop repeat."""

from __future__ import annotations

import random
from collections.abc import Iterator

LABELS = (
    "A", "b", "(C)", "D.", "**E**", "[A]", "A)", "<b>B</b>", "\uff22", "\u0410", "AB", "A,B,D",
    "1", "Z",
)  # fmt: skip
ANNOUNCED = (
    "The answer is ", "Answer: ", "answer:", "Final answer: ", "correct option: ", "Option ",
    "答案是", "选", "故选", "正解", "정답은 ", "الإجابة هي ", "ответ: ", "respuesta: ",
    "is correct", "is wrong", "not ", "none of the above", "cannot be determined", "I'm sorry",
    "Wait, ", "however ", "therefore ", "so ", "I choose ", "yes", "No", "true", "False", "是",
    "不是", "i think ", "because ", "unanswerable", "Not answerable", "all of the above", "and",
    " or ",
)  # fmt: skip
TAGS = (
    "<think>", "</think>", "<answer>", "</answer>", "<|im_end|>", "<|begin_of_box|>", "</s>",
    "```", "```json\n", "**", "__", "#", "> ", "- ", "\n\n", "| a | b |", "“", "”", "«", "'",
    '"', "`", "<b>", "&amp;", "<eoc>", "<conclusion>", "◁think▷",
)  # fmt: skip
BOXES = (
    "\\boxed{", "\\boxed{A}", "\\boxed{\\text{B}}", "\\fbox{", "}", "{", "$", "$$", "\\(",
    "\\)", "\\frac{1}{2}", "\\frac{", "\\sqrt{", "\\sqrt[", "\\pi", "\\text{", "^{", "^", "_",
    "\\cdot", "\\left(", "\\right)", "\\circ", "9**9**9**9", "10^(10^10)", "2^{99999}", "1/0",
    "x=y", "99999!", "\\binom{9999999}{5}", "\\sum_{i=1}^{9999999}", "\\int_0^1",
    "\\begin{matrix}", "\\\\", "\\infty", "factorial(", "\\log_{0}", "(1,2)", "[1,2", "sin(",
    "e^{e^{e^{e}}}", "1:2", "3:0",
)  # fmt: skip
JSON = (
    '{"answer": "A"}', '{"answer": ', '"score": 5', "{'score': 3}", "Score: 1.0",
    "Rating: [[5]]", "[[A]]", '{"Creativity": 10, ', "}", "[", "]", "null", "NaN", "\\ud800",
    "\\u0000", "10 1", "Accuracy: 5", "Correct", "Incorrect", '"Overall Score": 1e999',
)  # fmt: skip
NUMBERS = (
    "0", "-0", "3", "3.0", "٣", "½", "²", "Ⅷ", "一百", "१२", "1e999", "-1e999", "1e-999", "nan",
    "inf", "-Infinity", "1,000", "1,0,0", "$5", "50%", "%", "1_000", "0x1f", ".", "-", "−3",
    "1/2", "1 / 0", "9" * 400, "9" * 5000, "0."+"0" * 400+"1", "1e400%", "three", "twenty-one",
    "3rd", "१/२", "๓", "𝟛", "①", "１２", "2024-01-01", "12:30", "1.2.3", "--1", "+-1", "5e",
    "1e5e5", "0/0", "inf%", "nan:nan",
)  # fmt: skip
ODD = (
    "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\r", "\r\n", "\t", "\u00a0",
    "\u200b", "\u200d", "\u202e", "\ufeff", "\ufffd", "\ud800", "\udfff", "\udc80",
    "\U0010ffff", "İ", "ſ", "ß", "ﬁ", "ǅ", "ﷺ", "e\u0301", "\u0301" * 40, "👩\u200d👩\u200d👧",
    "한국어", "日本語", "русский", "العربية", "हिन्दी", "ไทย", "ελλ", "עברית", "\u3000", "，",
    "。", "：", "（A）", "、", "“A”",
)  # fmt: skip
PIECES = (*LABELS, *ANNOUNCED, *TAGS, *BOXES, *JSON, *NUMBERS, *ODD)
WORDS = tuple(piece.encode("utf-8", "surrogatepass") for piece in PIECES)
"""For `Target.words`."""

LOOPS = (
    "answer: ", "the answer is ", "答案是", "选A", "\\boxed{", "A. ", "A)\n", "(A", "A\n",
    "A B C D ", "not ", "yes no ", "<answer>", '{"answer": "', '"answer"', "A is B is ",
    "Option A is correct. Wait, ", "<think>", "((((", "\n", "    ", "1.", "however ", "option ",
    "a red car ", "1", "1,", "0.1 ", "%", "=", "$", "\\frac{", "\\text{", "[", "{", "[1, ",
    "{}", "'a', ", "\"'", "score: 5 ", "a", "a.", "a b ", "the ", "n't ", "三", "\u0301", "İ",
    "- a\n", "**", "`", "> ", "and ", ", ", "=1", "A:1;", "\\", "x^", "9**", "sqrt(", "\r\n",
    "…", "is ", "\ufb01", "</think>", "\ud800", "i can't ", "rating: ", "A. red car\n", "/",
    ":", "-",
)  # fmt: skip
"""Phrases that a model in a loop repeats to its token limit."""

LENGTH = 100_000
"""Characters of a loop."""


def loop(phrase: str, length: int = LENGTH) -> str:
    return (phrase * (length // len(phrase) + 1))[:length]


def text_of(data: bytes) -> str:
    """The reply that bytes stand for: UTF-8 where lone surrogates are allowed, as JSON has them."""
    return data.decode("utf-8", "surrogatepass") if _is_text(data) else data.decode("latin-1")


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def replies(lot: random.Random) -> Iterator[str]:
    """Replies without end: pieces, random characters, and now and then many of one piece."""
    while True:
        parts = [_part(lot) for _ in range(lot.choice((1, 1, 2, 3, 4, 6, 9, 15)))]
        yield lot.choice(("", " ", "", "\n", ". ", ", ")).join(parts)


def _part(lot: random.Random) -> str:
    kind = lot.randrange(20)
    if kind < 14:
        return lot.choice(PIECES)
    if kind < 17:
        return lot.choice("ABCDabcd0123456789 .,:;()[]{}$\\\n\"'")
    if kind < 19:
        most = lot.choice((128, 0x3000, 0x110000))
        return "".join(chr(lot.randrange(most)) for _ in range(lot.randrange(8)))
    return lot.choice(PIECES) * lot.choice((2, 3, 10, 40))


def encoded_reply(lot: random.Random) -> bytes:
    """One reply for `Target.made`."""
    return next(replies(lot)).encode("utf-8", "surrogatepass")[:LENGTH]
