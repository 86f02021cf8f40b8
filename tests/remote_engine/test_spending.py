"""Tokens and money are counted, and a budget ends a run gracefully."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import QUICK, Scripted, measured, questions
from standin_server import StandIn, chat_reply

from snellen import Variant, evaluate
from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.core.output import Failure, Price, Usage, cost
from snellen.engine.limits.spending import Budget
from snellen.engine.loop.request_broker import RequestLimits

PRICE = Price(2.0, 10.0)
"""A reply of the stand-in server, 12 tokens in and 3 out, costs 54 millionths."""


def test_cached_tokens_are_cheaper() -> None:
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=400_000)
    assert cost(usage, Price(2.0, 10.0)) == pytest.approx(3.0)
    assert cost(usage, Price(2.0, 10.0, cached=0.5)) == pytest.approx(1.2 + 0.2 + 1.0)


def test_a_run_says_what_it_spent_over_all_starts(server: StandIn, tmp_path: Path) -> None:
    first = measured(server, tmp_path, 30, prices={"model": PRICE}).info.spent["model"]
    assert (first.sent, first.answered, first.reused) == (30, 30, 0)
    assert first.usage == Usage(360, 90)
    assert first.cost == pytest.approx(30 * 54e-6)
    again = measured(server, tmp_path, 30, prices={"model": PRICE}).info.spent["model"]
    assert again == first


def test_reused_replies_are_counted_apart(server: StandIn, tmp_path: Path) -> None:
    folder = measured(server, tmp_path, 30, prices={"model": PRICE})
    (folder.path / "samples.jsonl").unlink()
    spent = measured(server, tmp_path, 30, prices={"model": PRICE}).info.spent["model"]
    assert (spent.sent, spent.reused, spent.reused_usage) == (30, 30, Usage(360, 90))
    assert spent.cost == pytest.approx(30 * 54e-6)


def test_budget_ends_the_run_and_the_same_command_resumes(server: StandIn, tmp_path: Path) -> None:
    terms = RequestLimits(retries=QUICK, budget=Budget.parse("2ktok"))
    folder = measured(server, tmp_path, 150, terms, options=":concurrency=4")
    info = folder.info
    # Replies of 15 tokens, until the most that the next may take, 1.1 * 12 + 512, does not fit.
    assert info.spent["model"].answered == (2040 - 525) // 15 + 1
    assert info.counts.done == info.spent["model"].answered == len(server.asked)
    assert (info.status, info.counts.failed) == ("interrupted", 0)
    assert info.stopped == "the budget of 2,000 tokens is spent (1,530; the next request may take 525)"
    folder = measured(server, tmp_path, 150, options=":concurrency=4")
    assert (folder.info.status, folder.info.stopped) == ("complete", "")
    assert len(server.asked) == 150


def used(completion: int) -> dict[str, Any]:
    usage = {"prompt_tokens": 20, "completion_tokens": completion}
    return {**chat_reply("A"), "usage": {**usage, "total_tokens": 20 + completion}}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("concurrency", [1, 16, 64])
def test_a_budget_is_never_exceeded(server: StandIn, tmp_path: Path, seed: int, concurrency: int) -> None:
    """Replies of very different length, in flight together: the longest come last."""
    draws = random.Random(seed)

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(draws.uniform(0.0, 0.01))
        late = len(server.asked) > 40
        return web.json_response(used(512 if late else draws.choice([1, 3, 100])))

    server.handler = answer
    terms = RequestLimits(retries=QUICK, budget=Budget.parse("20ktok"))
    info = measured(server, tmp_path, 400, terms, options=f":concurrency={concurrency}").info
    spent = info.spent["model"].usage
    assert 19_000 < spent.prompt_tokens + spent.completion_tokens <= 20_400
    assert info.stopped.startswith("the budget of 20,000 tokens is spent (")


def open_questions(folder: Path, count: int) -> str:
    path = folder / "open.tsv"
    rows = [f"{i}\tWhat is {i}?\tred" for i in range(count)]
    path.write_text("\n".join(["index\tquestion\tanswer", *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize("helper", ["extractors", "judges"])
@pytest.mark.parametrize("unit", ["tok", "usd"])
def test_a_budget_holds_for_the_sum_of_a_model_and_its_reader_or_judge(
    server: StandIn, tmp_path: Path, helper: str, unit: str
) -> None:
    """The server adds up what it was paid for: the helper's requests are the larger part."""
    server.models.append("helper")
    draws = random.Random(1)
    paid = {"tiny": 0.0, "helper": 0.0}
    prices = {"tiny": Price(100.0, 200.0), "helper": Price(300.0, 900.0)}

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(draws.uniform(0.0, 0.005))
        if "Reply with the single letter A" in str(body):
            # The check of each model before the first question is no part of the run.
            return web.json_response(chat_reply("A"))
        name = body["model"]
        completion = draws.choice([1, 3, 100]) if name == "tiny" else draws.choice([5, 16])
        prompt = 20 if name == "tiny" else 150
        price = prices[name]
        worth = prompt * price.input + completion * price.output
        paid[name] += worth / 1e6 if unit == "usd" else prompt + completion
        reply = chat_reply("It looks azure to me" if name == "tiny" else "1.0")
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        return web.json_response({**reply, "usage": usage})

    server.handler = answer
    amount = 15_000.0 if unit == "tok" else 3.0
    judged = helper == "judges"
    data = open_questions(tmp_path, 300) if judged else str(questions(tmp_path, 300))
    results = evaluate(
        f"{server.url}#tiny:concurrency=16",
        "mm-vet" if judged else data,
        variant=Variant(data=data if judged else None, max_new_tokens=128),
        out=tmp_path / "out",
        html=False,
        budget=f"{amount:g}{unit}",
        prices=[f"{name}:input={p.input:g},output={p.output:g}" for name, p in prices.items()],
        **{helper: [f"{server.url}#helper"]},  # type: ignore[arg-type]
    )
    info = results.runs[0].info
    assert info.status == "interrupted"
    assert paid["helper"] > paid["tiny"] > 0
    assert 0.7 * amount < sum(paid.values()) <= 1.02 * amount
    role = "judge" if judged else "extractor"
    spent = info.spent[role]
    if unit == "usd":
        assert spent.cost == pytest.approx(paid["helper"])
    else:
        assert spent.usage.prompt_tokens + spent.usage.completion_tokens == paid["helper"]


