"""Localisation and relations: where a thing is, in the picture or beside another one."""

from __future__ import annotations

import random

from training.drawn_tasks.task import INK, SIDE, Canvas, DrawnQuestion, DrawnTask, colours, polar, question
from training.tiny.world import COLOURS

CORNERS = ("top left", "top right", "bottom left", "bottom right")
SIDES = ("left of it", "right of it", "above it", "below it")
DIRECTIONS = ("up", "down", "left", "right")
SCALE = ("0", "2", "4", "6", "8", "10")
CELLS = tuple(f"{letter}{number}" for number in (1, 2, 3) for letter in "abc")


def corner_localization(rng: random.Random) -> DrawnQuestion:
    place, canvas = rng.randrange(4), Canvas(rng)
    x, y = 14 + 36 * (place % 2), 14 + 36 * (place // 2)
    canvas.disc(x + rng.uniform(-4, 4), y + rng.uniform(-4, 4), 9, COLOURS["red"])
    return question(canvas, "In which corner was the coin left?", CORNERS[place], CORNERS)


def cell_localization(rng: random.Random) -> DrawnQuestion:
    cell, canvas = rng.randrange(9), Canvas(rng)
    for edge in (2, 22, 42, 62):
        canvas.pen.line((edge, 2, edge, 62), fill=INK)
        canvas.pen.line((2, edge, 62, edge), fill=INK)
    canvas.box(5 + 20 * (cell % 3), 5 + 20 * (cell // 3), 14, 14, COLOURS["blue"])
    return question(canvas, "Columns a, b, c and rows 1, 2, 3: filled field?", CELLS[cell], CELLS)


def relation(rng: random.Random) -> DrawnQuestion:
    where, canvas = rng.randrange(4), Canvas(rng)
    dx, dy = ((-1, 0), (1, 0), (0, -1), (0, 1))[where]
    canvas.box(26, 26, 12, 12, INK)
    x, y = SIDE / 2 + 22 * dx + rng.uniform(-3, 3), SIDE / 2 + 22 * dy + rng.uniform(-3, 3)
    canvas.disc(x, y, 7, COLOURS["green"])
    return question(canvas, "Seen from the black box, the green pea is", SIDES[where], SIDES)


def containment(rng: random.Random) -> DrawnQuestion:
    inside, outside, third = colours(rng, 3)
    canvas, left = Canvas(rng), rng.random() < 0.5
    x, y = (20, 44) if left else (44, 20)
    canvas.pen.ellipse((x - 17, y - 17, x + 17, y + 17), outline=INK, width=2)
    canvas.disc(x, y, 7, COLOURS[inside])
    canvas.disc(SIDE - x, SIDE - y, 7, COLOURS[outside])
    canvas.disc(SIDE - x, y, 5, COLOURS[third])
    text = "Which pearl is enclosed by the thin hoop?"
    return question(canvas, text, inside, (inside, outside, third))


def overlap_order(rng: random.Random) -> DrawnQuestion:
    under, over = colours(rng, 2)
    canvas, shift = Canvas(rng), rng.choice((-10, 10))
    canvas.box(18 - shift, 16, 28, 28, COLOURS[under])
    canvas.box(18 + shift, 22, 28, 28, COLOURS[over])
    return question(canvas, "Two papers overlap. Which one lies on top?", over, (under, over))


def nearest_object(rng: random.Random) -> DrawnQuestion:
    names = colours(rng, 3)
    canvas, turn = Canvas(rng), rng.uniform(0, 360)
    canvas.write("x", SIDE / 2, SIDE / 2, 16)
    for number, (name, distance) in enumerate(zip(names, (12, 24, 27), strict=True)):
        x, y = polar(SIDE / 2, SIDE / 2, distance, turn + 120 * number)
        canvas.disc(x, y, 4, COLOURS[name])
    return question(canvas, "Who stands closest to the cross mark x?", names[0], names)


def arrow_direction(rng: random.Random) -> DrawnQuestion:
    way, canvas = rng.randrange(4), Canvas(rng)
    degrees = (0, 180, 270, 90)[way]
    x, y = rng.uniform(28, 36), rng.uniform(28, 36)
    tail, head = polar(x, y, 22, degrees + 180), polar(x, y, 8, degrees)
    canvas.pen.line((tail, head), fill=INK, width=5)
    corners = [polar(x, y, 24, degrees), polar(*head, 11, degrees + 90)]
    canvas.pen.polygon([*corners, polar(*head, 11, degrees - 90)], fill=INK)
    return question(canvas, "The arrow points in what direction?", DIRECTIONS[way], DIRECTIONS)


def scale_reading(rng: random.Random) -> DrawnQuestion:
    place, canvas = rng.randrange(6), Canvas(rng)
    y = rng.randint(28, 44)
    canvas.box(4, y, 56, 1, INK)
    for tick in range(6):
        canvas.box(4 + 11 * tick, y - 3, 1, 7, INK)
    x = 4.5 + 11 * place
    canvas.pen.polygon(((x - 5, y - 16), (x + 5, y - 16), (x, y - 5)), fill=COLOURS["purple"])
    text = "The ruler goes from 0 to 10. What does the pointer mark?"
    return question(canvas, text, SCALE[place], SCALE)


def connected_path(rng: random.Random) -> DrawnQuestion:
    names = colours(rng, 3)
    canvas, ends = Canvas(rng), rng.sample(range(3), 3)
    for start, end in enumerate(ends):
        colour = INK if start == 1 else (170, 170, 170)
        points = ((8, 10 + 22 * start), (26, 10 + 22 * start), (40, 10 + 22 * end))
        canvas.pen.line((*points, (54, 10 + 22 * end)), fill=colour, width=2)
        canvas.disc(56, 10 + 22 * end, 6, COLOURS[names[end]])
    text = "Follow the dark thread from the left: where does it arrive?"
    return question(canvas, text, names[ends[1]], names)


TASKS = (
    DrawnTask("corner_localization", "localization", corner_localization),
    DrawnTask("cell_localization", "localization", cell_localization),
    DrawnTask("nearest_object", "localization", nearest_object),
    DrawnTask("relation", "relation_reasoning", relation),
    DrawnTask("containment", "relation_reasoning", containment),
    DrawnTask("overlap_order", "relation_reasoning", overlap_order),
    DrawnTask("connected_path", "relation_reasoning", connected_path),
    DrawnTask("arrow_direction", "visual_grounding", arrow_direction),
    DrawnTask("scale_reading", "doc_understanding", scale_reading),
)
