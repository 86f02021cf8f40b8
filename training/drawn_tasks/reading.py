"""Reading: letters, clocks, charts and tables."""

from __future__ import annotations

import random

from training.drawn_tasks.task import INK, SIDE, Canvas, DrawnQuestion, DrawnTask, colours, polar, question
from training.tiny.world import COLOURS, WORDS

DIGITS = tuple("0123456789")
HOURS = tuple(f"{hour} o'clock" for hour in (12, 2, 4, 6, 8, 10))
TRENDS = ("it rises", "it falls", "it stays", "it rises, then falls")
HEIGHTS = ("10", "20", "30", "40")
SHARES = ("a quarter", "one half", "three quarters")


def digit_recognition(rng: random.Random) -> DrawnQuestion:
    digit, canvas = rng.choice(DIGITS), Canvas(rng)
    canvas.write(digit, rng.uniform(24, 40), rng.uniform(26, 38), rng.randint(38, 54))
    return question(canvas, "Which digit did someone print here?", digit, DIGITS)


def word_recognition(rng: random.Random) -> DrawnQuestion:
    word, canvas = rng.choice(WORDS), Canvas(rng)
    canvas.write(word, SIDE / 2, rng.uniform(18, 46), 24, rng.choice(((30, 30, 30), (20, 40, 120))))
    return question(canvas, "Read the sign aloud: what word is it?", word, WORDS)


def clock_reading(rng: random.Random) -> DrawnQuestion:
    hour, canvas = rng.randrange(6), Canvas(rng)
    middle = SIDE / 2
    canvas.disc(middle, middle, 29, (255, 255, 255))
    canvas.pen.ellipse((3, 3, 61, 61), outline=INK, width=2)
    canvas.pen.line(((middle, middle), polar(middle, middle, 24, 0)), fill=INK)
    canvas.pen.line(((middle, middle), polar(middle, middle, 16, 60 * hour)), fill=INK, width=4)
    return question(canvas, "What time does the clock on the wall tell?", HOURS[hour], HOURS)


def tallest_bar(rng: random.Random) -> DrawnQuestion:
    names, canvas = colours(rng, 4), Canvas(rng)
    heights = rng.sample((14, 22, 30, 50), 4)
    for column, (name, height) in enumerate(zip(names, heights, strict=True)):
        canvas.box(6 + 14 * column, 58 - height, 9, height, COLOURS[name])
    canvas.box(2, 59, 60, 1, INK)
    answer = names[heights.index(50)]
    return question(canvas, "Bar chart: whose column is tallest?", answer, names)


def bar_value(rng: random.Random) -> DrawnQuestion:
    value, canvas = rng.randrange(4), Canvas(rng)
    for line in range(1, 5):
        canvas.pen.line((4, 58 - 13 * line, 60, 58 - 13 * line), fill=(170, 170, 170))
    height = 13 * (value + 1)
    canvas.box(rng.randint(14, 36), 58 - height, 14, height, COLOURS["orange"])
    canvas.box(2, 59, 60, 1, INK)
    text = "Grid lines stand for 10, 20, 30, 40 sales. How many were sold?"
    return question(canvas, text, HEIGHTS[value], HEIGHTS)


def pie_share(rng: random.Random) -> DrawnQuestion:
    share, canvas = rng.randrange(3), Canvas(rng)
    dark, light = (COLOURS[name] for name in colours(rng, 2))
    canvas.disc(SIDE / 2, SIDE / 2, 28, light)
    start = rng.randint(0, 359)
    canvas.pen.pieslice((4, 4, 60, 60), start, start + 90 * (share + 1), fill=dark, outline=INK)
    text = "What part of the pie is the outlined slice?"
    return question(canvas, text, SHARES[share], SHARES)


def line_trend(rng: random.Random) -> DrawnQuestion:
    trend, canvas = rng.randrange(4), Canvas(rng)
    levels = ((50, 40, 30, 14), (14, 28, 38, 50), (32, 32, 32, 32), (50, 20, 20, 50))[trend]
    points = [(6 + 17 * k, level + rng.uniform(-2, 2)) for k, level in enumerate(levels)]
    canvas.box(3, 3, 1, 58, INK)
    canvas.box(3, 60, 58, 1, INK)
    canvas.pen.line(points, fill=COLOURS["blue"], width=2)
    return question(canvas, "How does the curve develop over time?", TRENDS[trend], TRENDS)


def table_lookup(rng: random.Random) -> DrawnQuestion:
    values, canvas = rng.sample(DIGITS[1:], 4), Canvas(rng)
    canvas.pen.rectangle((3, 3, 61, 61), outline=INK)
    canvas.pen.line((32, 3, 32, 61), fill=INK)
    canvas.pen.line((3, 32, 61, 32), fill=INK)
    for cell, value in enumerate(values):
        canvas.write(value, 18 + 29 * (cell % 2), 18 + 29 * (cell // 2), 24)
    cell = rng.randrange(4)
    row, column = ("upper", "lower")[cell // 2], ("left", "right")[cell % 2]
    text = "Table: which entry is in the {0} row, {1} column?"
    return question(canvas, text, values[cell], values, row, column)


TASKS = (
    DrawnTask("digit_recognition", "ocr", digit_recognition),
    DrawnTask("word_recognition", "ocr", word_recognition),
    *(
        DrawnTask(ask.__name__, "doc_understanding", ask)
        for ask in (clock_reading, tallest_bar, bar_value, pie_share, line_trend, table_lookup)
    ),
)