def test_a_server_that_replies_longer_than_allowed_is_noticed(server: StandIn, tmp_path: Path) -> None:
    """Thoughts beyond the longest reply: later requests reserve as much more."""
    server.says(used(2048))
    terms = RequestLimits(retries=QUICK, budget=Budget.parse("40ktok"))
    info = measured(server, tmp_path, 100, terms, options=":concurrency=2").info
    spent = info.spent["model"].usage
    assert 37_000 < spent.prompt_tokens + spent.completion_tokens <= 40_800


def test_no_budget_without_reported_usage(server: StandIn, tmp_path: Path) -> None:
    server.says({name: value for name, value in chat_reply("A").items() if name != "usage"})
    terms = RequestLimits(retries=QUICK, budget=Budget.parse("5ktok"))
    info = measured(server, tmp_path, 100, terms, options=":concurrency=4").info
    assert info.status == "interrupted"
    assert "does not tell how many tokens a reply took, so that no budget can be kept" in info.stopped
    assert len(server.asked) <= 4


def test_a_budget_that_the_last_reply_spends_leaves_a_complete_run(server: StandIn, tmp_path: Path) -> None:
    terms = RequestLimits(retries=QUICK, budget=Budget.parse("640tok"))
    folder = measured(server, tmp_path, 7, terms)
    assert (folder.info.status, folder.info.stopped, folder.info.counts.done) == ("complete", "", 7)


