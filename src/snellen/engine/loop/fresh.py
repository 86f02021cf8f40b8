"""Fresh runs (`--fresh`): they ignore stored replies, under a name by which the run continues."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import structs

from snellen.core.errors import UsageError
from snellen.core.run import RunConfig, RunInfo
from snellen.engine.loop.plan import RunPlan, run_config
from snellen.store.runs import find_runs

LATEST = ""
"""`--fresh` without a name: continue the latest unfinished fresh command, else start a new one."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_GENERATED_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")


def check_fresh(name: str | None) -> None:
    """Raises UsageError if the name is invalid."""
    if name and not _NAME.fullmatch(name):
        raise UsageError(f"--fresh {name!r}: expected a name of letters, digits and . _ -")


def fresh_name(plans: Sequence[RunPlan]) -> str:
    """The name that `LATEST` stands for: that of the last command of these runs if one of its runs
    is unfinished, so that the command continues it; else a new name."""
    supported = [plan for plan in plans if not plan.benchmark.requires(plan.model.capabilities)]
    named_runs = [dict(_generated_runs(plan)) for plan in supported]
    started = {name: run.created for runs in named_runs for name, run in runs.items()}
    if started:
        last = max(started, key=lambda name: (started[name], name))
        if not all(last in runs and runs[last].status == "complete" for runs in named_runs):
            return last
    # The random part: two commands may start in one second, and a clock may be set back.
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _generated_runs(plan: RunPlan) -> Iterator[tuple[str, RunInfo]]:
    """Existing runs of this plan whose names were generated here, with their names."""
    if not plan.out.is_dir():
        return
    config = _without_name(run_config(plan, plan.benchmark.open()))
    try:
        runs = find_runs(plan.out)
    except UsageError:
        return
    for run in runs:
        name = run.info.config.fresh
        if _GENERATED_NAME.fullmatch(name) and _without_name(run.info.config) == config:
            yield name, run.info


def _without_name(config: RunConfig) -> RunConfig:
    """The config without its name, and without what a stop rule adds when the run starts."""
    seed = config.seed if config.limit is not None else 0
    return structs.replace(config, fresh="", until="", seed=seed)
