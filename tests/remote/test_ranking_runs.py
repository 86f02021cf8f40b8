"""SEED-Bench's own protocol, ranking, over a server: the same records as in process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from seed_files import seed_h
from standin_server import StandIn
from true_logprobs import TrueLogprobs

from snellen import evaluate, plan
from snellen.core.benchmark import Variant
from snellen.core.output import Ranked
from snellen.core.record import Record
from snellen.models.naming.registry import open_model

BENCHMARK = "seedbench:version=H"
ONE_PICTURE = ("Scene Understanding", "Instance Identity", "Instance Attribute")


@pytest.fixture
def questions(tmp_path: Path) -> Variant:
    return Variant(data=str(seed_h(tmp_path / "data", only=ONE_PICTURE)))


def ranked(model: Any, questions: Variant, out: Path) -> list[Record]:
    (run,) = evaluate([model], [BENCHMARK], out=out, variant=questions, html=False).runs
    assert not list(run.failures())
    return sorted(run.records(), key=lambda one: one.id)


def test_a_server_ranks_as_the_model_in_process_does(server: StandIn, tmp_path: Path, questions: Variant) -> None:
    tiny: Any = open_model("snellen/tiny:device=cpu,dtype=float32,batch_size=4")
    server.handler = TrueLogprobs(tiny)
    there = ranked(f"{server.url}#tiny:rank=prompt_logprobs", questions, tmp_path / "there")
    here = ranked(tiny, questions, tmp_path / "here")
    assert len(here) == 2 * len(ONE_PICTURE)
    for one, other in zip(there, here, strict=True):
        assert (one.id, one.answer, one.score) == (other.id, other.answer, other.score)
        left, right = one.passes[0].output, other.passes[0].output
        assert isinstance(left, Ranked)
        assert isinstance(right, Ranked)
        for candidate, same in zip(left.candidates, right.candidates, strict=True):
            assert candidate.tokens == same.tokens
            assert candidate.logprob == pytest.approx(same.logprob, abs=1e-3)


def test_a_plan_counts_the_prompt_of_every_candidate(server: StandIn, tmp_path: Path, questions: Variant) -> None:
    def tokens(model: str) -> float:
        (line,) = plan([model], [BENCHMARK], variant=questions, out=tmp_path).lines
        assert line.estimate is not None
        return line.estimate.prompt_tokens

    there = tokens(f"{server.url}#tiny:rank=prompt_logprobs")
    # Four options: the bare context and each of them behind it.
    assert there == pytest.approx(5 * tokens("snellen/tiny:device=cpu"), rel=0.01)
    assert server.asked == []
