"""Two runs that differ in model and prompt at once: what is attributed to each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from simulations.study import Case, Share, Study
from snellen.analysis.causes.factors import RunRecords
from snellen.analysis.causes.why import DifferenceSplit, why
from snellen.core.model import Identity
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Pass, Record
from snellen.core.request import Text, user
from snellen.core.run import DataInfo, RunConfig, RunInfo

_ICC = 0.3
_SHARED = 0.7
"""Correlation of two runs on one question, beside that of the questions of one picture."""


class World(NamedTuple):
    """Share right of the weak and the strong model, each under the first and the second prompt."""

    weak: tuple[float, float]
    strong: tuple[float, float]
    pictures: int
    questions: int

    @property
    def model(self) -> float:
        """What the model is worth, over both orders, in points."""
        return 50 * sum(b - a for a, b in zip(self.weak, self.strong, strict=True))


def sides(world: World, random: np.random.Generator) -> dict[tuple[int, int], RunRecords]:
    """Runs of both models under both prompts, on questions drawn anew."""
    n = world.pictures * world.questions
    pictures = np.repeat(random.normal(size=world.pictures), world.questions)
    common = _ICC**0.5 * pictures + (1 - _ICC) ** 0.5 * random.normal(size=n)
    found = {}
    for model, skills in enumerate((world.weak, world.strong)):
        for prompt, skill in enumerate(skills):
            # A standard normal whatever the correlations are: the share right is the skill.
            ease = _SHARED**0.5 * common + (1 - _SHARED) ** 0.5 * random.normal(size=n)
            right = (ease < NormalDist().inv_cdf(skill)).tolist()
            found[model, prompt] = _side(("weak", "strong")[model], prompt, right, world.questions)
    return found


def _side(model: str, prompt: int, right: list[bool], questions: int) -> RunRecords:
    messages = (user(Text(f"prompt {prompt}")),)
    records = {
        str(at): Record(
            str(at),
            "choice",
            "q",
            "answered",
            float(one),
            gold=("A",),
            unit=str(at // questions),
            passes=(Pass(messages, _REPLIES[one], _ANSWERS[one], ("A",), one),),
        )
        for at, one in enumerate(right)
    }
    name = f"{model} {prompt}"
    config = RunConfig(Identity("simulated", model), "b", "1", {}, "d")
    info = RunInfo(name, model, "b", "b", config, DataInfo("d", "d", len(right)), "complete", "")
    return RunRecords(name, "b", records, info=info)


_REPLIES = {True: Generated("A"), False: Generated("B")}
_ANSWERS = {True: ParsedAnswer("A", "bare label"), False: ParsedAnswer("B", "bare label")}


def _share(world: World, event: Callable[[DifferenceSplit], float], *others: tuple[int, int]) -> Share:
    """How often, or how much on average, for the weak model under the first prompt against the
    strong one under the second."""

    def share(random: np.random.Generator, repeats: int) -> float:
        total = 0.0
        for _ in range(repeats):
            runs = sides(world, random)
            between = [runs[one] for one in others]
            total += event(why(runs[0, 0], runs[1, 1], others=between, examples=0))
        return total / repeats

    return share


def _part(cause: str, found: DifferenceSplit) -> tuple[float, float, float] | None:
    """Points, low and high of what is attributed to a cause alone; None where nothing is."""
    for one in found.shares:
        if one.causes == (cause,) and one.interval is not None:
            return one.points, one.interval.low, one.interval.high
    return None


def _held(truth: float, found: DifferenceSplit) -> float:
    part = _part("model", found)
    return float(part is not None and part[1] <= truth <= part[2])


def _error(truth: float, found: DifferenceSplit) -> float:
    part = _part("model", found)
    return (part[0] if part else 0.0) - truth


def _claimed(found: DifferenceSplit) -> float:
    """Whether the prompt is said to move something."""
    part = _part("prompt", found)
    return float(part is not None and not part[1] <= 0 <= part[2])


def _favoured(found: DifferenceSplit) -> float:
    return float(any(len(one.causes) == 1 for one in found.shares))


_CROSSED = ((1, 0), (0, 1))
_ADDITIVE = World((0.5, 0.6), (0.7, 0.8), 40, 2)
_INTERACTING = World((0.4, 0.75), (0.8, 0.85), 40, 2)
_ALONE = World((0.5, 0.6), (0.7, 0.8), 100, 1)
_NO_PROMPT = World((0.5, 0.5), (0.8, 0.8), 40, 2)
_FEW = World((0.5, 0.5), (0.8, 0.8), 10, 6)
_SOURCE = "Shapley (1953); Shorrocks, Journal of Economic Inequality 11 (2013)"

STUDIES = (
    Study(
        "why-parts-held",
        "What `why` attributes to the model, with the crossed runs measured",
        "the 95 % interval holds the model's part",
        "Shapley value over the four combinations, interval by the paired mean over pictures",
        _SOURCE,
        tuple(
            Case(label, _share(world, partial(_held, world.model), *_CROSSED), 0.94, 1.0)
            for label, world in (
                ("effects that add up, 40 pictures of 2 questions", _ADDITIVE),
                ("a prompt that helps the weak model most, 40 pictures of 2", _INTERACTING),
                ("effects that add up, 100 questions alone", _ALONE),
                ("no effect of the prompt, 10 pictures of 6", _FEW),
            )
        ),
        quick=20,
    ),
    Study(
        "why-parts-bias",
        "The mean error of the model's part, in points",
        "the part less the truth, on average",
        "Shapley value over the four combinations",
        _SOURCE,
        tuple(
            Case(label, _share(world, partial(_error, world.model), *_CROSSED), -0.5, 0.5)
            for label, world in (("effects that add up", _ADDITIVE), ("interacting", _INTERACTING))
        ),
        quick=30,
    ),
    Study(
        "why-false-prompt",
        "A prompt that is worth nothing",
        "the prompt is said to move something (nominal 0.05)",
        "interval of the prompt's part, with the crossed runs or with one of them",
        _SOURCE,
        (
            Case("both crossed runs", _share(_NO_PROMPT, _claimed, *_CROSSED), 0.0, 0.06),
            Case("one of them", _share(_NO_PROMPT, _claimed, (1, 0)), 0.0, 0.06),
            Case("10 pictures of 6 questions", _share(_FEW, _claimed, *_CROSSED), 0.0, 0.06),
        ),
        quick=20,
    ),
    Study(
        "why-no-favourite",
        "Two runs alone, of two models under two prompts",
        "a part is attributed to one of them",
        "causes that differ together are one part",
        _SOURCE,
        (Case("40 pictures of 2 questions", _share(_ADDITIVE, _favoured), 0.0, 0.0),),
        repeats=200,
        quick=10,
    ),
)
