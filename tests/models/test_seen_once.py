"""Each distinct picture goes through the vision tower once, whatever is asked about it: counted
over whole runs of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from questions_for_models import ask, noise, rank

from snellen.core.output import Failure, Generated, Output, Ranked
from snellen.core.record import Flow, Record
from snellen.core.request import Generate, Rank
from snellen.core.sample import Sample
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.request_broker import RequestBroker, model_concurrency
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore

Folder = Callable[[str], Path]
PICTURES = [noise(seed, 40 + seed, 40) for seed in range(12)]
Asked = Sequence[Generate | Rank]


def rotations(picture: bytes) -> Asked:
    """Asked one after the other, as CircularEval does."""
    options = ["red", "green", "blue", "a star"]
    turned = [options[at:] + options[:at] for at in range(4)]
    return [ask("Which is it? " + " ".join(order), picture) for order in turned]


def pairs(picture: bytes) -> Asked:
    return [ask("Is it red? Answer yes or no.", picture), ask("Is it a star? yes or no.", picture)]


def document(picture: bytes) -> Asked:
    return [ask(f"What stands in line {number} of this page?", picture) for number in range(9)]


def ranking(picture: bytes) -> Asked:
    return [rank("What is it?", ("a star", "a red square", "a ring", "a dot"), picture)]


@pytest.mark.parametrize("asked", [rotations, pairs, document, ranking])
@pytest.mark.parametrize("at_once", [False, True], ids=["in turn", "together"])
def test_each_picture_is_encoded_once(checkpoint: Folder, asked: Callable[[bytes], Asked], at_once: bool) -> None:
    """With batches too small for all the pictures, and for all questions about one."""
    model = open_model(f"hf/{checkpoint('llava')}", {"batch_size": "4"})
    assert isinstance(model, HuggingFace)
    # The test of whether sharing is safe looks at its pictures more often.
    model.answer_batch([ask("What?", noise(91)), ask("What?", noise(92)), *ranking(noise(91))])
    seen: list[int] = []
    tower = model.load().model.model.vision_tower
    hook = tower.register_forward_hook(lambda _, given, out: seen.append(len(out.last_hidden_state)))
    groups = [asked(picture) for picture in PICTURES]
    if at_once:
        # Questions of a benchmark: all of them wait at the same time, in turns about each picture.
        groups = [[one] for turn in zip(*groups, strict=True) for one in turn]
    outputs = driven(model, groups)
    hook.remove()
    assert len(outputs) == sum(map(len, groups))
    assert not [one for one in outputs if isinstance(one, Failure)]
    assert sum(seen) == len(PICTURES)


def driven(model: HuggingFace, groups: Sequence[Asked]) -> list[Output]:
    """What comes of the requests, those of a group one after the other."""
    found: list[Output] = []

    def flow(sample: Sample) -> Flow:
        for request in groups[int(sample.id)]:
            found.append((yield request))
        return Record(id=sample.id, kind="open", question="", outcome="answered")

    async def main() -> None:
        with ResponseStore(None) as nowhere:
            asker = RequestBroker({"model": model}, nowhere)
            samples = (Sample(str(number), "open", "") for number in range(len(groups)))
            done: list[Any] = []
            try:
                await drive_all(samples, flow, asker, done.append, model_concurrency(model))
            finally:
                asker.close()
            assert len(done) == len(groups)

    asyncio.run(main())
    return found


def test_equal_requests_are_computed_once(checkpoint: Folder) -> None:
    """Also where they come from unlike flows."""
    model = open_model(f"hf/{checkpoint('llava')}", {"batch_size": "4"})
    assert isinstance(model, HuggingFace)
    batches: list[int] = []
    plain = model.answer_batch

    def counted(requests: Sequence[Any]) -> list[Output]:
        batches.append(len(requests))
        return plain(requests)

    model.answer_batch = counted  # type: ignore[method-assign]
    outputs = driven(model, [rotations(PICTURES[0])] * 10 + [ranking(PICTURES[0])] * 10)
    assert sum(batches) == 5
    assert len(outputs) == 50
    assert len({repr(one) for one in outputs if isinstance(one, Generated)}) <= 4
    assert sum(isinstance(one, Ranked) for one in outputs) == 10
