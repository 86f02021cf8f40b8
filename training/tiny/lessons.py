"""One lesson: pictures and ten exchanges about them; and look-ups in a list, without pictures."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from training.tiny.prompts import (
    LETTERS,
    Exchange,
    choose_layout,
    list_options,
    multiple_choice,
    put_choice,
    put_open,
    put_yes_no,
)
from training.tiny.questions import ASK, COUNTS, POSITIONS, SIDES, Question
from training.tiny.several import ORDINALS, ask_nth, ask_which, is_nth, is_which
from training.tiny.statements import CLAIM
from training.tiny.world import COLOURS, SHAPES, WORDS, Scene, sample_lettering, sample_scene

LETTER_WEIGHTS = [0.36, 0.28, 0.21, 0.15]
BRANCHES = 10
LOOKUPS = 6
ALL = {"colour": 2.0, "shape": 2.0, "existence": 2.0, "count": 3.0, "position": 2.5, "relation": 3.0, "caption": 0.7}
EASY_POOLS = (tuple(COLOURS), SHAPES, COUNTS, SIDES, WORDS, ORDINALS)
ALL_POOLS = (*EASY_POOLS, POSITIONS, tuple(str(n) for n in range(10, 100)))


@dataclass(frozen=True)
class Mix:
    """Which lessons a stage draws: weights of the abilities, shares of formats and of pictures."""

    abilities: dict[str, float]
    choice: float = 0.5
    yes_no: float = 0.22
    lettering: float = 0.15
    several: float = 0.0
    which: float = 0.5
    fewest_things: int = 1
    most_things: int = 6


@dataclass(frozen=True)
class Lesson:
    """The pictures and what is said about them; every exchange is a conversation of its own."""

    scenes: tuple[Scene, ...]
    exchanges: tuple[Exchange, ...]


def lesson(rng: random.Random, mix: Mix) -> Lesson:
    """Pictures with ten exchanges about them."""
    if rng.random() < mix.several:
        count = rng.choice((2, 2, 3))
        most = min(4, mix.most_things)
        scenes = tuple(sample_scene(rng, most=most) for _ in range(count))
        return Lesson(scenes, _fill(lambda: _about_several(scenes, rng, mix)))
    if rng.random() < mix.lettering:
        scene = sample_lettering(rng)
        return Lesson((scene,), _fill(lambda: _about_one(scene, "rendered_text", rng, mix)))
    scene = sample_scene(rng, mix.fewest_things, mix.most_things)
    names, weights = list(mix.abilities), list(mix.abilities.values())
    return Lesson((scene,), _fill(lambda: _about_one(scene, rng.choices(names, weights)[0], rng, mix)))


def caption(scene: Scene) -> str:
    """The things from left to right."""
    things = sorted(scene.things, key=lambda thing: thing.x)
    return ", ".join(f"{thing.colour} {thing.shape}" for thing in things)


def lookups(rng: random.Random, pools: tuple[tuple[str, ...], ...], full: bool) -> tuple[str, list[Exchange]]:
    """A list of options and questions that only need the list: value to letter, letter to value.

    A `full` list stands in a whole multiple-choice prompt.
    """
    options = rng.sample(rng.choice(pools), rng.choice((2, 3, 4, 4, 4)))
    listed = multiple_choice("Which one is it?", options, choose_layout(rng)) if full else list_options(options)
    asked = []
    for _ in range(LOOKUPS):
        i = rng.randrange(len(options))
        if rng.random() < 0.75:
            asked.append(Exchange("letter", f"Option with {options[i]}", LETTERS[i]))
        else:
            asked.append(Exchange("value", f"Option {LETTERS[i]}", options[i]))
    return listed, asked


def _fill(make: Callable[[], Exchange | None]) -> tuple[Exchange, ...]:
    """Ten exchanges; fewer when the pictures allow few questions."""
    found = [exchange for _ in range(3 * BRANCHES) if (exchange := make()) is not None]
    return tuple(found[:BRANCHES])


def _about_one(scene: Scene, ability: str, rng: random.Random, mix: Mix) -> Exchange | None:
    if ability == "caption":
        prompt = rng.choice(("Describe the picture.", "List the objects from left to right."))
        return Exchange("caption", prompt, caption(scene))
    only_claims = ability == "existence" and mix.choice == 0
    if only_claims or rng.random() < mix.yes_no:
        claimed = CLAIM[ability](scene, rng, rng.random() < 0.5)
        return put_yes_no(claimed, rng) if claimed else None
    return _put(ASK[ability](scene, rng), rng, mix)


def _about_several(scenes: tuple[Scene, ...], rng: random.Random, mix: Mix) -> Exchange | None:
    which = rng.random() < mix.which
    if rng.random() < mix.yes_no:
        claimed = (is_which if which else is_nth)(scenes, rng, rng.random() < 0.5)
        return put_yes_no(claimed, rng) if claimed else None
    return _put((ask_which if which else ask_nth)(scenes, rng), rng, mix)


def _put(asked: Question | None, rng: random.Random, mix: Mix) -> Exchange | None:
    """A value question as multiple choice or open; those that need options are not asked openly."""
    if asked is None:
        return None
    if rng.random() < mix.choice / (1 - mix.yes_no):
        return put_choice(asked, rng, LETTER_WEIGHTS)
    return put_open(asked, rng) if asked.open else None
