"""Ways in which models caption a picture, and pictures with the captions of five people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential.sets import Case
from tests.differential.styles_open import BASES, FIRST, Base

SCENES: tuple[tuple[str, ...], ...] = (
    (
        "A man with a red helmet on a small moped on a dirt road.",
        "Man riding a motor bike on a dirt road on the countryside.",
        "A man riding on the back of a motorcycle.",
        "A dirt path with a young person on a motor bike rests to the foreground of a verdant area",
        "A man in a red shirt and a red hat is on a motorcycle on a hill side.",
    ),
    (
        "Two dogs aren't playing with the cat's ball.",
        "Two dogs lie beside a ball; a cat watches them!",
        "A cat, two dogs, and a blue ball.",
        "The cat's ball is between two sleeping dogs",
        "dogs and a cat in a living-room",
    ),
    (
        "A woman holds a $5 umbrella at 10:30 a.m. on St. Mark's square.",
        "A woman w/ a black-and-white umbrella.",
        "She cannot see the rain, but holds an umbrella (open).",
        "A lady is walking in the rain...",
        "One woman & one umbrella: it's raining",
    ),
    (
        "A plate of food with broccoli, rice and meat.",
        "There is a plate with rice and vegetables on it",
        "Broccoli and rice on a white plate.",
        "a close up of a plate of food on a table",
        "The meal is made of meat, rice & broccoli.",
    ),
    (
        "An old clock tower in front of a cloudy sky.",
        "A tall tower with a clock on each of its sides",
        "A clock tower that reads 3:25.",
        "the clock on the tower says 25 past 3",
        "A church's clock tower against gray clouds.",
    ),
)
CAPTIONS: dict[str, Base] = {
    **BASES,
    "a photo of": lambda a, b: f"A photo of {a.lower()}",
    "this image depicts": lambda a, b: f"This image depicts {a}",
    "two sentences": lambda a, b: f"{a} {b}",
    "hyphens": lambda a, b: a.replace(" on ", "-on-").replace(" and ", "-and-"),
    "slashes": lambda a, b: a.replace(" of ", "/of/"),
    "contractions": lambda a, b: f"It isn't {a} It's not. They don't, he'll, we've, I'm, dog's.",
    "cannot": lambda a, b: f"One cannot see that {a} Gonna be.",
    "numbers": lambda a, b: f"{a} 1,000 2.5 10:30 3rd 1990s",
    "abbreviations": lambda a, b: f"Mr. Smith of the U.S. sees {a} e.g. vs. St. etc.",
    "signs": lambda a, b: f"{a} $5, 20% & more @ 3 #1 (one) [two] {{three}}",
    "dashes": lambda a, b: f"{a} -- and - so on; that: is!?",
    "ellipsis": lambda a, b: f"{a} ... and so on..",
    "quotations": lambda a, b: f"\"Stop\", says ``the'' 'sign'. {a}",
    "one word": lambda a, b: a.split()[-1],
    "first half": lambda a, b: " ".join(a.split()[: len(a.split()) // 2]),
    "words turned": lambda a, b: " ".join(reversed(a.split())),
    "every word twice": lambda a, b: " ".join(word for one in a.split() for word in (one, one)),
}


def caption_cases(turns: int = 3) -> Callable[[], Iterator[Case]]:
    def cases() -> Iterator[Case]:
        number = FIRST
        for turn in range(turns):
            for position, (style, write) in enumerate(CAPTIONS.items()):
                scene = SCENES[(position + turn * 2) % len(SCENES)]
                said = scene[(position + turn) % len(scene)]
                other = scene[(position + turn + 1) % len(scene)]
                cells: Mapping[str, Any] = {"answer": str(list(scene)), "question": "Describe it."}
                # One's own words are no reference for oneself.
                rest = [one for one in scene if one != said] if position % 2 else list(scene)
                cells = {**cells, "answer": str(rest)}
                yield Case(str(number), cells, style, write(said, other))
                number += 1

    return cases
