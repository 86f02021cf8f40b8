"""A server that fails in every way: each sample ends answered or as a typed failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from remote_runs import QUICK, Scripted, measured
from standin_server import StandIn

from snellen.core.output import Failure
from snellen.engine.limits.retrying import RetryPolicy
from snellen.engine.loop.request_broker import RequestLimits

COUNT = 400
SENDS = 3


@pytest.mark.attack("faults of every kind among good replies", "failed, never scored; nothing lost or sent too often")
def test_nothing_is_lost_scored_wrong_or_sent_too_often(server: StandIn, tmp_path: Path) -> None:
    script = Scripted()
    server.handler = script
    policy = RetryPolicy(base=QUICK.base, cap=QUICK.cap, max_sends=SENDS)
    folder = measured(server, tmp_path, COUNT, RequestLimits(retries=policy))
    records, failures = list(folder.records()), list(folder.failures())
    assert sorted(int(one.id) for one in records + failures) == list(range(COUNT))
    assert all(one.score == 1.0 for one in records)
    assert failures
    kinds = set()
    for one in failures:
        output = one.passes[-1].output
        assert isinstance(output, Failure)
        assert one.score is None
        assert one.unscored == "failed"
        assert output.sent == script.sent[int(one.id)]
        kinds.add(output.kind)
        assert output.sent == SENDS or output.kind == "request"
    assert {"request", "server"} <= kinds <= {"request", "server", "rate_limit", "connection"}
    assert max(script.sent.values()) == SENDS
    spent = folder.info.spent["model"]
    # A connection that the server aborts before it has read the request may be tried twice by
    # the HTTP library itself; nothing else may make the two counts differ.
    assert spent.sent == sum(script.sent.values())
    assert spent.answered == len(records)
    assert sum(spent.failures.values()) == len(failures)
    assert folder.info.status == "incomplete"
    assert folder.report().summary.headline.value == 100.0

    script.trouble = False
    before = script.sent.copy()
    folder = measured(server, tmp_path, COUNT, RequestLimits(retries=policy))
    sent_again = script.sent - before
    assert sent_again == {int(one.id): 1 for one in failures}
    assert folder.info.status == "complete"
    assert len(list(folder.records())) == COUNT
    assert folder.info.spent["model"].answered == COUNT


def test_no_more_are_in_flight_than_the_model_allows(server: StandIn, tmp_path: Path) -> None:
    # Slow enough that a client under load still fills its window.
    script = Scripted(trouble=False, pause=0.05)
    server.handler = script
    measured(server, tmp_path, 120, options=":concurrency=12")
    assert 8 < script.most_open <= 12
