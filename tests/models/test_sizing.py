"""Batches grow as far as memory allows and time is saved, and shrink where memory was short."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from questions_for_models import ask, noise, rank

from snellen import evaluate
from snellen.core.output import Failure, Generated
from snellen.models.hf.batch_size import MAX_GROWTH, BatchSizer, BatchTiming
from snellen.models.hf.memory import MainMemory, memory_meter
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import open_model

MEGABYTE = 1_000_000


class Metered:
    """A memory in which each prompt takes so many bytes a token while it is computed."""

    def __init__(self, total: int, per_token: int = 0, loading: int = 0) -> None:
        self.total = total
        self.per_token = per_token
        self.top = loading

    def used_bytes(self) -> int:
        return 0

    def peak_bytes(self) -> int:
        return self.top

    def free_bytes(self) -> int:
        return self.total

    def compute(self, prompts: int, tokens: int) -> None:
        self.top = max(self.top, prompts * tokens * self.per_token)


def grown(sizing: BatchSizer, meter: Metered, seconds: Callable[[int], float], batches: int) -> None:
    """Full batches of prompts of 100 tokens; `seconds` is what a batch of some size takes."""
    for _ in range(batches):
        count = sizing.max_prompts(100)
        work = BatchTiming(count, 100)
        with sizing.measure(work):
            meter.compute(count, 100)
            work.prefill_tokens, work.prefill_seconds = 100 * count, seconds(count)


def constant(_: int) -> float:
    """A batch takes as long whatever its size: larger ones always pay."""
    return 1.0


def proportional(count: int) -> float:
    """Larger batches save nothing."""
    return float(count)


def test_batches_grow_to_the_limit_while_they_save_time() -> None:
    meter = Metered(10**12, per_token=1000)
    sizing = BatchSizer(4, 32, meter)
    grown(sizing, meter, constant, 20)
    assert (sizing.size, sizing.largest) == (32, 32)


def test_growth_ends_below_what_does_not_fit() -> None:
    # 16 prompts take 1.6 MB, with a quarter to spare 2 MB.
    for total, size in ((2 * MEGABYTE, 16), (2 * MEGABYTE - 1, 8)):
        meter = Metered(total, per_token=1000)
        sizing = BatchSizer(4, 64, meter)
        grown(sizing, meter, constant, 20)
        assert sizing.size == size
        assert meter.top <= total


def test_a_size_that_saves_no_time_is_given_up() -> None:
    meter = Metered(10**12, per_token=1000)
    sizing = BatchSizer(4, 64, meter)
    grown(sizing, meter, proportional, 20)
    assert (sizing.size, sizing.largest) == (4, 8)


def test_other_processes_do_not_make_it_give_up() -> None:
    meter = Metered(10**12, per_token=1000)
    sizing = BatchSizer(4, 16, meter)
    slowed = iter([1.0, 9.0, 9.0, 1.0] * 5)
    grown(sizing, meter, lambda _: next(slowed), 20)
    assert sizing.size == 16


def test_where_memory_cannot_be_measured_batches_stay() -> None:
    meter = Metered(0)
    sizing = BatchSizer(4, 64, meter)
    grown(sizing, meter, constant, 20)
    assert sizing.size == 4


def test_memory_of_loading_is_an_upper_bound() -> None:
    """An earlier height hides what a batch takes; growth then counts on all of it."""
    meter = Metered(10 * MEGABYTE, per_token=1, loading=8 * MEGABYTE)
    sizing = BatchSizer(4, 64, meter)
    grown(sizing, meter, constant, 20)
    assert sizing.size == 4, "8 prompts could take 16 MB"
    roomy = Metered(100 * MEGABYTE, per_token=1, loading=8 * MEGABYTE)
    sizing = BatchSizer(4, 64, roomy)
    grown(sizing, roomy, constant, 20)
    assert sizing.size == 64


def test_longer_prompts_go_in_smaller_batches() -> None:
    meter = Metered(2 * MEGABYTE, per_token=1000)
    sizing = BatchSizer(8, 8, meter)
    grown(sizing, meter, constant, 1)
    assert sizing.max_prompts(100) == 8
    assert sizing.max_prompts(400) == 4
    assert sizing.max_prompts(10**6) == 1


def test_after_a_shortage_it_does_not_grow_again() -> None:
    meter = Metered(10**12, per_token=1000)
    sizing = BatchSizer(8, 64, meter)
    grown(sizing, meter, constant, 3)
    sizing.shrink(16)
    grown(sizing, meter, constant, 20)
    assert sizing.size == 8
    sizing.shrink(3)
    assert sizing.size == 1


def test_main_memory_follows_the_system() -> None:
    code = (
        "from snellen.models.hf.memory import MainMemory\n"
        "meter = MainMemory()\n"
        "used, highest = meter.used_bytes(), meter.peak_bytes()\n"
        "assert 0 < used <= highest\n"
        "held = b'x' * 200_000_000\n"
        "assert meter.used_bytes() - used > 150_000_000\n"
        "del held\n"
        "assert meter.peak_bytes() - highest > 150_000_000\n"
        "assert meter.free_bytes() > 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(memory_meter(["cpu", "cpu"]), MainMemory)


def test_of_several_gpus_the_fullest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch would tell of them: one has 30 GB left and 10 GB held unused, the other 5 GB."""
    told = {"cuda:0": (30, 20, 10, 15), "cuda:1": (5, 40, 40, 44)}
    for place, name in enumerate(("mem_get_info", "memory_reserved", "memory_allocated", "max_memory_allocated")):
        monkeypatch.setattr(
            torch.cuda, name, lambda device, place=place: (told[device][0], 80) if not place else told[device][place]
        )
    meter = memory_meter(["cuda:1", "cpu", "cuda:0", "cuda:1"])
    assert (meter.used_bytes(), meter.peak_bytes()) == (50, 59)
    assert meter.free_bytes() == 2 * int(0.9 * 5)
    assert memory_meter(["cuda:0"]).free_bytes() == int(0.9 * 40)


