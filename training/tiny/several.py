"""Questions over two or three pictures: about the n-th one, or which one shows a thing."""

from __future__ import annotations

import random
from dataclasses import replace

from training.tiny.questions import ASK, Question
from training.tiny.statements import CLAIM, claim
from training.tiny.world import Scene

ORDINALS = ("first", "second", "third", "fourth")
NTH_ABOUT = ("colour", "shape", "count")


def ask_nth(scenes: tuple[Scene, ...], rng: random.Random) -> Question | None:
    """A question of one picture, with the picture named."""
    n = rng.randrange(len(scenes))
    asked = ASK[rng.choice(NTH_ABOUT)](scenes[n], rng)
    return _named(asked, n, rng) if asked else None


def is_nth(scenes: tuple[Scene, ...], rng: random.Random, truth: bool) -> Question | None:
    """A claim about one picture, with the picture named."""
    n = rng.randrange(len(scenes))
    asked = CLAIM[rng.choice(("colour", "shape"))](scenes[n], rng, truth)
    return _named(asked, n, rng) if asked else None


def ask_which(scenes: tuple[Scene, ...], rng: random.Random) -> Question | None:
    """Which picture shows a thing that only one of them has."""
    n = rng.randrange(len(scenes))
    name = _only_here(scenes, n, rng)
    if name is None:
        return None
    text = rng.choice(
        ("Which picture contains a {}?", "Which picture shows a {}?", "In which picture is a {}?")
    ).format(name)
    ordinals = ORDINALS[: len(scenes)]
    return Question("which_picture", text, ordinals[n], tuple(o for o in ordinals if o != ordinals[n]))


def is_which(scenes: tuple[Scene, ...], rng: random.Random, truth: bool) -> Question | None:
    """Whether the n-th picture shows a thing that only one of them has."""
    n = rng.randrange(len(scenes))
    name = _only_here(scenes, n, rng)
    if name is None:
        return None
    told = n if truth else rng.choice([i for i in range(len(scenes)) if i != n])
    return claim("which_picture", f"Does the {ORDINALS[told]} picture contain a {name}?", truth)


def _named(asked: Question, n: int, rng: random.Random) -> Question:
    """The question with "in the n-th picture" said before or after it."""
    text = asked.text.replace("are in the picture", "are there").replace(" in the picture", "")
    if rng.random() < 0.5:
        text = f"In the {ORDINALS[n]} picture: {text[0].lower()}{text[1:]}"
    else:
        text = f"Look at the {ORDINALS[n]} picture. {text}"
    return replace(asked, ability="nth_picture", text=text)


def _only_here(scenes: tuple[Scene, ...], n: int, rng: random.Random) -> str | None:
    """The name of a thing that the n-th scene has and the others do not."""
    elsewhere = [t for i, scene in enumerate(scenes) if i != n for t in scene.things]
    names = []
    for thing in scenes[n].things:
        if all(t.shape != thing.shape for t in elsewhere):
            names.append(thing.shape)
        if all(t.colour != thing.colour for t in elsewhere):
            names.append(f"{thing.colour} object")
        if all((t.colour, t.shape) != (thing.colour, thing.shape) for t in elsewhere):
            names.append(f"{thing.colour} {thing.shape}")
    names = [name for name in names if name[0] not in "aeiou"]
    return rng.choice(names) if names else None
