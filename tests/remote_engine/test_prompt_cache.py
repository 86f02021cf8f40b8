"""Prompts that begin alike, where the provider bills what it has cached at a lower price."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import QUICK
from standin_server import StandIn, chat_reply

from snellen.api.planning import plan
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Variant
from snellen.core.media import InlineSource
from snellen.core.model import PromptCache
from snellen.core.output import Failure, Generated, Output, Price, Usage, cost
from snellen.core.request import Generate, Media, Ref, Request, Text, user
from snellen.core.sample import MediaRef, Sample
from snellen.engine.limits.shared_prefix import PrefixForecast, PrefixGate, group_samples
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.request_broker import RequestLimits
from snellen.engine.loop.run import run
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

DOCUMENTS, QUESTIONS = 40, 5
LISTED = Price(2.0, 10.0)
CHEAPER = Price(2.0, 10.0, cached=0.5)
CACHE = PromptCache(tokens=1024, step=128)


class CachingProvider:
    """A provider that has the tokens of a prompt cached once the reply has ended, and forgets those
    of all but the last prompts.

    A token is four characters. Cached tokens are counted from 1,024 on, in steps of 128.
    """

    def __init__(self, kept: int = 24, pause: float = 0.02) -> None:
        self.kept, self.pause = kept, pause
        self.prompts: OrderedDict[str, None] = OrderedDict()
        self.cached = 0
        self.open = self.most_open = 0

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        text = "".join(f"{message['role']}:{message['content']}\n" for message in body["messages"])
        cached = max((_common_tokens(text, other) for other in self.prompts), default=0)
        cached = cached - cached % 128 if cached >= 1024 else 0
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(self.pause)
        self.open -= 1
        self.prompts[text] = None
        while len(self.prompts) > self.kept:
            self.prompts.popitem(last=False)
        self.cached += cached
        usage = {
            "prompt_tokens": len(text) // 4,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        return web.json_response({**chat_reply("A"), "usage": usage})


def _common_tokens(text: str, other: str) -> int:
    most = min(len(text), len(other))
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[:middle] == other[:middle] else (low, middle - 1)
    return low // 4


@pytest.fixture
def provider(server: StandIn) -> CachingProvider:
    caching = CachingProvider()
    server.handler = caching
    return caching


def document(number: int) -> str:
    """About 1,600 tokens, which no other document begins with."""
    return f"Report {number}. " + " ".join(
        f"In year {1000 + year} it had {number * year} members." for year in range(170)
    )


def documents(folder: Path, count: int = DOCUMENTS) -> Path:
    """Questions about so many documents, each asked about again only after all others were."""
    folder.mkdir(exist_ok=True)
    rows = [
        f"{index}\t{document(index % count)} Is sentence {index // count} true?\tone\ttwo\tA"
        for index in range(DOCUMENTS * QUESTIONS if count > 1 else 24)
    ]
    path = folder / "documents.tsv"
    path.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")
    return path


def asked(server: StandIn, folder: Path, price: Price, count: int = DOCUMENTS, **changes: Any) -> RunFolder:
    """A run over so many documents, 8 requests at a time."""
    name = f"{server.url}#tiny"
    run_plan = RunPlan(
        model=open_model(f"{name}:concurrency=8"),
        model_name=name,
        benchmark=resolve_benchmark(str(documents(folder, count)), Variant(), {}),
        out=folder / "out",
        limits=RequestLimits(retries=QUICK),
        prices={"model": price},
        command="snellen run ...",
        **changes,
    )
    with ResponseStore(folder / "store.sqlite") as store:
        return run(run_plan, store)


def cached_share(folder: RunFolder) -> float:
    usage = folder.info.spent["model"].usage
    return usage.cached_tokens / usage.prompt_tokens


def test_a_run_has_as_much_cached_as_its_plan_says(
    server: StandIn, provider: CachingProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{server.url}#tiny"
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    prices = [f"{name}:input=2,output=10,cached=0.5"]
    planned = plan(name, str(documents(tmp_path)), prices=prices, out=tmp_path / "planned")
    (line,) = planned.lines
    assert line.estimate is not None
    assert line.dollars is not None
    expected = line.estimate.cached_tokens / line.estimate.prompt_tokens
    assert expected > 0.7
    assert server.asked == []

    folder = asked(server, tmp_path / "grouped", CHEAPER)
    assert cached_share(folder) == pytest.approx(expected, rel=0.05)
    spent = folder.info.spent["model"]
    assert spent.usage.cached_tokens == provider.cached
    assert spent.cost == pytest.approx(cost(spent.usage, CHEAPER))
    # Replies of one token, where 64 are assumed.
    replies = (line.estimate.completion_tokens - spent.usage.completion_tokens) * 10 / 1e6
    assert spent.cost == pytest.approx(line.dollars - replies, rel=0.05)
    assert f"about {expected:.0%} of the tokens of prompts come from the provider's cache, for " in repr(planned)

    in_order = asked(server, tmp_path / "in order", LISTED)
    assert cached_share(in_order) < 0.5 * expected


def test_a_beginning_that_all_share_is_paid_for_once(
    server: StandIn, provider: CachingProvider, tmp_path: Path
) -> None:
    at_once = asked(server, tmp_path / "at once", LISTED, 1).info.spent["model"].usage
    provider.prompts.clear()
    one_first = asked(server, tmp_path / "one first", CHEAPER, 1).info.spent["model"].usage
    # Ten steps of 128 tokens: the document has 1,319, and the questions differ behind it.
    assert one_first.cached_tokens == 23 * 1280
    assert at_once.cached_tokens < 22 * 1280


def test_records_and_requests_are_the_same_in_any_order(
    server: StandIn, provider: CachingProvider, tmp_path: Path
) -> None:
    in_order, grouped = (asked(server, tmp_path / name, price) for name, price in (("a", LISTED), ("b", CHEAPER)))

    def told(folder: RunFolder) -> dict[str, object]:
        return {each.id: (each.requests, each.score, each.position, each.outcome) for each in folder.records()}

    assert told(grouped) == told(in_order)
    assert len(told(grouped)) == DOCUMENTS * QUESTIONS
    assert grouped.info.config == in_order.info.config
    assert (grouped.path / "report.json").exists() == (in_order.path / "report.json").exists()
    sent = len(server.asked)
    asked(server, tmp_path / "a", CHEAPER)
    (tmp_path / "b" / "out" / grouped.path.name / "samples.jsonl").unlink()
    again = asked(server, tmp_path / "b", LISTED)
    assert len(server.asked) == sent
    assert told(again) == told(in_order)


def test_a_limit_takes_the_same_samples(server: StandIn, provider: CachingProvider, tmp_path: Path) -> None:
    some = [asked(server, tmp_path / name, price, limit=20) for name, price in (("a", LISTED), ("b", CHEAPER))]
    ids = [{record.id for record in folder.records()} for folder in some]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 20


def test_groups_are_asked_beside_each_other(server: StandIn, provider: CachingProvider, tmp_path: Path) -> None:
    asked(server, tmp_path, CHEAPER)
    assert provider.most_open == 8


def sample(name: str, medium: str = "", question: str = "Which?") -> Sample:
    media = (MediaRef(medium, InlineSource(b"")),) if medium else ()
    return Sample(name, "open", question, media=media)


def test_first_samples_of_groups_come_before_the_others() -> None:
    samples = [sample(f"{medium}{number}", medium) for number in range(3) for medium in "abc"]
    order = [each.id for each in group_samples(iter(samples), 2)]
    assert order == ["a0", "b0", "a1", "a2", "c0", "b1", "b2", "c1", "c2"]
    alone = [sample(str(number)) for number in range(9)]
    assert list(group_samples(iter(alone), 2)) == alone


def request(*parts: Text | Media, name: str = "1") -> Generate:
    return Generate(messages=(user(*parts),), ref=Ref(name))


class Sender:
    """Notes which requests are in flight, and answers each when it is told to."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.replies: dict[str, asyncio.Future[Output]] = {}

    async def __call__(self, asked: Request) -> Output:
        name = asked.ref.sample
        self.sent.append(name)
        self.replies[name] = asyncio.get_running_loop().create_future()
        return await self.replies[name]


