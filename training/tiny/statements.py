"""Yes/no questions about one picture: the same abilities, a claim that is true or false."""

from __future__ import annotations

import random

from training.tiny.questions import (
    ASK,
    POSITIONS,
    SIDES,
    AskTruth,
    Question,
    ask_count,
    ask_text,
    describe,
    others,
    quadrant,
    side,
)
from training.tiny.world import COLOURS, SHAPES, Scene

SIDE_PHRASES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}


def claim(ability: str, text: str, truth: bool) -> Question:
    """A yes/no question."""
    return Question(ability, text, "Yes" if truth else "No")


def is_colour(scene: Scene, rng: random.Random, truth: bool) -> Question | None:
    """Whether the only thing of its shape has a colour."""
    asked = ASK["colour"](scene, rng)
    if asked is None:
        return None
    shape = next(t.shape for t in scene.things if t.shape in asked.text)
    value = asked.answer if truth else rng.choice(asked.wrong)
    return claim("colour", f"Is the {shape} {value}?", truth)


def is_shape(scene: Scene, rng: random.Random, truth: bool) -> Question | None:
    """Whether the only thing of its colour has a shape."""
    asked = ASK["shape"](scene, rng)
    if asked is None:
        return None
    colour = next(c for c in COLOURS if f" {c}" in asked.text)
    value = asked.answer if truth else rng.choice(asked.wrong)
    return claim("shape", f"Is the {colour} object a {value}?", truth)


def is_count(scene: Scene, rng: random.Random, truth: bool) -> Question | None:
    """Whether a number of things is right; wrong numbers are off by one or two."""
    asked = ask_count(scene, rng)
    if asked is None or "How many" not in asked.text:
        return None
    kind = asked.text.removeprefix("How many ").split(" are ")[0]
    near = [v for v in asked.wrong if abs(int(v) - int(asked.answer)) <= 2]
    number = asked.answer if truth else rng.choice(near)
    return claim("count", f"Is the number of {kind} {number}?", truth)


def is_position(scene: Scene, rng: random.Random, truth: bool) -> Question | None:
    """Whether a thing is in a quarter of the picture."""
    things = [t for t in scene.things if quadrant(t)]
    thing = rng.choice(things) if things else None
    name = describe(scene, thing, rng) if thing else None
    where = quadrant(thing) if thing else None
    if name is None or where is None:
        return None
    told = where if truth else rng.choice(others(POSITIONS, where))
    return claim("position", f"Is the {name} in the {told} of the picture?", truth)


def is_relation(scene: Scene, rng: random.Random, truth: bool) -> Question | None:
    """Whether a thing is on a side of another."""
    pairs = [(a, b) for a in scene.things for b in scene.things if a is not b and side(a, b)]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    one, other, where = describe(scene, a, rng), describe(scene, b, rng), side(a, b)
    if one is None or other is None or where is None:
        return None
    told = where if truth else rng.choice(others(SIDES, where))
    return claim("relation", f"Is the {one} {SIDE_PHRASES[told]} the {other}?", truth)


def is_there(scene: Scene, rng: random.Random, truth: bool) -> Question | None:
    """Whether a kind of thing occurs; false kinds often mix a present colour and shape."""
    if not scene.things:
        return None
    colours, shapes = {t.colour for t in scene.things}, {t.shape for t in scene.things}
    form = rng.choice(("colour", "shape", "both", "both"))
    if truth:
        thing = rng.choice(scene.things)
        colour, shape = thing.colour, thing.shape
    elif form == "both":
        present = {(t.colour, t.shape) for t in scene.things}
        near = [(c, s) for c in sorted(colours) for s in sorted(shapes) if (c, s) not in present]
        far = [(c, s) for c in COLOURS for s in SHAPES if (c, s) not in present]
        colour, shape = rng.choice(near if near and rng.random() < 0.5 else far)
    else:
        colour = rng.choice([c for c in COLOURS if c not in colours])
        shape = rng.choice([s for s in SHAPES if s not in shapes] or list(SHAPES))
        if form == "shape" and shape in shapes:
            return None
    name = {"colour": f"{colour} object", "shape": shape, "both": f"{colour} {shape}"}[form]
    article = "an" if name[0] in "aeiou" else "a"
    start = rng.choice(("Is there {} {} in the picture?", "Do you see {} {}?", "Is there {} {}?"))
    return claim("existence", start.format(article, name), truth)


def is_written(scene: Scene, rng: random.Random, truth: bool) -> Question | None:
    """Whether the picture says a word or number."""
    asked = ask_text(scene, rng)
    if asked is None:
        return None
    value = asked.answer if truth else rng.choice(asked.wrong)
    return claim("rendered_text", f"Does the text say {value}?", truth)


CLAIM: dict[str, AskTruth] = {
    "colour": is_colour,
    "shape": is_shape,
    "existence": is_there,
    "rendered_text": is_written,
    "count": is_count,
    "position": is_position,
    "relation": is_relation,
}
