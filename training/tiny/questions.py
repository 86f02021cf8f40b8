"""What can be asked about one picture, with the right answer and wrong ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from training.tiny.world import COLOURS, SHAPES, WORDS, Scene, Thing

POSITIONS = ("top left", "top right", "bottom left", "bottom right")
SIDES = ("left", "right", "above", "below")
COUNTS = ("1", "2", "3", "4", "5", "6")
CLEAR = 0.08


@dataclass(frozen=True)
class Question:
    """A question with its answer; `wrong` are the values a multiple choice may offer beside it.

    A yes/no question has no wrong values; one that only makes sense with options is not `open`.
    """

    ability: str
    text: str
    answer: str
    wrong: tuple[str, ...] = ()
    open: bool = True

    @property
    def yes_no(self) -> bool:
        """Whether the answer is Yes or No."""
        return not self.wrong


Ask = Callable[[Scene, random.Random], Question | None]
AskTruth = Callable[[Scene, random.Random, bool], Question | None]


def others(pool: tuple[str, ...], value: str) -> tuple[str, ...]:
    """The pool without the value."""
    return tuple(v for v in pool if v != value)


def describe(scene: Scene, thing: Thing, rng: random.Random) -> str | None:
    """Words that fit this thing and no other in the scene: "circle", "red object", "red circle"."""
    found = []
    if sum(t.shape == thing.shape for t in scene.things) == 1:
        found.append(thing.shape)
    if sum(t.colour == thing.colour for t in scene.things) == 1:
        found.append(f"{thing.colour} object")
    if sum((t.shape, t.colour) == (thing.shape, thing.colour) for t in scene.things) == 1:
        found.append(f"{thing.colour} {thing.shape}")
    return rng.choice(found) if found else None


def quadrant(thing: Thing) -> str | None:
    """Which quarter of the picture the thing is in, None near a border between quarters."""
    if abs(thing.x - 0.5) < CLEAR or abs(thing.y - 0.5) < CLEAR:
        return None
    return f"{'top' if thing.y < 0.5 else 'bottom'} {'left' if thing.x < 0.5 else 'right'}"


def side(thing: Thing, other: Thing) -> str | None:
    """On which side of the other the thing is, None when it is not clear."""
    dx, dy = thing.x - other.x, thing.y - other.y
    if abs(dx) > 0.2 and abs(dy) < abs(dx) / 2:
        return "left" if dx < 0 else "right"
    if abs(dy) > 0.2 and abs(dx) < abs(dy) / 2:
        return "above" if dy < 0 else "below"
    return None


def ask_colour(scene: Scene, rng: random.Random) -> Question | None:
    """The colour of the only thing of its shape."""
    thing = _only(scene, rng, "shape")
    if thing is None:
        return None
    text = rng.choice(
        (
            "What color is the {}?",
            "What is the color of the {}?",
            "Which color is the {}?",
            "The {} is what color?",
            "What colour is the {}?",
        )
    ).format(thing.shape)
    return Question("colour", text, thing.colour, others(tuple(COLOURS), thing.colour))


def ask_shape(scene: Scene, rng: random.Random) -> Question | None:
    """The shape of the only thing of its colour."""
    thing = _only(scene, rng, "colour")
    if thing is None:
        return None
    text = rng.choice(
        (
            "What shape is the {} object?",
            "What is the shape of the {} object?",
            "Which shape is {}?",
            "What is {} in the picture?",
            "The {} object is a what?",
        )
    ).format(thing.colour)
    return Question("shape", text, thing.shape, others(SHAPES, thing.shape))


def ask_count(scene: Scene, rng: random.Random) -> Question | None:
    """How many things there are, of all or of one kind; larger numbers, rarer, are preferred."""
    if not scene.things:
        return None
    kinds = {"objects": len(scene.things)}
    for colour, n in Counter(t.colour for t in scene.things).items():
        kinds[f"{colour} objects"] = n
    for shape, n in Counter(t.shape for t in scene.things).items():
        kinds["crosses" if shape == "cross" else f"{shape}s"] = n
    numbers = sorted(set(kinds.values()))
    number = rng.choices(numbers, numbers)[0]
    kind = rng.choice([k for k, n in kinds.items() if n == number])
    text = rng.choice(
        ("How many {} are there?", "How many {} are in the picture?", "What is the number of {}?", "Count the {}.")
    ).format(kind)
    return Question("count", text, str(number), others(COUNTS, str(number)))


def ask_position(scene: Scene, rng: random.Random) -> Question | None:
    """The quarter of the picture a thing is in."""
    things = [t for t in scene.things if quadrant(t)]
    thing = rng.choice(things) if things else None
    name = describe(scene, thing, rng) if thing else None
    where = quadrant(thing) if thing else None
    if name is None or where is None:
        return None
    text = rng.choice(
        (
            "Where is the {} in the picture?",
            "Where is the {}?",
            "In which part of the picture is the {}?",
            "The {} is in which corner?",
        )
    ).format(name)
    return Question("position", text, where, others(POSITIONS, where))


def ask_relation(scene: Scene, rng: random.Random) -> Question | None:
    """On which side of another thing a thing is."""
    found = _pair(scene, rng)
    if found is None:
        return None
    one, other, where = found
    text = rng.choice(
        (
            "Where is the {} relative to the {}?",
            "Where is the {} seen from the {}?",
            "The {} is on which side of the {}?",
        )
    ).format(one, other)
    return Question("relation", text, where, others(SIDES, where))


def ask_existence(scene: Scene, rng: random.Random) -> Question | None:
    """Which colour or shape occurs at all; only fair with options."""
    if not scene.things:
        return None
    thing = rng.choice(scene.things)
    if rng.random() < 0.5:
        present = {t.colour for t in scene.things}
        answer, pool, noun = thing.colour, tuple(COLOURS), "color"
    else:
        present = {t.shape for t in scene.things}
        answer, pool, noun = thing.shape, SHAPES, "shape"
    wrong = tuple(v for v in pool if v not in present)
    text = rng.choice(
        ("Which {} is in the picture?", "Which of these is in the picture?", "Which {} do you see?")
    ).format(noun)
    return Question("existence", text, answer, wrong, open=False) if len(wrong) >= 3 else None


def ask_text(scene: Scene, rng: random.Random) -> Question | None:
    """The word or number written in the picture; half of the wrong numbers share a digit."""
    if scene.lettering is None:
        return None
    answer = scene.lettering.content
    if answer.isdigit():
        noun = "number"
        near = [answer[0] + d for d in "0123456789"] + [d + answer[1] for d in "123456789"]
        far = [str(rng.randint(10, 99)) for _ in range(8)]
        wrong = tuple(dict.fromkeys(v for v in rng.sample(near, 8) + far if v != answer))
    else:
        noun, wrong = "word", others(WORDS, answer)
    text = rng.choice(
        (
            "What {} is written in the picture?",
            "Which {} is shown?",
            "What does the text say?",
            "Read the {} in the picture.",
        )
    ).format(noun)
    return Question("rendered_text", text, answer, wrong)


def _only(scene: Scene, rng: random.Random, by: str) -> Thing | None:
    """A thing whose colour or shape no other thing has."""
    values = Counter(getattr(t, by) for t in scene.things)
    things = [t for t in scene.things if values[getattr(t, by)] == 1]
    return rng.choice(things) if things else None


def _pair(scene: Scene, rng: random.Random) -> tuple[str, str, str] | None:
    """Names of two things and the side of the second that the first is on."""
    pairs = [
        (a, b, where) for a in scene.things for b in scene.things if a is not b and (where := side(a, b)) is not None
    ]
    if not pairs:
        return None
    a, b, where = rng.choice(pairs)
    one, other = describe(scene, a, rng), describe(scene, b, rng)
    return (one, other, where) if one and other else None


ASK: dict[str, Ask] = {
    "colour": ask_colour,
    "shape": ask_shape,
    "existence": ask_existence,
    "rendered_text": ask_text,
    "count": ask_count,
    "position": ask_position,
    "relation": ask_relation,
}
