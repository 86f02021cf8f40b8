"""Prices, plans and refusals of models that are asked in batches, and extractors that are."""

from __future__ import annotations

from pathlib import Path

import pytest
from batch_runs import KEY, KEYS, model_at, questions
from batch_server import BatchServer
from standin_server import running

import snellen
from snellen.api.budget import Prices
from snellen.cli import main
from snellen.core.output import Price, cost
from snellen.engine.batches import queue
from snellen.models.naming.prices import price_in_batches, price_of
from snellen.models.naming.registry import open_model
from snellen.models.remote.profile import profiles


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setattr(queue, "_FIRST_POLL", 0.02)
    monkeypatch.setattr(queue, "SETTLE", 0.1)
    monkeypatch.setattr(queue, "_TICK", 0.01)


def test_each_price_has_its_source_and_day() -> None:
    for name, profile in profiles().items():
        batch = profile.batch
        if batch is not None and batch.price != 1:
            assert batch.price_source.startswith("https://"), name
            assert batch.limits_source.startswith("https://"), name
            assert batch.read.startswith("2026-"), name


@pytest.mark.parametrize("name", ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-flash"])
def test_tokens_cost_half(name: str) -> None:
    listed = price_of(name)
    assert listed is not None
    batched = Prices(()).price(open_model(f"{name}:batch=yes"))
    assert batched is not None
    assert (batched.input, batched.output) == (listed.input / 2, listed.output / 2)
    assert "of which batches cost 50%" in batched.source
    assert "read 2026-" in batched.source


def test_cached_tokens_never_cost_more_than_others() -> None:
    terms = profiles()["google"].batch
    assert terms is not None
    price = price_in_batches(Price(2.0, 8.0, 1.5), terms.terms())
    assert (price.input, price.output, price.cached) == (1.0, 4.0, 1.0)
    assert price_in_batches(Price(2.0, 8.0), profiles()["openai"].batch.terms()).cached == 1.0  # type: ignore[union-attr]


def test_a_price_that_is_typed_is_taken_as_it_stands() -> None:
    prices = Prices(["openai/gpt-4o-mini:input=2,output=4"])
    price = prices.price(open_model("openai/gpt-4o-mini:batch=yes"))
    assert price is not None
    assert (price.input, price.output) == (2.0, 4.0)


def test_a_run_records_the_price_of_batches(batches: BatchServer, tmp_path: Path) -> None:
    name = model_at(batches, "openai").replace("/tiny", "/gpt-4o-mini")
    results = snellen.evaluate(name, str(questions(tmp_path, 6)), out=str(tmp_path / "out"), html=False)
    spent = results.runs[0].info.spent["model"]
    listed = price_of("openai/gpt-4o-mini")
    assert listed is not None
    assert spent.cost == pytest.approx(cost(spent.usage, listed) / 2)
    assert spent.usage.prompt_tokens == 6 * 12


def test_plan_says_price_and_waiting_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(questions(tmp_path, 10, options=4))
    for name in ("openai/gpt-4o-mini:batch=yes", "openai/gpt-4o-mini"):
        assert main(["plan", "-m", name, "-b", data, "--out", str(tmp_path / "out"), "--circular", "early"]) == 0
    batched, single = capsys.readouterr().out.split("openai/gpt-4o-mini ", 1)
    assert "≤ 96 h" in batched
    assert "asked in batches, each answered within 24 h, up to 4 of them one after the other" in batched
    assert "of which batches cost 50%" in batched
    assert "batches" not in single
    (line,) = snellen.plan("openai/gpt-4o-mini:batch=yes", data, out=str(tmp_path / "out")).lines
    (whole,) = snellen.plan("openai/gpt-4o-mini", data, out=str(tmp_path / "out")).lines
    assert line.dollars == pytest.approx((whole.dollars or 0) / 2)
    assert line.wait == "≤ 24 h"


def test_a_plan_without_a_key_knows_the_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = str(questions(tmp_path, 10))
    whole = snellen.plan("openai/gpt-4o-mini", data, out=str(tmp_path / "out")).lines[0]
    monkeypatch.delenv("OPENAI_API_KEY")
    line = snellen.plan("openai/gpt-4o-mini:batch=yes", data, out=str(tmp_path / "out")).lines[0]
    assert line.dollars == pytest.approx((whole.dollars or 0) / 2)
    assert line.wait == "≤ 24 h"


@pytest.mark.parametrize(
    ("model", "more", "sentence"),
    [
        ("openai/gpt-4o-mini:batch=yes,stream=yes", (), "leave out batch=yes, or stream=yes"),
        ("openai/gpt-image-1:batch=yes,endpoint=images", (), "leave out batch=yes, or endpoint=images"),
        ("http://127.0.0.1:9/v1#m:batch=yes,rank=echo", (), "leave out batch=yes, or rank=echo"),
        ("deepseek/deepseek-chat:batch=yes", (), "deepseek has no endpoint for batches"),
        ("vllm/ORG/NAME:batch=yes", (), "answers at once; leave it out"),
        ("openai/gpt-4o-mini:batch=yes", ("--until", "±2"), "leave out --until, or batch=yes"),
        ("openai/gpt-4o-mini:batch=maybe", (), "expected one of yes, no"),
        ("random:batch=yes", (), "no option 'batch'"),
    ],
)
def test_what_cannot_be_batched_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, more: tuple[str, ...], sentence: str
) -> None:
    data = str(questions(tmp_path, 10))
    assert main(["run", "-m", model, "-b", data, "--out", str(tmp_path / "out"), *more]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_server_without_the_endpoint_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running() as server:
        model = f"{server.url}#tiny:batch=yes"
        assert main(["run", "-m", model, "-b", str(questions(tmp_path, 3)), "--out", str(tmp_path / "out")]) == 2
        assert len(server.asked) == 1
    assert "lists no batches, so that none can be left there" in capsys.readouterr().err


def test_an_extractor_is_asked_in_batches(batches: BatchServer, tmp_path: Path) -> None:
    def answer(request: snellen.Generate) -> str:
        return "Well, this is not easy to say."

    batches.reply = lambda prompt: "B"
    results = snellen.evaluate(
        answer,
        str(questions(tmp_path, 20)),
        out=str(tmp_path / "out"),
        html=False,
        extractors=[model_at(batches, "openai")],
    )
    records = list(results.runs[0].records())
    assert {record.outcome for record in records} == {"answered"}
    (batch,) = batches.batches.values()
    assert len(batch.requests) == 20
    assert results.runs[0].info.spent["extractor"].sent == 20
