"""Which failures end a run: in a row, from the start, or too many in all."""

from __future__ import annotations

from itertools import chain, repeat

import pytest

from snellen.core.output import Failure, Generated, Output
from snellen.engine.limits.abort import MAX_CONSECUTIVE_FAILURES, AbortSignal, FailureMonitor, MaxFailures

ANSWER = Generated("A")


def failures(count: int, kind: str = "server") -> repeat:
    return repeat(Failure(kind, "it is down"), count)  # type: ignore[arg-type]


def noted(*parts: object, remote: bool = True, most: str | None = None) -> str:
    """Why the run ended after these outputs; empty where it goes on."""
    abort_signal = AbortSignal()
    limit = None if most is None else MaxFailures.parse(most)
    monitor = FailureMonitor("m", remote, limit, abort_signal)
    outputs: chain[Output] = chain.from_iterable(part if isinstance(part, repeat) else [part] for part in parts)
    for output in outputs:
        monitor.add_output(output)
    return abort_signal.reason


LIMIT = MAX_CONSECUTIVE_FAILURES
LESS = LIMIT - 1


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ((failures(LESS),), ""),
        ((failures(MAX_CONSECUTIVE_FAILURES),), "the first 20 requests to m failed; the last error: it is down"),
        ((failures(MAX_CONSECUTIVE_FAILURES, "refused_by_server"),), "the first 20 requests to m failed"),
        # Those in a row count, not those in all.
        ((failures(LESS), ANSWER, failures(LESS)), ""),
        ((ANSWER, failures(LESS), ANSWER, failures(LESS), ANSWER, failures(LESS)), ""),
        ((failures(LESS), ANSWER, failures(MAX_CONSECUTIVE_FAILURES)), "the last 20 requests to m failed"),
        # Another failure between two outages shows that the server is there.
        ((ANSWER, failures(LESS), *failures(1, "content_filter"), failures(LESS)), ""),
        # Failures of one request's own say nothing, and neither end an outage nor add to it.
        ((ANSWER, failures(100, "media")), ""),
        ((ANSWER, failures(LESS), *failures(1, "too_long"), failures(1)), "the last 20 requests to m failed"),
        ((failures(1, "authentication"),), "m refuses the key; the last error: it is down"),
    ],
)
def test_a_remote_model(parts: tuple[object, ...], end: str) -> None:
    reason = noted(*parts)
    assert reason.startswith(end)
    assert bool(reason) == bool(end)


def test_a_local_model_is_given_up_only_where_a_limit_is_set() -> None:
    assert noted(failures(1000), remote=False) == ""
    assert noted(failures(1, "authentication"), remote=False) == ""
    assert noted(failures(3), remote=False, most="2").startswith("3 of 3 requests to m failed")


@pytest.mark.parametrize(
    ("most", "parts", "ends"),
    [
        ("0", (ANSWER, failures(1)), True),
        ("5", (failures(5),), False),
        ("5", (failures(3), ANSWER, failures(3)), True),
        # With a limit of one's own an outage alone does not end the run.
        ("50", (failures(LIMIT),), False),
        # A share is looked at from twenty requests on.
        ("10%", (failures(LESS),), False),
        ("10%", (failures(2), repeat(ANSWER, 18)), False),
        ("10%", (repeat(ANSWER, 17), failures(3)), True),
        ("10%", (repeat(ANSWER, 18), failures(2, "too_long"), failures(2)), False),
    ],
)
def test_own_failure_limit(most: str, parts: tuple[object, ...], ends: bool) -> None:
    assert bool(noted(*parts, most=most)) == ends
