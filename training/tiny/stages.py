"""The three stages of the recipe: read lists, read patches, then answer about pictures."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from transformers import LlavaForConditionalGeneration, PreTrainedTokenizerFast

from training.tiny import patches
from training.tiny.drawing import draw
from training.tiny.learning import CONSTANT_SHARE, Learner, Rates, Tally, answer, check_gates, log
from training.tiny.lessons import ALL, ALL_POOLS, EASY_POOLS, Mix, lesson, lookups
from training.tiny.packing import FILTERS, Batch, Packer, pixels
from training.tiny.world import Scene, sample_lettering, sample_scene, stream

REPORT_EVERY = 100
LOUDER = 20 / 3
LISTS, PICTURES, LESSONS = 32, 32, 8
FIRST_ABILITIES = {"colour": 2.0, "shape": 2.0, "existence": 2.0, "caption": 1.0, "position": 1.0}


@dataclass(frozen=True)
class Steps:
    """How many updates each stage makes."""

    lists: int = 300
    patches: int = 1000
    words: int = 450
    formats: int = 1300
    polish: int = 1100


@dataclass(frozen=True)
class AnswerStage:
    """One part of stage C."""

    name: str
    steps: int
    mix: Mix
    text: Rates
    lookup_share: float
    several_share: float
    floors: dict[str, float]
    constant: float = CONSTANT_SHARE


def answer_stages(steps: Steps) -> list[AnswerStage]:
    """Stage C, with frozen eyes: open answers, then all formats, then mostly multiple choice."""
    everything = Mix(ALL, choice=0.5, yes_no=0.22)
    return [
        AnswerStage(
            "C1",
            steps.words,
            Mix(FIRST_ABILITIES, 0.0, yes_no=0.15, lettering=0.1, fewest_things=2, most_things=4),
            Rates(0.005, 1e-3),
            lookup_share=0.12,
            several_share=0.08,
            floors={"colour/open": 0.7, "shape/open": 0.65},
            constant=1.0,
        ),
        AnswerStage(
            "C2",
            steps.formats,
            everything,
            Rates(0.005, 1e-3),
            lookup_share=0.12,
            several_share=0.15,
            floors={"colour/open": 0.8, "shape/open": 0.8},
        ),
        AnswerStage(
            "C3",
            steps.polish,
            replace(everything, choice=0.62, yes_no=0.2),
            Rates(0.004, 8e-4),
            lookup_share=0.10,
            several_share=0.17,
            floors={"colour/mcq": 0.7, "shape/mcq": 0.65},
        ),
    ]


class Trainer:
    """Runs the stages on one model; every step draws from its own stream of random numbers."""

    def __init__(self, model: LlavaForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, seed: int) -> None:
        self.model = model
        self.packer = Packer(tokenizer)
        self.legend = patches.new_legend(tokenizer)
        self.seed = seed
        self.taken = 0
        self.started = time.monotonic()

    def skip(self, steps: int) -> None:
        """Leave out the random numbers of steps that were made before."""
        self.taken += steps

    def learn_lists(self, steps: int) -> None:
        """Stage A, text only: find the letter of a value in a list, and the value of a letter."""
        learner = Learner([(self.model.model.language_model, Rates(0.005, 2e-3))], steps)

        def batch(rng: random.Random, step: int) -> Batch:
            return self._lists(rng, hard=step >= steps * 0.4)

        shares = self._loop("A", steps, learner, batch)
        check_gates("A", shares, {"letter/mcq": 0.85, "value/open": 0.75})

    def learn_patches(self, steps: int) -> None:
        """Stage B, eyes only: each patch, projected, reads as the words of what it shows."""
        vision = self.model.model.vision_tower
        projector = self.model.model.multi_modal_projector
        rates = Rates(0.02, 2e-3)
        learner = Learner([(vision, rates), (projector, rates)], steps)
        words = self.model.get_input_embeddings().weight.detach()
        shares: dict[str, float] = {}
        for step in range(steps):
            rng = self._next_stream()
            scenes = [_any_scene(rng) for _ in range(PICTURES)]
            images = torch.stack([pixels(draw(s), rng.choice(FILTERS)) for s in scenes])
            found = torch.cat([patches.labels(scene) for scene in scenes])
            with torch.autocast("cpu", torch.bfloat16):
                seen = self.model.model.get_image_features(pixel_values=images).pooler_output
            features = torch.cat(list(seen)).float()
            loss = patches.loss(features, words, found, self.legend)
            learner.step(loss)
            if (step + 1) % REPORT_EVERY == 0:
                with torch.no_grad():
                    shares = patches.accuracy(features, words, found, self.legend)
                self._report("B", step + 1, loss, shares)
        check_gates("B", shares, {"colour": 0.9, "shape": 0.85, "across": 0.95, "glyph": 0.8})

    def join(self) -> None:
        """Between B and C: pictures get louder, and one text head starts as the eye of a word.

        Louder features survive the first layers, in which a token also gets copies of its
        neighbours. In single trials, which colour belongs to which shape was still guessed after
        400 steps of C1 without the two, and known after 200 with both.
        """
        last = self.model.model.multi_modal_projector.linear_2
        with torch.no_grad():
            last.weight.mul_(LOUDER)
            last.bias.mul_(LOUDER)
        words = self.model.get_input_embeddings().weight.detach()
        patches.plant_sight(self.model.model.language_model.layers[0], words, self.legend)

    def learn_answers(self, stage: AnswerStage, each: Callable[[str, int], None]) -> None:
        """One part of stage C; `each` is called after every report."""
        inner = self.model.model
        inner.vision_tower.requires_grad_(False)
        inner.multi_modal_projector.requires_grad_(False)
        learner = Learner([(inner.language_model, stage.text)], stage.steps, stage.constant)

        def batch(rng: random.Random, step: int) -> Batch:
            kind = rng.random()
            if kind < stage.lookup_share:
                return self._lists(rng, hard=True)
            several = float(kind < stage.lookup_share + stage.several_share)
            mix = replace(stage.mix, several=several)
            return self.packer.lessons([lesson(rng, mix) for _ in range(LESSONS)], rng)

        shares = self._loop(stage.name, stage.steps, learner, batch, each)
        check_gates(stage.name, shares, stage.floors)

    def _loop(
        self,
        name: str,
        steps: int,
        learner: Learner,
        batch: Callable[[random.Random, int], Batch],
        each: Callable[[str, int], None] = lambda name, step: None,
    ) -> dict[str, float]:
        """Updates with reports; the shares of the last report."""
        tally = Tally()
        shares: dict[str, float] = {}
        for step in range(steps):
            loss = answer(self.model, batch(self._next_stream(), step), tally)
            learner.step(loss)
            if (step + 1) % REPORT_EVERY == 0 or step + 1 == steps:
                shares = tally.shares()
                self._report(name, step + 1, loss, shares)
                tally.clear()
                each(name, step + 1)
        return shares

    def _lists(self, rng: random.Random, hard: bool) -> Batch:
        pools = ALL_POOLS if hard else EASY_POOLS
        return self.packer.texts([lookups(rng, pools, full=hard) for _ in range(LISTS)])

    def _next_stream(self) -> random.Random:
        self.taken += 1
        return stream("train", self.seed, self.taken)

    def _report(self, name: str, step: int, loss: torch.Tensor, shares: dict[str, float]) -> None:
        told = " ".join(f"{key} {100 * share:.0f}" for key, share in shares.items())
        seconds = time.monotonic() - self.started
        log.info("%s %5d %6.0f s loss %.3f | %s", name, step, seconds, loss.item(), told)


def _any_scene(rng: random.Random) -> Scene:
    return sample_lettering(rng) if rng.random() < 0.35 else sample_scene(rng)
