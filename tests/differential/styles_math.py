"""Ways in which short answers to questions of mathematics are written, and questions to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential.sets import Case
from tests.differential.styles_open import FIRST, WRAPPERS, Base, Open, open_question, reply_to
from tests.differential.wrapping import wrapped_styles

VALUES = (
    open_question("How many are left?", "12|twelve", "13|12.4"),
    open_question("What is the length?", "1.2|1.20", "1.3|1.24"),
    open_question("What is the share?", "0.28|.28", "0.3|28"),
    open_question("What is the sum?", "-3|−3", "3|-3.4"),
    open_question("What is the year?", "1990|1,990", "1991|199"),
    open_question("What is the area?", "\\frac{1}{2}|1/2", "0.51|\\frac{1}{3}"),
    open_question("What is the side?", "2\\sqrt{3}|3.4641", "\\sqrt{3}|3.47"),
    open_question("What is the circle's area?", "4\\pi|12.566", "4|\\pi"),
    open_question("Which point?", "(1,2)|(1, 2)", "(2,1)|1,2"),
    open_question("Which numbers?", "[1, 2.5]|[1,2.5]", "[1, 2]|[2.5, 1]"),
)
CHOICES = (
    Open("Which is larger?", ("B", "circle"), ("A", "square"), ()),
    Open("What is the angle?", ("C", "45"), ("D", "60"), ()),
)
OPTIONS = {
    "Which is larger?": {"A": "square", "B": "circle", "C": "none of both", "D": "A triangle"},
    "What is the angle?": {"A": "30", "B": "40", "C": "45", "D": "60"},
}

BASES: dict[str, Base] = {
    "as it is": lambda a, b: a,
    "dot behind": lambda a, b: f"{a}.",
    "blanks around": lambda a, b: f"  {a} ",
    "blanks inside": lambda a, b: " ".join(a),
    "decimal zero": lambda a, b: f"{a}.0",
    "decimal zeros": lambda a, b: f"{a}00",
    "leading zero": lambda a, b: f"0{a}",
    "plus": lambda a, b: f"+{a}",
    "minus": lambda a, b: f"-{a}",
    "equation": lambda a, b: f"x = {a}",
    "equation no blanks": lambda a, b: f"x={a}",
    "inequality": lambda a, b: f"x > {a}",
    "degrees": lambda a, b: f"{a}°",
    "degrees in LaTeX": lambda a, b: f"{a}^\\circ",
    "degrees in words": lambda a, b: f"{a} degrees",
    "centimetres": lambda a, b: f"{a} cm",
    "square centimetres": lambda a, b: f"{a} cm^2",
    "units in LaTeX": lambda a, b: f"{a}\\text{{ cm}}",
    "percent": lambda a, b: f"{a}%",
    "percent in LaTeX": lambda a, b: f"{a}\\%",
    "dollar": lambda a, b: f"${a}",
    "in dollars": lambda a, b: f"${a}$",
    "in two dollars": lambda a, b: f"$${a}$$",
    "in LaTeX parentheses": lambda a, b: f"\\({a}\\)",
    "in LaTeX brackets": lambda a, b: f"\\[{a}\\]",
    "boxed": lambda a, b: f"\\boxed{{{a}}}",
    "boxed in dollars": lambda a, b: f"$\\boxed{{{a}}}$",
    "boxed in a sentence": lambda a, b: f"So it must be \\boxed{{{a}}} in the end.",
    "two boxes": lambda a, b: f"\\boxed{{{b}}} or rather \\boxed{{{a}}}",
    "fbox": lambda a, b: f"\\fbox{{{a}}}",
    "text": lambda a, b: f"\\text{{{a}}}",
    "mathrm": lambda a, b: f"\\mathrm{{{a}}}",
    "left right": lambda a, b: f"\\left({a}\\right)",
    "in parentheses": lambda a, b: f"({a})",
    "in brackets": lambda a, b: f"[{a}]",
    "in braces": lambda a, b: f"{{{a}}}",
    "in quotes": lambda a, b: f'"{a}"',
    "in single quotes": lambda a, b: f"'{a}'",
    "bold": lambda a, b: f"**{a}**",
    "code": lambda a, b: f"`{a}`",
    "half": lambda a, b: f"{a}/2",
    "over one": lambda a, b: f"{a}/1",
    "fraction": lambda a, b: f"\\frac{{{a}}}{{1}}",
    "dfrac": lambda a, b: f"\\dfrac{{{a}}}{{2}}",
    "short fraction": lambda a, b: "\\frac12",
    "square": lambda a, b: f"{a}^2",
    "power in braces": lambda a, b: f"{a}^{{2}}",
    "power in stars": lambda a, b: f"{a}**2",
    "root": lambda a, b: f"\\sqrt{{{a}}}",
    "short root": lambda a, b: "\\sqrt3",
    "root sign": lambda a, b: f"√{a}",
    "pi": lambda a, b: f"{a}\\pi",
    "pi sign": lambda a, b: f"{a}π",
    "times": lambda a, b: f"{a} \\times 1",
    "cdot": lambda a, b: f"{a}\\cdot 1",
    "sum": lambda a, b: f"{a} + 0",
    "about": lambda a, b: f"\\approx {a}",
    "about in words": lambda a, b: f"approximately {a}",
    "exponent": lambda a, b: f"{a}e0",
    "ratio": lambda a, b: f"{a}:1",
    "pair": lambda a, b: f"({a}, {b})",
    "pair no blank": lambda a, b: f"({a},{b})",
    "list": lambda a, b: f"[{a}, {b}]",
    "two with comma": lambda a, b: f"{a}, {b}",
    "two with and": lambda a, b: f"{a} and {b}",
    "two with or": lambda a, b: f"{a} or {b}",
    "thousands": lambda a, b: f"{a},000",
    "mixed number": lambda a, b: f"{a} 1/2",
    "number word": lambda a, b: "twelve",
    "capital word": lambda a, b: "Twelve",
    "infinity": lambda a, b: "\\infty",
    "letter": lambda a, b: "B",
    "letter in parentheses": lambda a, b: "(B)",
    "letter with dot": lambda a, b: "B.",
    "letter and text": lambda a, b: "(B) circle",
    "small letter": lambda a, b: "b",
    "small letter in parentheses": lambda a, b: "(c)",
    "letter behind": lambda a, b: "It must be C.",
    "letter in parentheses behind": lambda a, b: "It must be (C).",
    "letter out of range": lambda a, b: "E",
    "text of an option": lambda a, b: "circle",
    "text in capitals": lambda a, b: "CIRCLE",
    "text near an option": lambda a, b: "circles",
    "function of x": lambda a, b: f"f(x) = {a}",
    "the answer is": lambda a, b: f"The answer is {a}.",
    "small answer is": lambda a, b: f"so the answer is {a}",
    "the final answer is": lambda a, b: f"Therefore, the final answer is {a}.\nIt is not {b}.",
    "answer should be": lambda a, b: f"The answer should be {a}. I am sure",
    "Answer colon": lambda a, b: f"Answer: {a}",
    "answer tag": lambda a, b: f"<answer>{a}</answer>",
    "other then it": lambda a, b: f"{b} is wrong, it is {a}",
    "refusal": lambda a, b: "I'm sorry, but I can't help with that.",
    "nothing to see": lambda a, b: "The image does not show it.",
    "none": lambda a, b: "none",
    "dots": lambda a, b: "...",
    "Chinese": lambda a, b: f"答案是{a}。",
    "full-width": lambda a, b: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in a),
    "long prose": lambda a, b: (
        f"The triangle has sides of {b} and of one, so that by the theorem of Pythagoras the third "
        f"side is {a}, which can be seen in the picture as well."
    ),
}

Cells = Callable[[Open, int], Mapping[str, Any]]


def math_cases(
    cells: Cells, questions: tuple[Open, ...], *, recorded: bool = False, wrapped: int = 24
) -> Callable[[], Iterator[Case]]:
    """Every style of answer to several of the questions; `recorded`: it is what a judge copied out
    of a reply that says more."""

    def cases() -> Iterator[Case]:
        styles = wrapped_styles(BASES, WRAPPERS, max(1, len(BASES) // wrapped))
        number = FIRST
        for turn in range(3):
            for position, (style, write) in enumerate(styles):
                question = questions[(position + turn * 5) % len(questions)]
                said = reply_to(question, write, position + turn)
                reply = "I shall work it out step by step. It is done." if recorded else said
                judged = said if recorded else ""
                yield Case(str(number), cells(question, number), style, reply, judged)
                number += 1

    return cases
