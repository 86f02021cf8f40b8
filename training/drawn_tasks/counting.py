"""Counting: how many things of some kind the picture holds."""

from __future__ import annotations

import random

from training.drawn_tasks.task import INK, SIDE, Canvas, DrawnQuestion, DrawnTask, colours, question
from training.tiny.world import COLOURS

NUMBERS = ("1", "2", "3", "4", "5", "6")
_PIPS = {
    1: ((1, 1),),
    2: ((0, 0), (2, 2)),
    3: ((0, 0), (1, 1), (2, 2)),
    4: ((0, 0), (0, 2), (2, 0), (2, 2)),
    5: ((0, 0), (0, 2), (1, 1), (2, 0), (2, 2)),
    6: ((0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2)),
}


def counting_discs(rng: random.Random) -> DrawnQuestion:
    count, canvas = rng.randint(1, 6), Canvas(rng)
    colour = COLOURS[rng.choice(list(COLOURS))]
    for cell in rng.sample(range(9), count):
        canvas.disc(12 + 20 * (cell % 3), 12 + 20 * (cell // 3), 6, colour)
    return question(canvas, "How many balls lie on the table?", str(count), NUMBERS)


def counting_by_category(rng: random.Random) -> DrawnQuestion:
    count, canvas = rng.randint(1, 4), Canvas(rng)
    wanted, other = colours(rng, 2)
    cells = rng.sample(range(9), 7)
    for number, cell in enumerate(cells):
        colour = COLOURS[wanted if number < count else other]
        canvas.box(6 + 20 * (cell % 3), 6 + 20 * (cell // 3), 12, 12, colour)
    return question(canvas, "Count only the {0} boxes, please.", str(count), NUMBERS[:4], wanted)


def counting_lines(rng: random.Random) -> DrawnQuestion:
    count, canvas = rng.randint(2, 6), Canvas(rng)
    offset, gap, top = rng.randint(4, 10), rng.choice((7, 8, 9)), rng.randint(4, 14)
    for number in range(count):
        canvas.box(offset + number * gap, top, 2, 44, INK)
    return question(canvas, "What number of vertical bars was ruled?", str(count), NUMBERS)


def dice_reading(rng: random.Random) -> DrawnQuestion:
    count, canvas = rng.randint(1, 6), Canvas(rng)
    x, y = rng.randint(4, 16), rng.randint(4, 16)
    canvas.pen.rounded_rectangle((x, y, x + 44, y + 44), 6, fill=(255, 255, 255), outline=INK)
    for column, row in _PIPS[count]:
        canvas.disc(x + 9 + 13 * column, y + 9 + 13 * row, 4, INK)
    return question(canvas, "The die was thrown. Its score is", str(count), NUMBERS)


def counting_corners(rng: random.Random) -> DrawnQuestion:
    corners, canvas = rng.randint(3, 6), Canvas(rng)
    turn, colour = rng.uniform(0, 360), COLOURS[rng.choice(list(COLOURS))]
    middle = SIDE / 2
    canvas.polygon(middle, middle, 26, [turn + 360 * k / corners for k in range(corners)], colour)
    return question(canvas, "Number of corners of this polygon?", str(corners), NUMBERS[2:])


TASKS = tuple(
    DrawnTask(ask.__name__, "counting", ask)
    for ask in (counting_discs, counting_by_category, counting_lines, dice_reading, counting_corners)
)
