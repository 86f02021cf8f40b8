"""Notices about means of groups."""

from __future__ import annotations

import pytest

from snellen.scoring.grouped import small_group_notice
from snellen.stats.stratified import group_sums


@pytest.mark.parametrize(
    ("sizes", "weights", "about"),
    [
        ({"a": 3, "b": 997}, None, "12"),
        ({"a": 3, "b": 20}, None, "10"),
        ({"a": 10, "b": 997}, None, ""),
        ({"a": 3, "b": 3}, None, "6"),
        ({"a": 3, "b": 3, "c": 3}, None, ""),
        ({"a": 3, "b": 997}, {"a": 0.01, "b": 0.99}, ""),
        ({"a": 3}, None, ""),
    ],
)
def test_reports_tiny_group_that_dominates_the_mean(
    sizes: dict[str, int], weights: dict[str, float] | None, about: str
) -> None:
    groups = {name: group_sums([1.0] * size, [""] * size) for name, size in sizes.items()}
    found = small_group_notice(groups, weights)
    if not about:
        assert found == []
        return
    (notice,) = found
    assert notice.startswith("a has 3 of ")
    assert notice.endswith(f"about {about} questions")
