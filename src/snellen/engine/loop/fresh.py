"""Runs that ask anew what the store has: each under a name, so that the same run is found again."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import structs

from snellen.core.errors import UsageError
from snellen.core.run import RunConfig, RunInfo
from snellen.engine.loop.plan import Plan, config_of
from snellen.store.runs import find_runs

LATEST = ""
"""What `--fresh` without a name stands for: the latest such command that has not ended, else a
new one."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_GIVEN_HERE = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")


def check_fresh(name: str | None) -> None:
    """Raises UsageError for what is no name."""
    if name and not _NAME.fullmatch(name):
        raise UsageError(f"--fresh {name!r}: expected a name of letters, digits and . _ -")


def fresh_name(plans: Sequence[Plan]) -> str:
    """The name for `LATEST`: that of the last command of these runs of which one has not ended, so
    that it goes on; a new one where all have, or there was none."""
    wanted = [plan for plan in plans if not plan.benchmark.needs(plan.model.capabilities)]
    made = [dict(_fresh_runs(plan)) for plan in wanted]
    every = {name: run.created for runs in made for name, run in runs.items()}
    if every:
        last = max(every, key=lambda name: (every[name], name))
        if not all(last in runs and runs[last].status == "complete" for runs in made):
            return last
    # Two commands may start in one second, and a clock may be set back.
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _fresh_runs(plan: Plan) -> Iterator[tuple[str, RunInfo]]:
    """The runs there are of this plan that were named here, by name."""
    if not plan.out.is_dir():
        return
    config = _but_for_name(config_of(plan, plan.benchmark.open()))
    try:
        runs = find_runs(plan.out)
    except UsageError:
        return
    for run in runs:
        name = run.info.config.fresh
        if _GIVEN_HERE.fullmatch(name) and _but_for_name(run.info.config) == config:
            yield name, run.info


def _but_for_name(config: RunConfig) -> RunConfig:
    """What a rule to stop by adds is not known before the run begins."""
    seed = config.seed if config.limit is not None else 0
    return structs.replace(config, fresh="", until="", seed=seed)
