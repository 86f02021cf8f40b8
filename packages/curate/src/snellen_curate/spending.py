"""What a step has spent, over all its starts: `spent.jsonl` in its folder.

A line is written while requests go on, so that a kill loses no more than the last few.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.core.run import RoleUsage
from snellen.store.runs import RUN_FILES, find_runs

SPENT_FILE = "spent.jsonl"


class SpentLine(Struct, frozen=True):
    """What one start has spent so far, by role."""

    start: str
    """Name of the start: later lines of the same start replace earlier ones."""
    spent: dict[str, RoleUsage]
    free: tuple[str, ...] = ()
    """Roles whose model runs on this machine, which has no price."""


class Spending(Struct, frozen=True):
    """What was spent altogether."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    """None if the price of one of the models is not known."""
    currency: str = "USD"

    def plus(self, other: Spending) -> Spending:
        """The sum of both."""
        is_known = self.cost is not None and other.cost is not None
        return Spending(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost or 0.0) + (other.cost or 0.0) if is_known else None,
        )

    def sentence(self) -> str:
        """Requests, tokens and price in one clause."""
        if not self.requests:
            return "nothing was asked"
        tokens = self.prompt_tokens + self.completion_tokens
        price = "price unknown" if self.cost is None else f"{self.cost:.4f} {self.currency}"
        return f"{self.requests:,} requests, {tokens:,} tokens, {price}"


def note_spending(folder: Path, line: SpentLine) -> None:
    """Append what a start has spent so far. A folder that cannot be written is passed over."""
    text = msgspec.json.encode(line) + b"\n"
    with suppress(OSError):
        descriptor = os.open(folder / SPENT_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, text)
        finally:
            os.close(descriptor)


def read_spending(folder: Path) -> Spending:
    """What a step's folder, and the runs in its `runs`, say was spent."""
    latest: dict[str, SpentLine] = {}
    with suppress(OSError):
        for text in (folder / SPENT_FILE).read_bytes().splitlines():
            with suppress(msgspec.DecodeError):
                line = msgspec.json.decode(text, type=SpentLine)
                latest[line.start] = line
    total = Spending()
    for line in latest.values():
        for role, usage in line.spent.items():
            total = total.plus(_of_role(usage, is_free=role in line.free))
    for runs in (folder, folder / "runs"):
        if runs.is_dir() and any(runs.glob(RUN_FILES)):
            for run in find_runs(runs):
                for usage in run.info.spent.values():
                    total = total.plus(_of_role(usage, is_free=not run.info.address))
    return total


def _of_role(role: RoleUsage, *, is_free: bool) -> Spending:
    usage = role.usage
    cost = 0.0 if not role.sent or (role.cost is None and is_free) else role.cost
    return Spending(role.sent, usage.prompt_tokens, usage.completion_tokens, cost)
