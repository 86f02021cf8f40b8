"""Ways in which models answer a multiple-choice question, and questions to ask.

A style is a base (what is said) inside a wrapper (what stands around it). Every base stands alone
once, and once in a wrapper; the wrappers rotate. A set of three questions thus holds over 300
replies in over 100 styles. Some are right, some wrong, some say nothing: what counts is that two
scorers agree, not that the reply is clever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.differential.wrapping import wrapped_styles


@dataclass(frozen=True, slots=True)
class Choice:
    """A made-up question: the texts of its options by label, and the label of its answer."""

    question: str
    options: dict[str, str]
    gold: str

    @property
    def other(self) -> str:
        """A label that is wrong: the first."""
        return next(label for label in self.options if label != self.gold)


def choice(question: str, gold: str, *texts: str) -> Choice:
    return Choice(question, dict(zip("ABCDEFGHIJ", texts, strict=False)), gold)


QUESTIONS = (
    choice("Which tree stands behind the bench?", "B", "oak", "elm tree", "silver fir", "ash"),
    choice("How many boats are in the harbour?", "C", "3", "12", "7", "21"),
    choice("What is the man holding?", "D", "A red umbrella", "A dog", "An apple", "A newspaper"),
    choice("Which animal is nearest to the camera?", "A", "The cat", "The horse", "The sheep", "None"),
    choice("What is the colour of the sign?", "B", "Yellow and black", "White", "Green", "Blue"),
    choice(
        "What happens after the door opens?",
        "D",
        "He sits down.",
        "She leaves.",
        "The light goes out.",
        "A dog runs in.",
    ),
)
"""Short and long options, options that begin with the article A, numbers, sentences, `None`."""

Base = Callable[[str, str, str, str], str]
"""Label and text of the option that is chosen, label and text of another: the reply."""

BASES: dict[str, Base] = {
    "letter": lambda a, t, b, u: a,
    "letter dot": lambda a, t, b, u: f"{a}.",
    "letter parenthesis": lambda a, t, b, u: f"{a})",
    "letter in parentheses": lambda a, t, b, u: f"({a})",
    "letter in brackets": lambda a, t, b, u: f"[{a}]",
    "letter colon": lambda a, t, b, u: f"{a}:",
    "small letter": lambda a, t, b, u: a.lower(),
    "small letter in parentheses": lambda a, t, b, u: f"({a.lower()})",
    "letter dot text": lambda a, t, b, u: f"{a}. {t}",
    "letter colon text": lambda a, t, b, u: f"{a}: {t}",
    "parentheses text": lambda a, t, b, u: f"({a}) {t}",
    "letter comma text": lambda a, t, b, u: f"{a}, {t}",
    "text": lambda a, t, b, u: t,
    "text in small letters": lambda a, t, b, u: t.lower(),
    "text dot": lambda a, t, b, u: f"{t.rstrip('.')}.",
    "text letter": lambda a, t, b, u: f"{t} ({a})",
    "bold letter": lambda a, t, b, u: f"**{a}**",
    "bold letter dot": lambda a, t, b, u: f"**{a}.**",
    "bold letter text": lambda a, t, b, u: f"**{a}. {t}**",
    "boxed": lambda a, t, b, u: f"\\boxed{{{a}}}",
    "boxed in dollars": lambda a, t, b, u: f"$\\boxed{{{a}}}$",
    "boxed text macro": lambda a, t, b, u: f"\\boxed{{\\text{{{a}}}}}",
    "answer tag": lambda a, t, b, u: f"<answer>{a}</answer>",
    "answer tag text": lambda a, t, b, u: f"<answer>{a}. {t}</answer>",
    "Answer colon": lambda a, t, b, u: f"Answer: {a}",
    "Answer colon no blank": lambda a, t, b, u: f"Answer:{a}",
    "Answer small": lambda a, t, b, u: f"answer: {a.lower()}",
    "Answer parentheses": lambda a, t, b, u: f"Answer: ({a})",
    "Answer letter text": lambda a, t, b, u: f"Answer: {a}. {t}",
    "Final Answer": lambda a, t, b, u: f"Final Answer: {a}",
    "bold Final Answer": lambda a, t, b, u: f"**Final Answer**: {a}",
    "bold Answer colon": lambda a, t, b, u: f"**Answer:** {a}",
    "Ans colon": lambda a, t, b, u: f"Ans: {a}",
    "the answer is": lambda a, t, b, u: f"The answer is {a}.",
    "the answer is parentheses": lambda a, t, b, u: f"The answer is ({a}).",
    "the answer is bold": lambda a, t, b, u: f"The answer is **{a}**.",
    "the correct answer is": lambda a, t, b, u: f"The correct answer is {a}. {t}",
    "the correct option is": lambda a, t, b, u: f"The correct option is ({a}) {t}",
    "the answer is text": lambda a, t, b, u: f"The answer is {t.lower()}",
    "Option letter": lambda a, t, b, u: f"Option {a}",
    "Option letter is": lambda a, t, b, u: f"Option {a} is correct.",
    "I would choose": lambda a, t, b, u: f"I would choose {a}.",
    "it is text": lambda a, t, b, u: f"It looks like {t.lower()} to me.",
    "letter because": lambda a, t, b, u: f"{a} because {t.lower()} can be seen.",
    "letter, not other": lambda a, t, b, u: f"{a}, not {b}.",
    "not other but letter": lambda a, t, b, u: f"It is not {b}, so it must be {a}.",
    "other is wrong": lambda a, t, b, u: f"{b} is wrong. The answer is {a}.",
    "either or": lambda a, t, b, u: f"Either {a} or {b}.",
    "both letters": lambda a, t, b, u: f"{a} and {b}",
    "both letters comma": lambda a, t, b, u: f"{a}, {b}",
    "both texts": lambda a, t, b, u: f"{t} or {u}",
    "first one then other": lambda a, t, b, u: f"First I thought {b}. No: the answer is {a}.",
    "every option judged": lambda a, t, b, u: f"({b}) {u} does not fit. ({a}) {t} fits.",
    "json": lambda a, t, b, u: f'{{"answer": "{a}"}}',
    "Chinese": lambda a, t, b, u: f"答案是{a}。",
    "Chinese choose": lambda a, t, b, u: f"选择{a}",
    "Chinese answer colon": lambda a, t, b, u: f"答案：{a}",
    "article A in a sentence": lambda a, t, b, u: "A person walks along the road.",
    "A alone in prose": lambda a, t, b, u: "There is a tree and a house in it.",
    "refusal": lambda a, t, b, u: "I'm sorry, but I can't help with that.",
    "cannot determine": lambda a, t, b, u: "Cannot determine the answer from the image.",
    "no image": lambda a, t, b, u: "I'm sorry, but without the image provided I cannot answer.",
    "none of them": lambda a, t, b, u: "None of the options is right.",
    "all of the above": lambda a, t, b, u: "All of the above",
    "letter out of range": lambda a, t, b, u: "Z",
    "number": lambda a, t, b, u: "2",
    "empty dots": lambda a, t, b, u: "...",
    "long prose without letter": lambda a, t, b, u: (
        "The picture shows a quiet place in the early morning, with mist over the water and a few "
        "people who walk along the shore and talk with each other about the day before."
    ),
}

WRAPPERS: dict[str, Callable[[str], str]] = {
    "thinking": lambda s: f"<think>A or C? A is wrong, I think.</think>\n{s}",
    "unclosed thinking": lambda s: f"Let me look at the picture.</think>\n\n{s}",
    "steps before": lambda s: f"Let's think step by step. The left side is dark.\n\n{s}",
    "explanation behind": lambda s: f"{s}\n\nExplanation: A closer look shows the details.",
    "blank lines": lambda s: f"\n\n{s}\n",
    "polite": lambda s: f"Sure! {s}",
    "quoted": lambda s: f'"{s}"',
    "Assistant": lambda s: f"ASSISTANT: {s}",
    "end mark": lambda s: f"{s}</s>",
    "trailing blanks": lambda s: f"  {s}  ",
    "code fence": lambda s: f"```\n{s}\n```",
    "bullet": lambda s: f"- {s}",
}


def styles(shift: int = 0) -> list[tuple[str, Base]]:
    """Every base alone, then each in a wrapper: the one that is `shift` behind its first."""
    return wrapped_styles(BASES, shifted_wrappers(shift))


def shifted_wrappers(shift: int) -> dict[str, Callable[[str], str]]:
    names = list(WRAPPERS)
    return {name: WRAPPERS[name] for name in (*names[shift:], *names[:shift])}


def replies(question: Choice, number: int, shift: int = 0) -> Iterator[tuple[str, str]]:
    """Style and reply, for every style; right or wrong by `number` of the question."""
    labels = list(question.options)
    for position, (style, write) in enumerate(styles(shift)):
        label = question.gold if (position + number) % 3 else question.other
        rest = [other for other in labels if other != label]
        other = rest[(position + number) % len(rest)]
        yield style, write(label, question.options[label], other, question.options[other])
