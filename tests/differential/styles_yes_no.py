"""Ways in which models answer a yes/no question: bases inside wrappers, as in `styles_choice`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.differential.wrapping import wrapped_styles

Base = Callable[[str, str], str]
"""The word that is said and the other one, in small letters: the reply."""

BASES: dict[str, Base] = {
    "word": lambda a, b: a.capitalize(),
    "word small": lambda a, b: a,
    "word capitals": lambda a, b: a.upper(),
    "word dot": lambda a, b: f"{a.capitalize()}.",
    "word small dot": lambda a, b: f"{a}.",
    "word exclamation": lambda a, b: f"{a.capitalize()}!",
    "word in quotes": lambda a, b: f'"{a.capitalize()}"',
    "word in single quotes": lambda a, b: f"'{a.capitalize()}'",
    "word in parentheses": lambda a, b: f"({a.capitalize()})",
    "word, sentence": lambda a, b: f"{a.capitalize()}, there is a dog in the image.",
    "word. sentence": lambda a, b: f"{a.capitalize()}. The picture shows two dogs.",
    "word sentence with not": lambda a, b: f"{a.capitalize()}, it is not a dog.",
    "bold word": lambda a, b: f"**{a.capitalize()}**",
    "bold word dot": lambda a, b: f"**{a.capitalize()}.**",
    "boxed": lambda a, b: f"\\boxed{{{a.capitalize()}}}",
    "boxed text macro": lambda a, b: f"$\\boxed{{\\text{{{a}}}}}$",
    "answer tag": lambda a, b: f"<answer>{a}</answer>",
    "Answer colon": lambda a, b: f"Answer: {a.capitalize()}",
    "Answer colon no blank": lambda a, b: f"Answer:{a}",
    "bold Answer": lambda a, b: f"**Answer**: {a.capitalize()}",
    "Final answer": lambda a, b: f"Final answer: {a}",
    "the answer is": lambda a, b: f"The answer is {a}.",
    "the answer is quoted": lambda a, b: f'The answer is "{a}".',
    "the correct answer is": lambda a, b: f"The correct answer is {a.upper()}.",
    "so the answer": lambda a, b: f"I see a ball on the grass, so the answer is {a}.",
    "I would say": lambda a, b: f"I would say {a}.",
    "it is at the end": lambda a, b: f"Is there a dog? {a.capitalize()}",
    "both words": lambda a, b: f"{a.capitalize()} and {b}.",
    "one or the other": lambda a, b: f"Either {a} or {b}.",
    "not other but word": lambda a, b: f"The answer is not {b} but {a}.",
    "first one then other": lambda a, b: f"At first {b}; on second thoughts {a}.",
    "word then other in prose": lambda a, b: f"{a.capitalize()}. Others would say {b}.",
    "there is": lambda a, b: f"There is {'a' if a == 'yes' else 'no'} dog in the image.",
    "sentence without word": lambda a, b: "The image shows a street with parked cars.",
    "sentence with not": lambda a, b: "I do not see a dog in this picture.",
    "sentence with no one": lambda a, b: "There are no people, but a dog is there.",
    "know and now": lambda a, b: "I know it now: it is a dog.",
    "yesterday": lambda a, b: "It was taken yesterday, nobody is in it.",
    "correct": lambda a, b: "That is correct." if a == "yes" else "That is incorrect.",
    "true": lambda a, b: "True" if a == "yes" else "False",
    "true dot reason": lambda a, b: f"{'True' if a == 'yes' else 'False'}. It stands left.",
    "yeah": lambda a, b: "Yeah, I think so" if a == "yes" else "Nope, not at all",
    "letter": lambda a, b: "A" if a == "yes" else "B",
    "number": lambda a, b: "1" if a == "yes" else "0",
    "Chinese": lambda a, b: "是" if a == "yes" else "否",
    "Chinese sentence": lambda a, b: "是的，图中有一只狗。" if a == "yes" else "不，没有狗。",
    "not sure": lambda a, b: "I am not sure about that.",
    "cannot say": lambda a, b: "I cannot determine this from the image.",
    "refusal": lambda a, b: "I'm sorry, but I can't help with that.",
    "I think yes": lambda a, b: f"I think {a}",
    "question again": lambda a, b: f"Question: Is there a dog? Answer: {a}",
    "json": lambda a, b: f'{{"answer": "{a}"}}',
    "two lines": lambda a, b: f"{a.capitalize()}\nThe dog lies in front of the door.",
    "dots": lambda a, b: "...",
}

WRAPPERS: dict[str, Callable[[str], str]] = {
    "thinking": lambda s: f"<think>Is it a dog? No, or yes.</think>\n{s}",
    "unclosed thinking": lambda s: f"Looking closely, yes.</think>\n\n{s}",
    "steps before": lambda s: f"Let's think step by step. The left side is dark.\n\n{s}",
    "explanation behind": lambda s: f"{s}\n\nExplanation: the dog is behind the fence.",
    "blank lines": lambda s: f"\n\n{s}\n",
    "polite": lambda s: f"Sure! {s}",
    "Assistant": lambda s: f"ASSISTANT: {s}",
    "end mark": lambda s: f"{s}</s>",
    "trailing blanks": lambda s: f"  {s}  ",
    "bullet": lambda s: f"- {s}",
    "comma": lambda s: f"Well, {s}",
}


def styles() -> list[tuple[str, Base]]:
    """Every base alone, then each in a wrapper."""
    return wrapped_styles(BASES, WRAPPERS)


def replies(gold: str, number: int) -> Iterator[tuple[str, str]]:
    """Style and reply, for every style; by `number` of the question the word is right or wrong."""
    other = "no" if gold == "yes" else "yes"
    for position, (style, write) in enumerate(styles()):
        word, against = (gold, other) if (position + number) % 3 else (other, gold)
        yield style, write(word, against)
