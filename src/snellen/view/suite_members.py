"""Suites as the board shows them: which runs count for which member."""

from __future__ import annotations

import functools
from typing import Any

from snellen.benchmarks.declaration.registry import Suite, builtin_suites, member_key
from snellen.core.errors import UsageError


@functools.cache
def suites_json() -> list[dict[str, Any]]:
    """The built-in suites as plain JSON: members with the benchmarks, and the parameters that a run
    must have to count."""
    return [_suite_json(name, suite) for name, suite in builtin_suites().items()]


@functools.cache
def suite_metrics() -> frozenset[str]:
    """The metrics by which members of suites count, where that is not the headline."""
    members = (member for suite in builtin_suites().values() for member in suite.members)
    return frozenset(member.metric for member in members if member.metric is not None)


def _suite_json(name: str, suite: Suite) -> dict[str, Any]:
    members = []
    for member in suite.members:
        try:
            keys = [member_key(spec) for spec in member.benchmarks]
        except UsageError:
            # A benchmark that needs an extra that is not installed: no run of it is expected.
            keys = []
        members.append(
            {
                "name": member.name,
                "metric": member.metric,
                "benchmarks": [
                    [benchmark, [f"{key}={value}" for key, value in parameters.items()]]
                    for benchmark, parameters in keys
                ],
            }
        )
    return {"name": name, "title": suite.title, "average": suite.average, "members": members}
