"""Wrong answers that strong systems share, seen and expected, where every label is right."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats.shared_errors import ExpectedCount, SystemAnswers, expected_shared_errors


def shared(
    rng: np.random.Generator, spread: float, attraction: float, systems: int = 6, n: int = 1000
) -> tuple[int, ExpectedCount]:
    """Four options; the first wrong one draws `attraction` of the wrong answers to itself."""
    able = rng.normal(0.9, 0.3, systems)
    right = rng.random((n, systems)) < 1 / (1 + np.exp(rng.normal(0, spread, (n, 1)) - able))
    wrong = rng.integers(0, 3, (n, systems))
    wrong[rng.random((n, systems)) < attraction] = 0
    strong = np.argsort(-right.mean(axis=0))[:3]
    alike = (wrong[:, strong] == wrong[:, strong[:1]]).all(axis=1)
    rows = np.where(right, -1, wrong).tolist()
    answers = SystemAnswers(
        right.astype(np.float64),
        [[None if one < 0 else one for one in row] for row in rows],
        np.full(n, 3.0),
    )
    seen = int(((~right[:, strong]).all(axis=1) & alike).sum())
    return seen, expected_shared_errors(answers, strong.tolist(), np.arange(n))


@pytest.mark.parametrize(("spread", "attraction"), [(1.0, 0.0), (2.0, 0.5)])
def test_as_many_are_expected_as_are_seen(
    spread: float, attraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snellen.stats.shared_errors.DRAWS", 1)
    rng = np.random.default_rng(31)
    pairs = [shared(rng, spread, attraction) for _ in range(20)]
    ratio = sum(seen for seen, _ in pairs) / sum(told.mean for _, told in pairs)
    assert 0.8 < ratio < 1.25


def test_the_range_holds_what_is_seen() -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        seen, told = shared(rng, 1.0, 0.5)
        assert told.low <= told.mean <= told.high
        assert told.low <= seen <= told.high


def test_yes_and_no_agree_whenever_both_err() -> None:
    """One wrong option: three systems that are right half of the time, on samples alike hard."""
    rng = np.random.default_rng(9)
    right = (rng.random((4000, 5)) < 0.5).astype(np.float64)
    wrong = [[None if one else "No" for one in row] for row in right.tolist()]
    told = expected_shared_errors(
        SystemAnswers(right, wrong, np.ones(4000)), [0, 1, 2], np.arange(4000)
    )
    assert told.mean == pytest.approx(500, rel=0.1)
    unread = [[None] * 5 for _ in wrong]
    none = expected_shared_errors(
        SystemAnswers(right, unread, np.ones(4000)), [0, 1, 2], np.arange(4000)
    )
    assert none == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="2 or more other systems, got 1"):
        expected_shared_errors(
            SystemAnswers(right, wrong, np.ones(4000)), [0, 1, 2, 3], np.arange(4000)
        )
