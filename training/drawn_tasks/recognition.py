"""Recognition: what one thing in the picture is, has, or is made of."""

from __future__ import annotations

import random

from training.drawn_tasks.task import INK, SIDE, Canvas, DrawnQuestion, DrawnTask, question
from training.tiny.drawing import draw
from training.tiny.world import BACKGROUNDS, COLOURS, SHAPES, Scene, Thing

TEXTURES = ("striped", "dotted", "checkered", "plain")
LINE_STYLES = ("solid", "dashed", "dotted", "double")
LAMPS = ("red", "yellow", "green")
LEVELS = ("empty", "half full", "full")
FACES = ("happy", "sad", "surprised", "neutral")
_MIDDLE = SIDE / 2


def _thing(rng: random.Random) -> tuple[Thing, DrawnQuestion]:
    """One shape anywhere in the picture, on a question still to be asked."""
    colour, shape = rng.choice(list(COLOURS)), rng.choice(SHAPES)
    x, y = rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7)
    thing = Thing(colour, shape, x, y, rng.uniform(0.16, 0.28), COLOURS[colour])
    picture = draw(Scene(rng.choice(BACKGROUNDS), (thing,)), SIDE)
    return thing, DrawnQuestion(picture, "", "", ())


def colour_recognition(rng: random.Random) -> DrawnQuestion:
    thing, drawn = _thing(rng)
    wrong = tuple(colour for colour in COLOURS if colour != thing.colour)
    return DrawnQuestion(drawn.picture, "Which colour has the object?", thing.colour, wrong)


def shape_recognition(rng: random.Random) -> DrawnQuestion:
    thing, drawn = _thing(rng)
    wrong = tuple(shape for shape in SHAPES if shape != thing.shape)
    return DrawnQuestion(drawn.picture, "Name the geometric form.", thing.shape, wrong)


def texture_recognition(rng: random.Random) -> DrawnQuestion:
    texture, canvas = rng.choice(TEXTURES), Canvas(rng)
    colour = COLOURS[rng.choice(list(COLOURS))]
    step = rng.choice((8, 10, 12))
    for row, y in enumerate(range(8, 56, step)):
        for column, x in enumerate(range(8, 56, step)):
            if texture == "plain" or (texture == "striped" and row % 2):
                canvas.box(x, y, step, step, colour)
            elif texture == "checkered" and (row + column) % 2:
                canvas.box(x, y, step - 1, step - 1, colour)
            elif texture == "dotted":
                canvas.disc(x + step / 2, y + step / 2, step / 4, colour)
    return question(canvas, "Describe the surface of this cloth.", texture, TEXTURES)


def line_style_recognition(rng: random.Random) -> DrawnQuestion:
    style, canvas = rng.choice(LINE_STYLES), Canvas(rng)
    colour, y = COLOURS[rng.choice(list(COLOURS))], rng.randint(16, 48)
    if style == "solid":
        canvas.box(4, y, 56, 3, colour)
    elif style == "double":
        canvas.box(4, y - 4, 56, 2, colour)
        canvas.box(4, y + 4, 56, 2, colour)
    else:
        length = 7 if style == "dashed" else 2
        for x in range(4, 58, length + 4):
            canvas.box(x, y, length, 3, colour)
    return question(canvas, "How is this stroke drawn with the pen?", style, LINE_STYLES)


def traffic_light(rng: random.Random) -> DrawnQuestion:
    lamp, canvas = rng.choice(LAMPS), Canvas(rng)
    x = rng.randint(22, 42)
    canvas.box(x - 9, 5, 18, 54, (50, 50, 50))
    for row, name in enumerate(LAMPS):
        canvas.disc(x, 14 + 18 * row, 7, COLOURS[name] if name == lamp else (90, 90, 90))
    return question(canvas, "Traffic light: which lamp shines now?", lamp, LAMPS)


def battery_level(rng: random.Random) -> DrawnQuestion:
    level, canvas = rng.choice(LEVELS), Canvas(rng)
    x, y = rng.randint(6, 14), rng.randint(14, 26)
    canvas.pen.rectangle((x, y, x + 42, y + 22), outline=INK, width=2)
    canvas.box(x + 43, y + 7, 4, 8, INK)
    filled = {"empty": 0, "half full": 19, "full": 38}[level]
    if filled:
        canvas.box(x + 2, y + 2, filled, 18, COLOURS["green"])
    return question(canvas, "What charge does the battery symbol have left?", level, LEVELS)


def face_emotion(rng: random.Random) -> DrawnQuestion:
    face, canvas = rng.choice(FACES), Canvas(rng)
    x, y, skin = rng.uniform(28, 36), rng.uniform(28, 36), COLOURS["yellow"]
    canvas.disc(x, y, 25, skin)
    for side in (-9, 9):
        canvas.disc(x + side, y - 8, 3, INK)
    mouth = (x - 11, y - 2, x + 11, y + 15)
    if face == "happy":
        canvas.pen.arc(mouth, 20, 160, fill=INK, width=3)
    elif face == "sad":
        canvas.pen.arc((x - 11, y + 8, x + 11, y + 24), 200, 340, fill=INK, width=3)
    elif face == "surprised":
        canvas.disc(x, y + 11, 6, INK)
    else:
        canvas.box(x - 10, y + 10, 20, 2, INK)
    return question(canvas, "Which emotion does this face express?", face, FACES)


TASKS = (
    *(
        DrawnTask(ask.__name__, "visual_recognition", ask)
        for ask in (
            colour_recognition,
            shape_recognition,
            texture_recognition,
            line_style_recognition,
            traffic_light,
            battery_level,
        )
    ),
    DrawnTask("face_emotion", "emotion", face_emotion),
)
