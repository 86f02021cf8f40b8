"""How a question is put: Snellen's default layouts, and other ones a model meets in the wild."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from training.tiny.questions import Question

Layout = Literal["select", "letter", "brackets", "bare"]
LETTERS = "ABCD"
OPEN_SUFFIXES = (
    "\nAnswer the question using a single word or phrase.",
    "\nAnswer the question using a single word or phrase.",
    "",
    " Answer briefly.",
)
YES_NO_SUFFIXES = (
    " Please answer yes or no.",
    " Please answer yes or no.",
    "\nPlease answer yes or no.",
    "\nAnswer the question using a single word or phrase.",
    "",
)
HINTS = (
    "Look at the picture.",
    "Please answer the question.",
    "The picture shows simple objects.",
    "There is one right option.",
)


@dataclass(frozen=True)
class Exchange:
    """What the user says after the pictures, and the reply."""

    ability: str
    prompt: str
    reply: str


def multiple_choice(question: str, options: list[str], layout: Layout, hint: str = "") -> str:
    """The text of a multiple-choice prompt; `select` is Snellen's and VLMEvalKit's default."""
    listed = list_options(options)
    before = f"Hint: {hint}\n" if hint else ""
    if layout == "select":
        ending = "\nPlease select the correct answer from the options above."
        return f"{before}Question: {question}\nOptions:\n{listed}{ending}"
    if layout == "letter":
        ending = "\nAnswer with the option's letter from the given choices directly."
        return f"{before}{question}\n{listed}{ending}"
    if layout == "brackets":
        listed = list_options(options, "({}) {}")
    return f"{before}{question}\n{listed}"


def list_options(options: list[str], line: str = "{}. {}") -> str:
    """One option per line."""
    return "\n".join(line.format(*pair) for pair in zip(LETTERS, options, strict=False))


def choose_layout(rng: random.Random) -> Layout:
    """The default layout half of the time."""
    layouts: tuple[Layout, ...] = ("select", "letter", "brackets", "bare")
    return rng.choices(layouts, (6, 3, 1, 1))[0]


def put_open(question: Question, rng: random.Random) -> Exchange:
    """A free answer."""
    return Exchange(question.ability, question.text + rng.choice(OPEN_SUFFIXES), question.answer)


def put_yes_no(question: Question, rng: random.Random) -> Exchange:
    """A yes/no question."""
    return Exchange(question.ability, question.text + rng.choice(YES_NO_SUFFIXES), question.answer)


def put_choice(question: Question, rng: random.Random, letter_weights: list[float]) -> Exchange:
    """A multiple choice with two to four options whose right letter follows the weights."""
    most = min(4, len(question.wrong) + 1)
    n = max(2, min(most, rng.choices((2, 3, 4), (1, 1, 4))[0]))
    gold = rng.choices(range(n), letter_weights[:n])[0]
    options = rng.sample(question.wrong, n - 1)
    options.insert(gold, question.answer)
    hint = rng.choice(HINTS) if rng.random() < 0.1 else ""
    prompt = multiple_choice(question.text, options, choose_layout(rng), hint)
    return Exchange(question.ability, prompt, LETTERS[gold])
