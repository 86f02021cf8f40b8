"""What answers cost, in requests, tokens, seconds and money, and a budget for it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from snellen.core.errors import UsageError
from snellen.core.output import Failure, FailureKind, Output, Usage
from snellen.core.price import Price, cost
from snellen.core.run import Spent

_UNITS = {
    "usd": ("USD", 1.0),
    "$": ("USD", 1.0),
    "tok": ("tokens", 1.0),
    "ktok": ("tokens", 1e3),
    "mtok": ("tokens", 1e6),
}


@dataclass(slots=True)
class Tokens:
    """A sum of usages."""

    prompt: int = 0
    completion: int = 0
    reasoning: int = 0
    cached: int = 0

    def add(self, usage: Usage) -> None:
        self.prompt += usage.prompt_tokens
        self.completion += usage.completion_tokens
        self.reasoning += usage.reasoning_tokens
        self.cached += usage.cached_tokens

    def usage(self) -> Usage:
        return Usage(self.prompt, self.completion, self.reasoning, self.cached)


@dataclass(slots=True)
class Traffic:
    """What the answers of one start cost."""

    sent: int = 0
    """Sends, those of requests that were sent again included."""
    answered: int = 0
    reused: int = 0
    failed: int = 0
    failures: Counter[FailureKind] = field(default_factory=Counter)
    seconds: float = 0.0
    fresh: Tokens = field(default_factory=Tokens)
    stored: Tokens = field(default_factory=Tokens)
    """Tokens of the answers that were reused: paid for earlier."""

    def note(self, output: Output) -> None:
        """A request that was sent has ended."""
        if isinstance(output, Failure):
            self.failed += 1
            self.failures[output.kind] += 1
            return
        self.answered += 1
        if output.usage is not None:
            self.fresh.add(output.usage)
        if output.seconds is not None:
            self.seconds += output.seconds

    def note_reused(self, output: Output) -> None:
        """A request was answered without being sent."""
        self.reused += 1
        if not isinstance(output, Failure) and output.usage is not None:
            self.stored.add(output.usage)

    def after(self, earlier: Spent | None, price: Price | None) -> Spent:
        """This start put to what earlier ones spent. Failures are those of this start alone."""
        before = earlier or Spent()
        paid = None if price is None else cost(self.fresh.usage(), price)
        if before.cost is not None:
            paid = before.cost + (paid or 0.0)
        return Spent(
            sent=before.sent + self.sent,
            answered=before.answered + self.answered,
            reused=before.reused + self.reused,
            failures=dict(self.failures),
            usage=_sum(before.usage, self.fresh),
            reused_usage=_sum(before.reused_usage, self.stored),
            seconds=round(before.seconds + self.seconds, 3),
            price=price or before.price,
            cost=paid,
        )


@dataclass(slots=True)
class Budget:
    """What one command may spend, over all its models and judges."""

    amount: float
    unit: str
    """`USD` or `tokens`."""
    spent: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Budget:
        """`5usd`, `$5`, `500ktok` or `2Mtok`. Raises UsageError."""
        match = re.fullmatch(r"(\$?)(\d+(?:\.\d+)?)\s*([a-z$]*)", text.strip().lower())
        unit = _UNITS.get(match[1] or match[3]) if match else None
        if not match or unit is None or (match[1] and match[3]) or not float(match[2]):
            raise UsageError(f"--budget {text!r}: expected e.g. 5usd, 500ktok or 2Mtok")
        return cls(float(match[2]) * unit[1], unit[0])

    @property
    def in_money(self) -> bool:
        return self.unit == "USD"

    def add(self, usage: Usage, price: Price | None) -> None:
        if not self.in_money:
            self.spent += usage.prompt_tokens + usage.completion_tokens
        elif price is not None:
            self.spent += cost(usage, price)

    @property
    def reason(self) -> str:
        """Why nothing more is sent, or nothing while something is left."""
        if self.spent < self.amount:
            return ""
        if self.in_money:
            digits = 2 if self.spent >= 1 else 4
            return f"the budget of {self.amount:g} USD is spent ({self.spent:.{digits}f} USD)"
        return f"the budget of {self.amount:,.0f} tokens is spent ({self.spent:,.0f})"


def _sum(before: Usage, now: Tokens) -> Usage:
    return Usage(
        before.prompt_tokens + now.prompt,
        before.completion_tokens + now.completion,
        before.reasoning_tokens + now.reasoning,
        before.cached_tokens + now.cached,
    )