LONG = Text("x" * 4096)


def gated(*requests: Generate) -> tuple[Sender, list[asyncio.Task[Output]]]:
    sender = Sender()
    gate = PrefixGate(sender, CACHE)
    return sender, [asyncio.ensure_future(gate.send(each)) for each in requests]


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_the_first_of_a_group_is_sent_alone_and_short_prompts_never_wait() -> None:
    async def main() -> None:
        alike = [request(LONG, Text(str(number)), name=str(number)) for number in range(3)]
        short = [request(Text("x" * 4000 + str(number)), name=f"short {number}") for number in range(2)]
        sender, tasks = gated(*alike, *short)
        await _settle()
        assert sorted(sender.sent) == ["0", "short 0", "short 1"]
        sender.replies["0"].set_result(Generated("A"))
        await _settle()
        assert sorted(sender.sent) == ["0", "1", "2", "short 0", "short 1"]
        for reply in sender.replies.values():
            if not reply.done():
                reply.set_result(Generated("A"))
        await asyncio.gather(*tasks)

    asyncio.run(main())


@pytest.mark.parametrize("ending", ["failure", "cancelled", "error"])
def test_another_request_becomes_the_first_if_that_fails(ending: str) -> None:
    async def main() -> None:
        sender, tasks = gated(*(request(LONG, Text(str(number)), name=str(number)) for number in range(3)))
        await _settle()
        assert sender.sent == ["0"]
        if ending == "failure":
            sender.replies["0"].set_result(Failure("server", "broken"))
        elif ending == "cancelled":
            tasks[0].cancel()
        else:
            sender.replies["0"].set_exception(RuntimeError("broken"))
        await _settle()
        assert sender.sent == ["0", "1"]
        sender.replies["1"].set_result(Generated("A"))
        await _settle()
        assert sender.sent == ["0", "1", "2"]
        sender.replies["2"].set_result(Generated("A"))
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())


