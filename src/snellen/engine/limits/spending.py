"""What a run has spent, in requests, tokens, seconds and money, and a budget for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from msgspec.structs import astuple, replace

from snellen.core.errors import UsageError
from snellen.core.model import Identity
from snellen.core.output import Failure, FailureKind, Output, Price, Usage, cost
from snellen.core.run import BatchUsage, RoleUsage, RunInfo
from snellen.engine.ray.lost_runs import LOST_REASON
from snellen.store.responses import ResponseStore


def add_killed_start(
    spent: dict[str, RoleUsage],
    earlier: RunInfo,
    folder: Path,
    identities: Mapping[str, Identity],
    prices: Mapping[str, Price],
    store: ResponseStore,
) -> dict[str, RoleUsage]:
    """Add to `spent` (by role) the replies that a killed start stored but did not record.

    The store is read once, and only if the previous start did not end regularly.
    """
    if earlier.status != "running" and earlier.stopped != LOST_REASON:
        return spent
    since = datetime.fromisoformat(earlier.created).timestamp()
    roles: dict[str, list[str]] = {}
    for role, identity in identities.items():
        roles.setdefault(identity.digest(), []).append(role)
    result = dict(spent)
    for same_model_roles in roles.values():
        # The store does not tell the roles of a model apart: unrecorded replies count for the
        # first.
        first = same_model_roles[0]
        stored = store.outputs_since(folder, identities[first], since)
        recorded = [spent[role] for role in same_model_roles if role in spent]
        if len(stored) > sum(role_usage.answered for role_usage in recorded):
            missing = _unrecorded_spending(stored, recorded)
            result[first] = _add_spending(spent.get(first, RoleUsage()), missing, prices.get(first))
    return result


def _unrecorded_spending(stored: list[Output], recorded: list[RoleUsage]) -> RoleUsage:
    """What the stored replies cost beyond what was recorded."""
    usages = [output.usage for output in stored if not isinstance(output, Failure) and output.usage]
    seconds = [output.seconds for output in stored if not isinstance(output, Failure) and output.seconds]
    count = len(stored) - sum(usage.answered for usage in recorded)

    def unrecorded_tokens(tokens: Callable[[Usage], int]) -> int:
        return max(0, sum(map(tokens, usages)) - sum(tokens(role.usage) for role in recorded))

    return RoleUsage(
        answered=count,
        usage=Usage(
            unrecorded_tokens(lambda usage: usage.prompt_tokens),
            unrecorded_tokens(lambda usage: usage.completion_tokens),
            unrecorded_tokens(lambda usage: usage.reasoning_tokens),
            unrecorded_tokens(lambda usage: usage.cached_tokens),
        ),
        seconds=max(0.0, sum(seconds) - sum(usage.seconds for usage in recorded)),
    )


def _add_spending(recorded: RoleUsage, missing: RoleUsage, price: Price | None) -> RoleUsage:
    price = recorded.price or price
    answered = recorded.answered + missing.answered
    return replace(
        recorded,
        sent=max(recorded.sent, answered),
        answered=answered,
        usage=recorded.usage + missing.usage,
        seconds=round(recorded.seconds + missing.seconds, 3),
        price=price,
        cost=recorded.cost if price is None else (recorded.cost or 0.0) + cost(missing.usage, price),
    )


_UNITS = {
    "usd": ("USD", 1.0),
    "$": ("USD", 1.0),
    "tok": ("tokens", 1.0),
    "ktok": ("tokens", 1e3),
    "mtok": ("tokens", 1e6),
}


def add_usage(first: Mapping[str, RoleUsage], second: Mapping[str, RoleUsage], sign: int = 1) -> dict[str, RoleUsage]:
    """What several folders of one run used, by role, a batch that several took counted once; with `sign=-1` what the
    first used beyond the second, which is a part of it."""
    roles = dict.fromkeys((*first, *second))
    return {role: _add_role(first.get(role, RoleUsage()), second.get(role, RoleUsage()), sign) for role in roles}


def _add_role(first: RoleUsage, second: RoleUsage, sign: int) -> RoleUsage:
    if sign > 0:
        for name in first.batches.keys() & second.batches.keys():
            twice, price = second.batches[name], second.price
            paid = None if price is None else cost(twice.usage, price)
            same = RoleUsage(twice.sent, twice.answered, usage=twice.usage, cost=paid, batches={name: twice})
            second = _add_role(second, same, -1)
        batches = first.batches | second.batches
    else:
        batches = {name: batch for name, batch in first.batches.items() if name not in second.batches}
    failures = Counter(first.failures)
    failures.update({kind: sign * count for kind, count in second.failures.items()})
    costs = [first.cost, None if second.cost is None else sign * second.cost]
    known = [one for one in costs if one is not None]
    return RoleUsage(
        sent=first.sent + sign * second.sent,
        answered=first.answered + sign * second.answered,
        reused=first.reused + sign * second.reused,
        failures={kind: count for kind, count in failures.items() if count > 0},
        usage=_add_tokens(first.usage, second.usage, sign),
        reused_usage=_add_tokens(first.reused_usage, second.reused_usage, sign),
        seconds=round(first.seconds + sign * second.seconds, 3),
        price=first.price or second.price,
        cost=sum(known) if known else None,
        batches=batches,
    )


def _add_tokens(first: Usage, second: Usage, sign: int) -> Usage:
    return Usage(*(one + sign * other for one, other in zip(astuple(first), astuple(second), strict=True)))


@dataclass(slots=True)
class UsageCounter:
    """What one model used in one start of a run."""

    sent: int = 0
    """Sends, retries included."""
    rate_limited: int = 0
    """Sends that a rate limit refused."""
    answered: int = 0
    reused: int = 0
    failed: int = 0
    failures: Counter[FailureKind] = field(default_factory=Counter)
    seconds: float = 0.0
    sent_usage: Usage = field(default_factory=Usage)
    reused_usage: Usage = field(default_factory=Usage)
    """Of reused answers, which were paid for earlier."""
    batches: dict[str, BatchUsage] = field(default_factory=dict)
    """What batches at providers answered, as a part of the above."""

    def add_output(self, output: Output) -> None:
        """Count the output of a request that was sent."""
        if isinstance(output, Failure):
            self.failed += 1
            self.failures[output.kind] += 1
            return
        self.answered += 1
        if output.usage is not None:
            self.sent_usage += output.usage
        if output.seconds is not None:
            self.seconds += output.seconds

    def add_reused(self, output: Output) -> None:
        """Count the output of a request that was answered without being sent."""
        self.reused += 1
        if not isinstance(output, Failure) and output.usage is not None:
            self.reused_usage += output.usage

    def add_batched(self, name: str, output: Output) -> None:
        """Count the sending of a request that was in the batch of this name; `add_output` counts its output."""
        self.sent += 1
        before = self.batches.get(name, BatchUsage())
        if isinstance(output, Failure):
            self.batches[name] = replace(before, sent=before.sent + 1)
        else:
            usage = before.usage + (output.usage or Usage())
            self.batches[name] = BatchUsage(before.sent + 1, before.answered + 1, usage)

    def add_to(self, earlier: RoleUsage | None, price: Price | None) -> RoleUsage:
        """The total over this start and earlier ones. Failures are those of this start only."""
        before = earlier or RoleUsage()
        now = RoleUsage(
            sent=self.sent,
            answered=self.answered,
            reused=self.reused,
            usage=self.sent_usage,
            reused_usage=self.reused_usage,
            seconds=self.seconds,
            price=price,
            cost=None if price is None else cost(self.sent_usage, price),
            batches=dict(self.batches),
        )
        return replace(_add_role(before, now, 1), failures=dict(self.failures), price=price or before.price)


@dataclass(slots=True)
class Budget:
    """What one command may spend, over all its models and roles."""

    amount: float
    unit: str
    """`USD` or `tokens`."""
    spent: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Parse `5usd`, `$5`, `500ktok` or `2Mtok`. Raises UsageError."""
        match = re.fullmatch(r"(\$?)(\d+(?:\.\d+)?)\s*([a-z$]*)", text.strip().lower())
        unit = _UNITS.get(match[1] or match[3]) if match else None
        if not match or unit is None or (match[1] and match[3]) or not float(match[2]):
            raise UsageError(f"--budget {text!r}: an amount needs its unit; expected e.g. 5usd, 500ktok or 2Mtok")
        return cls(float(match[2]) * unit[1], unit[0])

    @property
    def is_money(self) -> bool:
        return self.unit == "USD"

    def add(self, usage: Usage, price: Price | None) -> None:
        if not self.is_money:
            self.spent += usage.prompt_tokens + usage.completion_tokens
        elif price is not None:
            self.spent += cost(usage, price)

    @property
    def reason(self) -> str:
        """Why nothing more may be sent: a clause; empty while some of the budget remains."""
        if self.spent < self.amount:
            return ""
        if self.is_money:
            digits = 2 if self.spent >= 1 else 4
            return f"the budget of {self.amount:g} USD is spent ({self.spent:.{digits}f} USD)"
        return f"the budget of {self.amount:,.0f} tokens is spent ({self.spent:,.0f})"

    def shortfall(self, needed: float) -> str:
        """Why a request that may take `needed` is not sent: a clause."""
        if self.is_money:
            spent, most = f"{self.spent:.4f} USD", f"{needed:.4f} USD"
            amount = f"{self.amount:g} USD"
        else:
            spent, most = f"{self.spent:,.0f}", f"{needed:,.0f}"
            amount = f"{self.amount:,.0f} tokens"
        return f"the budget of {amount} is spent ({spent}; the next request may take {most})"
