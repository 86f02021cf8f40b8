"""Which failures are sent again, how often, and when that ends."""

from __future__ import annotations

import asyncio

import pytest

from snellen.core.errors import ModelError, UsageError
from snellen.core.model import Capabilities, Identity, RemoteModel
from snellen.core.output import Failure, FailureKind, Generated, Output
from snellen.core.request import Generate, Ref, Request, Text, user
from snellen.engine.limits.abort import MAX_CONSECUTIVE_FAILURES, MaxFailures, RunAborted
from snellen.engine.limits.retrying import RetryPolicy
from snellen.engine.loop.request_broker import RequestBroker, RequestLimits
from snellen.store.responses import ResponseStore

QUICK = RetryPolicy(base=0.001, cap=0.002, max_sends=4)


class Failing(RemoteModel):
    """Fails so many times in one way, then answers."""

    identity = Identity("test", "failing")
    capabilities = Capabilities()
    account = "test"
    concurrency = 4

    def __init__(self, kind: FailureKind, times: int = 1000, retry_after: float | None = None) -> None:
        self._error = ModelError("the last word", kind, retry_after)
        self._times = times
        self.sent = 0

    async def answer(self, request: Request) -> Output:
        self.sent += 1
        if self.sent <= self._times:
            raise self._error
        return Generated("A")

    async def close(self) -> None:
        return


def ask(number: int) -> Generate:
    return Generate(messages=(user(Text(f"{number}?")),), ref=Ref(str(number)))


def asked(model: Failing, terms: RequestLimits, count: int = 1) -> tuple[RequestBroker, list[Output | str]]:
    """The outputs, or why nothing was sent, of requests one after the other."""

    async def main() -> tuple[RequestBroker, list[Output | str]]:
        found: list[Output | str] = []
        with ResponseStore(None) as store:
            broker = RequestBroker({"model": model}, store, terms)
            for number in range(count):
                try:
                    found.append((await broker.ask(ask(number))).output)
                except RunAborted as aborted:
                    found.append(str(aborted))
            return broker, found

    return asyncio.run(main())


@pytest.mark.parametrize("kind", ["connection", "timeout", "rate_limit", "server"])
def test_retryable_failures_are_sent_again(kind: FailureKind) -> None:
    model = Failing(kind, times=2)
    broker, outputs = asked(model, RequestLimits(retries=QUICK))
    assert outputs == [Generated("A")]
    assert (model.sent, broker.clients["model"].usage.sent) == (3, 3)


@pytest.mark.parametrize("kind", ["connection", "timeout", "rate_limit", "server"])
def test_no_request_is_sent_more_often_than_the_policy_says(kind: FailureKind) -> None:
    model = Failing(kind)
    broker, outputs = asked(model, RequestLimits(retries=QUICK))
    assert outputs == [Failure(kind, "the last word", 4)]
    assert model.sent == 4
    assert broker.clients["model"].usage.failures == {kind: 1}


@pytest.mark.parametrize("kind", ["request", "too_long", "authentication", "unsupported", "media"])
def test_permanent_failures_are_sent_once(kind: FailureKind) -> None:
    model = Failing(kind)
    _, outputs = asked(model, RequestLimits(retries=QUICK))
    assert outputs == [Failure(kind, "the last word", 1)]
    assert model.sent == 1


def test_the_deadline_ends_the_retries() -> None:
    policy = RetryPolicy(base=0.001, cap=0.002, max_sends=1000, deadline=0.02)
    model = Failing("server")
    _, (output,) = asked(model, RequestLimits(retries=policy))
    assert isinstance(output, Failure)
    assert output.sent == model.sent < 1000


def test_a_pause_beyond_the_deadline_ends_the_run() -> None:
    model = Failing("rate_limit", retry_after=7200)
    broker, outputs = asked(model, RequestLimits(retries=QUICK), count=3)
    assert model.sent == 1
    assert "asks for a pause of 7,200 s" in broker.abort_signal.reason
    assert isinstance(outputs[0], Failure)
    assert outputs[1:] == [broker.abort_signal.reason] * 2


def test_waits_are_drawn_below_a_bound_that_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(base=1.0, cap=5.0)
    for sent, bound in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (400, 5.0)):
        waits = [policy.delay(sent) for _ in range(300)]
        assert 0 <= min(waits) < bound / 4
        assert 3 * bound / 4 < max(waits) <= bound


def test_a_server_that_answers_nothing_is_given_up() -> None:
    model = Failing("request")
    broker, outputs = asked(model, RequestLimits(retries=QUICK), count=MAX_CONSECUTIVE_FAILURES + 5)
    assert model.sent == MAX_CONSECUTIVE_FAILURES
    reason = "the first 20 requests to failing failed; the last error: the last word"
    assert broker.abort_signal.reason == reason
    assert outputs[MAX_CONSECUTIVE_FAILURES:] == [reason] * 5


def test_one_answer_prevents_the_abort() -> None:
    class Mixed(Failing):
        async def answer(self, request: Request) -> Output:
            self.sent += 1
            if self.sent == 5:
                return Generated("A")
            raise self._error

    model = Mixed("request")
    broker, _ = asked(model, RequestLimits(retries=QUICK), count=60)
    assert (model.sent, broker.abort_signal.reason) == (60, "")


@pytest.mark.parametrize("kind", ["connection", "timeout", "server", "rate_limit"])
@pytest.mark.attack("a server that dies in the middle", "the run ends in bounded time and can go on")
def test_a_server_that_is_gone_in_the_middle_is_given_up(kind: FailureKind) -> None:
    class Gone(Failing):
        async def answer(self, request: Request) -> Output:
            self.sent += 1
            if self.sent <= 30:
                return Generated("A")
            raise self._error

    model = Gone(kind)
    once = RetryPolicy(max_sends=1)
    broker, outputs = asked(model, RequestLimits(retries=once), count=30 + MAX_CONSECUTIVE_FAILURES + 5)
    assert model.sent == 30 + MAX_CONSECUTIVE_FAILURES
    reason = "the last 20 requests to failing failed; the last error: the last word"
    assert outputs[30 + MAX_CONSECUTIVE_FAILURES :] == [reason] * 5
    assert broker.abort_signal.reason == reason


def test_a_refused_key_ends_the_run_at_once() -> None:
    model = Failing("authentication")
    broker, _ = asked(model, RequestLimits(retries=QUICK), count=9)
    assert model.sent == 1
    assert broker.abort_signal.reason.startswith("failing refuses the key")


@pytest.mark.parametrize(("text", "sent"), [("3", 4), ("0", 1), ("50%", MAX_CONSECUTIVE_FAILURES)])
def test_max_failures_is_counted_or_a_share(text: str, sent: int) -> None:
    model = Failing("request")
    terms = RequestLimits(retries=QUICK, max_failures=MaxFailures.parse(text))
    broker, _ = asked(model, terms, count=40)
    assert model.sent == sent
    assert f"{sent} of {sent} requests" in broker.abort_signal.reason


@pytest.mark.parametrize("text", ["", "many", "-1", "2.5", "120%", "%"])
def test_a_bad_max_failures_is_explained(text: str) -> None:
    with pytest.raises(UsageError, match=r"--requests max_failures=.* expected a count such as 20, or 5%"):
        MaxFailures.parse(text)