def test_a_limit_on_the_process_counts() -> None:
    code = (
        "import resource\n"
        "from snellen.models.hf.memory import MainMemory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))\n"
        "assert 0 < MainMemory().free_bytes() <= 200_000_000\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 400_000_000


QUESTIONS = [ask(f"{number} plus {number}?", noise(number, 30, 20)) for number in range(24)]


def texts(outputs: Any) -> list[str]:
    assert all(isinstance(one, Generated) for one in outputs), outputs
    return [one.text for one in outputs]


def opened(folder: Path, **options: str) -> HuggingFace:
    model = open_model(f"hf/{folder}", options)
    assert isinstance(model, HuggingFace)
    return model


@pytest.mark.parametrize("sharing", ["auto", "off"])
def test_a_grown_batch_answers_the_same_and_shrinks_for_good(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, sharing: str
) -> None:
    folder = checkpoint("llava")
    expected = texts(opened(folder, batch_size="4", sharing=sharing).answer_batch(QUESTIONS))
    monkeypatch.setattr(BatchSizer, "_is_faster", lambda *_: True)
    model = opened(folder, batch_size="2", sharing=sharing)
    # As if no size had been asked for.
    model.batch_limit = 2 * MAX_GROWTH
    model.adopt(model.load())
    identity = model.identity.digest()
    sizes: list[int] = []

    def forward(_: Any, __: Any, given: dict[str, Any]) -> None:
        sizes.append(len(given["input_ids"]))
        if sizes[-1] > 6:
            raise torch.OutOfMemoryError("CUDA out of memory")

    hook = model.load().model.register_forward_pre_hook(forward, with_kwargs=True)
    for _ in range(3):
        assert texts(model.answer_batch(QUESTIONS)) == expected
    hook.remove()
    assert 4 in sizes, "it never grew"
    short = max(place for place, size in enumerate(sizes) if size > 6)
    assert max(sizes[short + 1 :]) <= 4
    assert model.batch_size >= 4
    assert model.largest_batch <= 6
    assert model.identity.digest() == identity


def test_candidates_and_replies_have_sizes_of_their_own(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchSizer, "_is_faster", lambda *_: True)
    model = opened(checkpoint("llava"), batch_size="2")
    model.batch_limit = 2 * MAX_GROWTH
    model.adopt(model.load())
    asked = [rank("What is it?", ("a", "b c", "d"), noise(seed)) for seed in range(12)]
    outputs = model.answer_batch(asked)
    assert not any(isinstance(one, Failure) for one in outputs)
    assert model.batch_size > 2
    assert model.largest_batch > 2


def test_requested_batch_size_never_increases(checkpoint: Callable[[str], Path]) -> None:
    model = opened(checkpoint("llava"), batch_size="3")
    assert model.batch_limit == 3
    for _ in range(3):
        model.answer_batch(QUESTIONS)
    assert (model.batch_size, model.largest_batch) == (3, 3)


def test_the_run_records_its_largest_batch(tmp_path: Path) -> None:
    (run,) = evaluate(["snellen/tiny:batch_size=3"], ["eyechart"], limit=8, out=tmp_path).runs
    assert run.info.counts.largest_batch == 3
    assert "batch" not in str(run.info.config.identity.facts)
