"""What is made ready for the asking (videos, pictures) does not hold up those that wait."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.request import Request
from snellen.core.sample import Sample

PATIENCE = 60.0
"""Seconds after which a wait is given up, so that a failure ends."""


class Answering:
    """Tells when the first sample was answered."""

    identity = Identity("test", "answering")
    capabilities = Capabilities(inputs=frozenset({"text"}))
    concurrency = 2

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.asked: list[str] = []

    async def answer(self, request: Request) -> str:
        self.asked.append(request.ref.sample)
        self.answered.set()
        return "Yes"


def questions(path: Path, count: int) -> Benchmark:
    rows = [f"{at}\tIs it {at}?\tYes" for at in range(count)]
    path.write_text("\n".join(["index\tquestion\tanswer", *rows]) + "\n")
    return open_benchmark(str(path), Variant())


def test_a_model_answers_while_a_sample_is_made_ready(tmp_path: Path) -> None:
    model, waited = Answering(), []

    def prepare(sample: Sample) -> Sample:
        if sample.id == "1":
            waited.append(model.answered.wait(PATIENCE))
        return sample

    benchmark = replace(questions(tmp_path / "q.tsv", 2), prepare=prepare)
    (run,) = evaluate([model], [benchmark], out=tmp_path / "out", html=False).runs
    assert waited == [True]
    assert model.asked == ["0", "1"]
    assert run.info.status == "complete"


def test_concurrency_1_keeps_the_order_of_the_data(tmp_path: Path) -> None:
    model = Answering()
    model.concurrency = 1
    benchmark = replace(questions(tmp_path / "q.tsv", 30), prepare=lambda sample: sample)
    (run,) = evaluate([model], [benchmark], out=tmp_path / "out", html=False).runs
    assert model.asked == [str(at) for at in range(30)]
    assert [record.id for record in run.records()] == model.asked


def test_a_mistake_found_while_making_ready_ends_the_run_and_keeps_what_was_done(tmp_path: Path) -> None:
    model = Answering()
    model.concurrency = 1

    def prepare(sample: Sample) -> Sample:
        if sample.id == "5":
            raise UsageError("the sixth cannot be shown")
        return sample

    benchmark = replace(questions(tmp_path / "q.tsv", 9), prepare=prepare)
    with pytest.raises(UsageError, match="the sixth cannot be shown"):
        evaluate([model], [benchmark], out=tmp_path / "out", html=False)
    plain = replace(benchmark, prepare=None)
    evaluate([model], [plain], out=tmp_path / "out", html=False)
    assert model.asked == [str(at) for at in range(9)]
