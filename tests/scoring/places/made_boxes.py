"""Made-up pictures with gold boxes and predicted ones: equal on every machine, for verdicts of other
programs that are kept as data."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

LABELS = ("cup", "dog", "tree")
PICTURES = 450
SETS = ("confidences", "none", "ties", "crowds")
"""How the predicted boxes are ranked: by confidences, by none, by three values of it; and by confidences
in pictures with crowds."""


class MadePicture(NamedTuple):
    gold: list[tuple[str, list[float]]]
    """Label and corners of each gold box."""
    predicted: list[tuple[str, list[float], float]]
    """Label, corners and confidence of each predicted box."""
    crowds: tuple[tuple[str, list[float]], ...] = ()
    """Label and corners of each crowd."""


def make_pictures(name: str) -> list[MadePicture]:
    """The pictures of a set: predicted boxes near gold boxes, near each other, and anywhere."""
    draw = Random(f"boxes of {name}")
    pictures = [_make_picture(draw, name) for _ in range(PICTURES)]
    return [_with_crowds(draw, picture) for picture in pictures] if name == "crowds" else pictures


def _with_crowds(draw: Random, picture: MadePicture) -> MadePicture:
    """The picture with crowds in some, around predicted boxes and anywhere."""
    crowds: list[tuple[str, list[float]]] = []
    for label, box, _ in picture.predicted:
        if draw.random() < 0.2:
            grown = [
                box[0] - draw.uniform(-9, 40),
                box[1] - draw.uniform(-9, 40),
                box[2] + draw.uniform(-9, 40),
                box[3],
            ]
            crowds.append((label, [round(edge, 1) for edge in grown]))
    if draw.random() < 0.2:
        crowds.append((draw.choice(LABELS), _box(draw)))
    proper = tuple((label, box) for label, box in crowds if box[0] < box[2] and box[1] < box[3])
    return picture._replace(crowds=proper)


def _make_picture(draw: Random, name: str) -> MadePicture:
    gold = [(draw.choice(LABELS), _box(draw)) for _ in range(draw.choice((0, 1, 1, 2, 3, 6)))]
    predicted: list[tuple[str, list[float], float]] = []
    for label, box in gold:
        for _ in range(draw.choice((0, 1, 1, 1, 2))):
            spread = draw.choice((0.0, 1.0, 4.0, 12.0))
            moved = [round(max(0.0, edge + draw.uniform(-spread, spread)), 1) for edge in box]
            near = [min(moved[0], moved[2]), min(moved[1], moved[3]), max(moved[0], moved[2]), max(moved[1], moved[3])]
            predicted.append((label if draw.random() < 0.9 else draw.choice(LABELS), near, _score(draw, name)))
    for _ in range(draw.choice((0, 0, 1, 2))):
        predicted.append((draw.choice(LABELS), _box(draw), _score(draw, name)))
    if draw.random() < 0.01:
        label, box = draw.choice(LABELS), _box(draw)
        predicted += [(label, box, _score(draw, name)) for _ in range(120)]
    return MadePicture(gold, predicted)


def _box(draw: Random) -> list[float]:
    left, top = draw.uniform(0, 500), draw.uniform(0, 350)
    width, height = draw.uniform(8, 120), draw.uniform(8, 120)
    return [round(number, 1) for number in (left, top, left + width, top + height)]


def _score(draw: Random, name: str) -> float:
    if name == "none":
        return 1.0
    return draw.choice((0.2, 0.5, 0.9)) if name == "ties" else round(draw.random(), 6)
