"""Ways in which models answer with a word, a phrase or a number, and questions to ask.

Bases inside wrappers, as in `styles_choice`. What is said is the gold, another person's answer, a
misspelt one or a wrong one; which, follows from the number of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.differential.sets import Case
from tests.differential.wrapping import wrapped_styles


@dataclass(frozen=True, slots=True)
class Open:
    """A made-up question; its gold answers, the first the most common; answers that are wrong."""

    question: str
    golds: tuple[str, ...]
    wrong: tuple[str, ...]
    people: tuple[str, ...] = ()
    """Answers of ten people; none: the gold eight times, and two others."""

    @property
    def ten(self) -> tuple[str, ...]:
        return self.people or (*self.golds[:1] * 8, (self.golds + self.wrong)[1], self.wrong[-1])


def open_question(question: str, golds: str, wrong: str, people: str = "") -> Open:
    """Answers are parted by a bar; `4*word` stands for four people who say it."""
    said: list[str] = []
    for part in people.split("|") if people else ():
        count, star, word = part.partition("*")
        said += [word] * int(count) if star else [part]
    return Open(question, tuple(golds.split("|")), tuple(wrong.split("|")), tuple(said))


QUESTIONS = (
    open_question(
        "What is the brand of this camera?",
        "dakota|dakota digital",
        "dacota|nikon",
        "5*dakota|2*dakota digital|nous les gosses|clos culombu|Dakota.",
    ),
    open_question("What number is on the bus?", "12|twelve", "13|1200", "7*12|2*twelve|number 12"),
    open_question(
        "What does the sign say?",
        "Road Closed Ahead",
        "road close ahead|no entry",
        "4*road closed ahead|2*Road Closed|road closed, ahead|3*stop",
    ),
    open_question(
        "What was the revenue in 2019?",
        "$1,250.50|1250.5",
        "1,200|3.4 million",
        "3*$1,250.50|2*1250.50|1,250.50|4*1250.5",
    ),
    open_question("What share of people said yes?", "42%|42", "43%|0.2", "6*42%|3*42|forty two"),
    open_question(
        "When was it signed?", "June 7, 1998|7 June 1998", "June 1, 1998|2001", "4*june 7, 1998|3*June 7 1998|3*1998"
    ),
    open_question("What time does the clock show?", "5:41|5:41 pm", "5.41|6:30", "8*5:41|5:41 pm|twenty to six"),
    open_question("How many people are there?", "2|two", "three|20", "5*2|4*two|a couple"),
    open_question(
        "Who wrote the book?",
        "J. R. R. Tolkien|Tolkien",
        "J.K. Rowling|Lewis",
        "4*j. r. r. tolkien|3*jrr tolkien|3*tolkien",
    ),
    open_question("Is there a dog?", "yes", "no|a dog", "6*yes|4*no"),
    open_question(
        "What is it?", "unanswerable", "a can of soup|blurry", "6*unanswerable|2*unsuitable|soup|can of soup"
    ),
    open_question(
        "What stands in the second line?",
        "don't walk|dont walk",
        "do not walk|walk",
        "4*don't walk|3*dont walk|3*do not walk",
    ),
    open_question("What is the value in the first row?", "0.28|.28", "0.3|28", "6*0.28|2*.28|2*28"),
    open_question("What is the ratio?", "-3.5", "-3.6|3.5", "6*-3.5|4*3.5"),
)
"""A name, numbers, several words, money, percent, dates, times, yes, an answer that declines,
apostrophes, a decimal and a negative number."""

Base = Callable[[str, str], str]
"""What is said and something else that could be said: the reply."""

BASES: dict[str, Base] = {
    "as it is": lambda a, b: a,
    "small letters": lambda a, b: a.lower(),
    "capitals": lambda a, b: a.upper(),
    "title": lambda a, b: a.title(),
    "with dot": lambda a, b: f"{a}.",
    "with two dots": lambda a, b: f"{a}..",
    "dot behind a blank": lambda a, b: f"{a} .",
    "with comma": lambda a, b: f"{a},",
    "with exclamation mark": lambda a, b: f"{a}!",
    "with question mark": lambda a, b: f"{a}?",
    "with semicolon": lambda a, b: f"{a};",
    "in quotes": lambda a, b: f'"{a}"',
    "in single quotes": lambda a, b: f"'{a}'",
    "in curly quotes": lambda a, b: f"“{a}”",
    "in parentheses": lambda a, b: f"({a})",
    "in brackets": lambda a, b: f"[{a}]",
    "Python list": lambda a, b: f"['{a}']",
    "list of two": lambda a, b: f"['{a}', '{b}']",
    "article a": lambda a, b: f"a {a}",
    "article an": lambda a, b: f"An {a}",
    "article the": lambda a, b: f"the {a}",
    "plural": lambda a, b: f"{a}s",
    "possessive": lambda a, b: f"{a}'s",
    "hyphens for blanks": lambda a, b: a.replace(" ", "-"),
    "underscores for blanks": lambda a, b: a.replace(" ", "_"),
    "no blanks": lambda a, b: a.replace(" ", ""),
    "two blanks": lambda a, b: a.replace(" ", "  ") + "  ",
    "blanks around": lambda a, b: f"  {a}   ",
    "line break behind": lambda a, b: f"{a}\n",
    "spaced letters": lambda a, b: " ".join(a),
    "line break for blank": lambda a, b: a.replace(" ", "\n"),
    "tab for blank": lambda a, b: a.replace(" ", "\t"),
    "first letter lost": lambda a, b: a[1:] or "x",
    "last letter lost": lambda a, b: a[:-1] or "x",
    "letter more": lambda a, b: f"{a}e",
    "letters swapped": lambda a, b: a[1::-1] + a[2:],
    "half of it": lambda a, b: a[: (len(a) + 1) // 2],
    "twice": lambda a, b: f"{a} {a}",
    "with unit": lambda a, b: f"{a} dollars",
    "with metres": lambda a, b: f"{a} m",
    "with percent": lambda a, b: f"{a}%",
    "with blank and percent": lambda a, b: f"{a} %",
    "percent in words": lambda a, b: f"{a} percent",
    "with dollar": lambda a, b: f"${a}",
    "with euro": lambda a, b: f"{a} €",
    "with million": lambda a, b: f"{a} million",
    "number sign": lambda a, b: f"#{a}",
    "plus sign": lambda a, b: f"+{a}",
    "about": lambda a, b: f"about {a}",
    "tilde": lambda a, b: f"~{a}",
    "decimal point": lambda a, b: f"{a}.0",
    "leading zero": lambda a, b: f"0{a}",
    "thousands": lambda a, b: f"{a},000",
    "per thousand more": lambda a, b: f"{a}4",
    "exponent": lambda a, b: f"{a}e0",
    "full-width": lambda a, b: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in a),
    "number words": lambda a, b: "two",
    "number word in capitals": lambda a, b: "Two",
    "number": lambda a, b: "2",
    "none": lambda a, b: "none",
    "zero": lambda a, b: "0",
    "A and B": lambda a, b: f"{a} and {b}",
    "A or B": lambda a, b: f"{a} or {b}",
    "A, B": lambda a, b: f"{a}, {b}",
    "A | B": lambda a, b: f"{a} | {b}",
    "A || B": lambda a, b: f"{a}||{b}",
    "A / B": lambda a, b: f"{a}/{b}",
    "A lines B": lambda a, b: f"{a}\n{b}",
    "not B": lambda a, b: f"not {b}",
    "B, no: A": lambda a, b: f"{b}? No, {a}",
    "other": lambda a, b: b,
    "Answer colon": lambda a, b: f"Answer: {a}",
    "Answer colon no blank": lambda a, b: f"Answer:{a}",
    "answer small": lambda a, b: f"answer: {a}",
    "bold Answer": lambda a, b: f"**Answer:** {a}",
    "Final answer": lambda a, b: f"Final answer: {a}",
    "the answer is": lambda a, b: f"The answer is {a}.",
    "the answer is quoted": lambda a, b: f'The answer is "{a}".',
    "so the answer": lambda a, b: f"I see {b} first, so the answer is {a}",
    "it is": lambda a, b: f"It is {a}.",
    "it says": lambda a, b: f"The picture says {a}",
    "bold": lambda a, b: f"**{a}**",
    "italic": lambda a, b: f"*{a}*",
    "code": lambda a, b: f"`{a}`",
    "boxed": lambda a, b: f"\\boxed{{{a}}}",
    "boxed in dollars": lambda a, b: f"$\\boxed{{{a}}}$",
    "boxed text macro": lambda a, b: f"\\boxed{{\\text{{{a}}}}}",
    "LaTeX": lambda a, b: f"\\( {a} \\)",
    "answer tag": lambda a, b: f"<answer>{a}</answer>",
    "json": lambda a, b: f'{{"answer": "{a}"}}',
    "Chinese": lambda a, b: f"答案是{a}。",
    "Russian": lambda a, b: f"Ответ: {a}",
    "accents": lambda a, b: a.replace("o", "ö").replace("e", "é"),
    "emoji": lambda a, b: f"{a} 🙂",
    "unanswerable": lambda a, b: "unanswerable",
    "Unanswerable dot": lambda a, b: "Unanswerable.",
    "Not answerable": lambda a, b: "Not answerable",
    "unsuitable": lambda a, b: "unsuitable",
    "unknown": lambda a, b: "unknown",
    "refusal": lambda a, b: "I'm sorry, but I can't help with that.",
    "cannot determine": lambda a, b: f"I cannot determine whether it is {a}.",
    "no image": lambda a, b: "I'm sorry, but without the image provided I cannot answer.",
    "yes": lambda a, b: "Yes",
    "dots": lambda a, b: "...",
    "dash": lambda a, b: "-",
    "long prose": lambda a, b: (
        f"The picture shows a street in the early morning. On the left there is {b}, and if one "
        f"looks closely one can see {a} next to it, a little above the line of parked cars."
    ),
}

WRAPPERS: dict[str, Callable[[str], str]] = {
    "thinking": lambda s: f"<think>Is it 7 or the other? I think so.</think>\n{s}",
    "unclosed thinking": lambda s: f"Let me look at it.</think>\n\n{s}",
    "steps before": lambda s: f"Let's think step by step. The left side is dark.\n\n{s}",
    "explanation behind": lambda s: f"{s}\n\nExplanation: A closer look shows the details.",
    "blank lines": lambda s: f"\n\n{s}\n",
    "polite": lambda s: f"Sure! {s}",
    "Assistant": lambda s: f"ASSISTANT: {s}",
    "end mark": lambda s: f"{s}</s>",
    "trailing blanks": lambda s: f"  {s}  ",
    "code fence": lambda s: f"```\n{s}\n```",
    "bullet": lambda s: f"- {s}",
}
_WRAPPED = 37
"""How many bases also stand in a wrapper."""

FIRST = 1000
"""Id of the first row: explanations of choices name rows by smaller ones."""

Cells = Callable[[Open, int], Mapping[str, Any]]
"""The row of a data file for a question and the number of the row."""


def styles(bases: Mapping[str, Base] = BASES) -> list[tuple[str, Base]]:
    """Every base alone, then some in a wrapper."""
    return wrapped_styles(bases, WRAPPERS, max(1, len(bases) // _WRAPPED))


def reply_to(question: Open, write: Base, number: int) -> str:
    """A reply in a style: with the gold in two rows of three, else with another answer."""
    others = question.golds[1:] + question.wrong
    other = others[number % len(others)]
    gold = question.golds[0]
    return write(gold, other) if number % 3 else write(other, gold)


def open_cases(
    cells: Cells,
    questions: tuple[Open, ...] = QUESTIONS,
    *,
    turns: int = 3,
    bases: Mapping[str, Base] = BASES,
    first: int = FIRST,
) -> Callable[[], Iterator[Case]]:
    """Every style of reply to several of the questions, which rotate."""

    def cases() -> Iterator[Case]:
        number = first
        for turn in range(turns):
            for position, (style, write) in enumerate(styles(bases)):
                question = questions[(position + turn * 5) % len(questions)]
                reply = reply_to(question, write, position + turn)
                yield Case(str(number), cells(question, number), style, reply)
                number += 1

    return cases