def test_a_small_budget_says_what_was_spent_of_it() -> None:
    budget = Budget.parse("0.01usd")
    budget.add(Usage(8_000, 500), PRICE)
    assert budget.reason == "the budget of 0.01 USD is spent (0.0210 USD)"


def test_a_budget_in_money_needs_prices(server: StandIn, tmp_path: Path) -> None:
    model = f"{server.url}#tiny"
    data = str(questions(tmp_path, 100))
    out = tmp_path / "out"
    with pytest.raises(UsageError, match=r"price of .*--price '.*:input=2.5,output=10'"):
        evaluate(model, data, out=out, budget="1usd")
    assert server.asked == []
    with pytest.raises(UsageError, match="no such model is asked"):
        evaluate(model, data, out=out, prices=["other:input=1,output=2"])
    results = evaluate(model, data, out=out, budget="0.008usd", prices=[f"{model}:input=2,output=10"])
    spent = results.runs[0].info.spent["model"]
    assert spent.cost is not None
    # A reply costs 0.000054, and may cost 0.0052.
    assert 0.008 - 0.0053 <= spent.cost <= 1.02 * 0.008
    assert results.runs[0].info.status == "interrupted"


def test_the_table_says_what_was_spent(server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = f"{server.url}#tiny"
    words = ["run", "-m", model, "-b", str(questions(tmp_path, 40)), "-q", "--out", str(tmp_path)]
    price = ["--price", f"{model}:input=2,output=10"]
    assert main([*words, *price, "--budget", "900tok"]) == 1
    said = capsys.readouterr().out
    assert "! the run was stopped: the budget of 900 tokens is spent" in said.replace("\n", " ")
    assert main([*words, *price]) == 0
    said = capsys.readouterr().out
    assert "model: 480 tokens in prompts, 120 in replies, 0.0022 USD" in said


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [("5usd", 5, "USD"), ("$2.50", 2.5, "USD"), ("2Mtok", 2e6, "tokens"), ("500 ktok", 5e5, "tokens")],
)
def test_parses_budgets(text: str, amount: float, unit: str) -> None:
    assert Budget.parse(text) == Budget(amount, unit)


@pytest.mark.parametrize("text", ["", "5", "usd", "5eur", "$5usd", "0usd", "-1usd"])
def test_a_bad_budget_is_explained(text: str) -> None:
    with pytest.raises(UsageError, match=r"--budget .* expected e\.g\. 5usd, 500ktok or 2Mtok"):
        Budget.parse(text)


def test_a_question_that_is_too_long_is_beyond_the_model(server: StandIn, tmp_path: Path) -> None:
    message = "This model's maximum context length is 10 tokens"
    server.says({"error": {"message": message, "code": "context_length_exceeded"}}, status=400)
    folder = measured(server, tmp_path, 3)
    assert folder.info.status == "complete"
    assert len(server.asked) == 3
    for record in folder.records():
        assert (record.outcome, record.unscored, record.score) == ("unsupported",) * 2 + (None,)
        output = record.passes[-1].output
        assert isinstance(output, Failure)
        assert output.kind == "too_long"
    measured(server, tmp_path, 3)
    assert len(server.asked) == 3


@pytest.mark.attack("a server that answers nothing any more", "a sentence with its last words")
def test_a_dead_server_ends_the_run_with_its_last_words(server: StandIn, tmp_path: Path) -> None:
    script = Scripted(trouble=False)
    server.handler = script
    measured(server, tmp_path, 10)
    server.says({"error": {"message": "the model has left"}}, status=404)
    folder = measured(server, tmp_path / "more", 200)
    assert folder.info.status == "interrupted"
    assert "the model has left" in folder.info.stopped
    assert len(server.asked) < 60
    server.says(chat_reply("A"))
    assert measured(server, tmp_path / "more", 200).info.status == "complete"
