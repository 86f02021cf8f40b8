"""What a picture holds: coloured shapes at places, or one piece of lettering."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Literal

Rgb = tuple[int, int, int]
Split = Literal["train", "dev", "heldout", "test"]

COLOURS: dict[str, Rgb] = {
    "red": (215, 40, 40),
    "green": (40, 160, 60),
    "blue": (45, 85, 220),
    "yellow": (235, 210, 45),
    "orange": (240, 135, 30),
    "purple": (130, 50, 170),
    "pink": (245, 145, 190),
    "black": (28, 28, 28),
}
SHAPES = ("circle", "square", "triangle", "star", "cross", "diamond", "ring")
WORDS = ("cat", "dog", "sun", "car", "tree", "milk", "book", "fish", "stop", "exit", "open", "taxi")
BACKGROUNDS: tuple[Rgb, ...] = ((245, 245, 245), (228, 236, 250), (250, 240, 224), (228, 243, 228))
MAX_THINGS = 6
GAP = 0.02


@dataclass(frozen=True)
class Thing:
    """One coloured shape; `x`, `y` and `radius` are fractions of the picture's side."""

    colour: str
    shape: str
    x: float
    y: float
    radius: float
    rgb: Rgb


@dataclass(frozen=True)
class Lettering:
    """A word or a two-digit number written across the picture, centred on `x`, `y`."""

    content: str
    x: float
    y: float
    height: float
    rgb: Rgb


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn: a background with things, or a background with lettering."""

    background: Rgb
    things: tuple[Thing, ...] = ()
    lettering: Lettering | None = None


def stream(split: Split, seed: int, index: int) -> random.Random:
    """The random numbers of one item; different splits never share a stream."""
    return random.Random(f"snellen-tiny/{split}/{seed}/{index}")


def sample_scene(rng: random.Random, fewest: int = 1, most: int = MAX_THINGS) -> Scene:
    """Some things that do not touch; in about half of the scenes a kind is repeated."""
    wanted = rng.randint(fewest, most)
    kinds = _kinds(rng, wanted)
    things: list[Thing] = []
    for colour, shape in kinds:
        thing = _place(rng, colour, shape, things, crowded=wanted > 4)
        if thing is not None:
            things.append(thing)
    return Scene(_jitter(rng, rng.choice(BACKGROUNDS), 6), tuple(things))


def sample_lettering(rng: random.Random) -> Scene:
    """A picture with one word or one number between 10 and 99."""
    number = rng.random() < 0.5
    content = str(rng.randint(10, 99)) if number else rng.choice(WORDS)
    height = rng.uniform(0.42, 0.62) if number else rng.uniform(0.30, 0.40)
    lettering = Lettering(
        content,
        x=rng.uniform(0.42, 0.58),
        y=rng.uniform(0.32, 0.68),
        height=height,
        rgb=_jitter(rng, rng.choice(((30, 30, 30), (120, 20, 20), (20, 40, 120))), 12),
    )
    return Scene(_jitter(rng, rng.choice(BACKGROUNDS), 6), lettering=lettering)


def _kinds(rng: random.Random, wanted: int) -> list[tuple[str, str]]:
    """Colour and shape of each thing, in half of the scenes with one of the two repeated."""
    kinds = [(rng.choice(list(COLOURS)), rng.choice(SHAPES)) for _ in range(wanted)]
    if wanted > 1 and rng.random() < 0.5:
        alike = rng.randint(2, wanted)
        colour, shape = kinds[0]
        by_colour = rng.random() < 0.5
        for i in range(1, alike):
            kinds[i] = (colour, kinds[i][1]) if by_colour else (kinds[i][0], shape)
    return kinds


def _place(rng: random.Random, colour: str, shape: str, others: list[Thing], crowded: bool) -> Thing | None:
    """A free place for the thing, or None when forty tries found none."""
    for attempt in range(40):
        largest = 0.17 if crowded or attempt > 20 else 0.23
        radius = rng.uniform(0.11, largest)
        x, y = rng.uniform(radius, 1 - radius), rng.uniform(radius, 1 - radius)
        if all(math.hypot(x - o.x, y - o.y) > radius + o.radius + GAP for o in others):
            return Thing(colour, shape, x, y, radius, _jitter(rng, COLOURS[colour], 12))
    return None


def _jitter(rng: random.Random, rgb: Rgb, by: int) -> Rgb:
    """The colour moved by up to `by` per channel."""
    red, green, blue = (min(255, max(0, v + rng.randint(-by, by))) for v in rgb)
    return red, green, blue
