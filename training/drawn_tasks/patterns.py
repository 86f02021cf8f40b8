"""Geometry and patterns: angles, lines, symmetry, sequences and the odd one out."""

from __future__ import annotations

import random

from training.drawn_tasks.task import INK, ORDINALS, SIDE, Canvas, DrawnQuestion, DrawnTask, colours, polar, question
from training.tiny.world import COLOURS

ANGLES = ("acute", "right angle", "obtuse", "straight")
PAIRS = ("parallel", "crossing", "meeting at an end")
TURNS = ("upright", "a quarter turn", "upside down", "three quarter turns")
AXES = ("vertical axis", "horizontal axis", "no axis")
LENGTHS = ("the upper one", "the lower one", "both equal")


def angle_type(rng: random.Random) -> DrawnQuestion:
    kind, canvas = rng.randrange(4), Canvas(rng)
    width = (rng.uniform(30, 50), 90, rng.uniform(120, 150), 180)[kind]
    middle, turn = SIDE / 2, rng.uniform(0, 360)
    for degrees in (turn, turn + width):
        canvas.pen.line(((middle, middle), polar(middle, middle, 28, degrees)), fill=INK, width=2)
    return question(canvas, "What kind of angle do both legs form?", ANGLES[kind], ANGLES)


def line_pair(rng: random.Random) -> DrawnQuestion:
    kind, canvas = rng.randrange(3), Canvas(rng)
    colour, slope = COLOURS["red"], rng.randint(-8, 8)
    if kind == 0:
        ends = ((6, 20, 58, 20 + slope), (6, 40, 58, 40 + slope))
    elif kind == 1:
        ends = ((6, 10, 58, 54), (6, 54, 58, 10 + abs(slope)))
    else:
        ends = ((8, 32, 56, 10), (8, 32, 56, 54 - abs(slope)))
    for line in ends:
        canvas.pen.line(line, fill=colour, width=2)
    return question(canvas, "How do the two straight lines run?", PAIRS[kind], PAIRS)


def letter_rotation(rng: random.Random) -> DrawnQuestion:
    turn, canvas = rng.randrange(4), Canvas(rng)
    canvas.write(rng.choice("FRPLG"), SIDE / 2, SIDE / 2, 46)
    turned = canvas.picture.rotate(-90 * turn, fillcolor=canvas.background)
    wrong = tuple(name for name in TURNS if name != TURNS[turn])
    return DrawnQuestion(turned, "How far was the letter rotated clockwise?", TURNS[turn], wrong)


def symmetry(rng: random.Random) -> DrawnQuestion:
    axis, canvas = rng.randrange(3), Canvas(rng)
    cells = [(x, y) for x in range(4) for y in range(4)]
    chosen = set(rng.sample([c for c in cells if axis == 2 or c[1 if axis == 1 else 0] < 2], 4))
    if axis == 0:
        chosen |= {(3 - x, y) for x, y in chosen}
    elif axis == 1:
        chosen |= {(x, 3 - y) for x, y in chosen}
    for x, y in chosen:
        canvas.box(5 + 14 * x, 5 + 14 * y, 12, 12, COLOURS["purple"])
    return question(canvas, "Along which axis is the ornament mirrored?", AXES[axis], AXES)


def sequence_completion(rng: random.Random) -> DrawnQuestion:
    names, canvas = colours(rng, 4), Canvas(rng)
    first, second, *_ = names
    for place, name in enumerate((first, second, first, second, first)):
        canvas.disc(8 + 12 * place, 32, 5, COLOURS[name])
    return question(canvas, "The beads repeat. Which bead must come next?", second, names)


def odd_one_out(rng: random.Random) -> DrawnQuestion:
    place, canvas = rng.randrange(4), Canvas(rng)
    colour = COLOURS[rng.choice(list(COLOURS))]
    for number in range(4):
        x = 8 + 16 * number
        if number == place:
            canvas.polygon(x, 32, 8, (0, 120, 240), colour)
        else:
            canvas.box(x - 6, 26, 12, 12, colour)
    return question(canvas, "Which figure in the row does not fit?", ORDINALS[place], ORDINALS)


def length_comparison(rng: random.Random) -> DrawnQuestion:
    kind, canvas = rng.randrange(3), Canvas(rng)
    long, short = rng.randint(44, 54), rng.randint(22, 32)
    upper, lower = ((long, short), (short, long), (long, long))[kind]
    canvas.box(32 - upper / 2, 20, upper, 3, COLOURS["blue"])
    canvas.box(32 - lower / 2, 42, lower, 3, COLOURS["blue"])
    return question(canvas, "Compare both rods: which is longer?", LENGTHS[kind], LENGTHS)


TASKS = (
    *(DrawnTask(ask.__name__, "geometry", ask) for ask in (angle_type, line_pair, letter_rotation, symmetry)),
    *(DrawnTask(ask.__name__, "pattern_reasoning", ask) for ask in (sequence_completion, odd_one_out)),
    DrawnTask("length_comparison", "visual_illusion", length_comparison),
)
