"""What a drawn task is: a function that draws one picture and asks one question about it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from training.tiny.world import BACKGROUNDS, COLOURS, Rgb

SIDE = 64
"""Width and height of a picture in pixels, which the bundled model takes as they are."""
INK: Rgb = (30, 30, 30)
ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True)
class DrawnQuestion:
    """A picture with a question, its answer, and at least one wrong answer. `{0}`, `{1}` in the
    text stand for `names`."""

    picture: Image.Image
    text: str
    answer: str
    wrong: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class DrawnTask:
    """One subtask: its name, the meta-task that it belongs to, and what it draws and asks."""

    name: str
    meta_task: str
    ask: Callable[[random.Random], DrawnQuestion]


class Canvas:
    """A picture on a plain background, and the pen to draw on it; coordinates are pixels."""

    def __init__(self, rng: random.Random, background: Rgb | None = None) -> None:
        plain = background or rng.choice(BACKGROUNDS)
        self.background: Rgb = (_near(rng, plain[0]), _near(rng, plain[1]), _near(rng, plain[2]))
        self.picture = Image.new("RGB", (SIDE, SIDE), self.background)
        self.pen = ImageDraw.Draw(self.picture)

    def write(self, text: str, x: float, y: float, height: int, colour: Rgb = INK) -> None:
        """Write text with its middle at `x`, `y`."""
        font = ImageFont.load_default(height)
        self.pen.text((x, y), text, fill=colour, font=font, anchor="mm")

    def disc(self, x: float, y: float, radius: float, colour: Rgb) -> None:
        """A filled circle."""
        self.pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)

    def box(self, x: float, y: float, width: float, height: float, colour: Rgb) -> None:
        """A filled rectangle by its left upper corner."""
        self.pen.rectangle((x, y, x + width, y + height), fill=colour)

    def polygon(self, x: float, y: float, radius: float, degrees: Sequence[float], colour: Rgb) -> None:
        """A filled polygon with its corners on a circle, at angles from straight up."""
        corners = [polar(x, y, radius, angle) for angle in degrees]
        self.pen.polygon(corners, fill=colour)


def _near(rng: random.Random, value: int) -> int:
    """A channel's value moved a little, so that no two pictures have to be equal."""
    return min(255, max(0, value + rng.randint(-6, 6)))


def polar(x: float, y: float, radius: float, degrees: float) -> tuple[float, float]:
    """The point at a distance from `x`, `y`, at an angle clockwise from straight up."""
    angle = math.radians(degrees)
    return x + radius * math.sin(angle), y - radius * math.cos(angle)


def question(canvas: Canvas, text: str, answer: str, pool: Sequence[str], *names: str) -> DrawnQuestion:
    """A question whose wrong answers are the rest of a pool."""
    wrong = tuple(v for v in pool if v != answer)
    return DrawnQuestion(canvas.picture, text, answer, wrong, names)


def colours(rng: random.Random, count: int) -> list[str]:
    """Names of different colours."""
    return rng.sample(list(COLOURS), count)