def test_a_group_within_a_common_beginning_waits_for_its_own_first() -> None:
    picture, other = (Media("image", name * 64) for name in "ab")

    async def main() -> None:
        asked = [
            request(LONG, part, Text(name), name=name)
            for name, part in (("a1", picture), ("a2", picture), ("b1", other), ("b2", other))
        ]
        sender, tasks = gated(*asked)
        await _settle()
        assert sender.sent == ["a1"]
        sender.replies["a1"].set_result(Generated("A"))
        await _settle()
        # The beginning that all share is cached, and the picture of a.
        assert sender.sent == ["a1", "a2", "b1"]
        sender.replies["b1"].set_result(Generated("A"))
        await _settle()
        assert sender.sent == ["a1", "a2", "b1", "b2"]
        for name in ("a2", "b2"):
            sender.replies[name].set_result(Generated("A"))
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_cached_tokens_are_counted_in_steps_from_the_least_on() -> None:
    forecast = PrefixForecast(CACHE, lambda part, asked: 1000.0)
    picture = Media("image", "a" * 64)
    assert forecast.cached_tokens(request(LONG, Text("first"))) == 0
    assert forecast.cached_tokens(request(LONG, Text("second"))) == 1024
    assert forecast.cached_tokens(request(LONG, picture, Text("third"))) == 1024
    assert forecast.cached_tokens(request(LONG, picture, Text("fourth"))) == 2024 - 2024 % 128
    assert forecast.cached_tokens(request(picture, Text("fifth"))) == 0
    assert forecast.cached_tokens(request(picture, Text("sixth"))) == 0


def test_a_plan_without_a_key_knows_the_cache_of_the_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    for name, is_cached in (("openai/gpt-4o", True), ("anthropic/claude-opus-4-5", False)):
        (line,) = plan(name, str(documents(tmp_path)), out=tmp_path / "out").lines
        assert line.price is not None
        assert line.price.cached is not None
        assert line.estimate is not None
        assert bool(line.estimate.cached_tokens) == is_cached


def test_nothing_is_imported_where_cached_tokens_cost_the_same() -> None:
    code = (
        "import sys\n"
        "from snellen.core.output import Price\n"
        "from snellen.engine.loop.request_broker import ModelClient\n"
        "from snellen.models.naming.registry import open_model\n"
        "from snellen.store.responses import ResponseStore\n"
        "model = open_model('http://127.0.0.1:9/v1#tiny')\n"
        "for price in (None, Price(2.0, 10.0), Price(2.0, 10.0, cached=0.5)):\n"
        "    ModelClient(model, ResponseStore(None), price=price)\n"
        "    print('snellen.engine.limits.shared_prefix' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


def test_a_run_shows_what_was_cached(server: StandIn, provider: CachingProvider, tmp_path: Path) -> None:
    from snellen.report.format import _tokens

    spent = asked(server, tmp_path, CHEAPER).info.spent["model"]
    assert f"({spent.usage.cached_tokens:,} cached)" in " ".join(_tokens(spent))
    assert spent.usage.cached_tokens > 0
    assert cost(spent.usage, CHEAPER) < cost(Usage(spent.usage.prompt_tokens, spent.usage.completion_tokens), CHEAPER)
