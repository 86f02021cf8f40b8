"""Reserves part of a budget for each request in flight, so that the budget holds.

What a request costs is known once its reply is there; until then the most that it may cost counts
as spent. A request that does not fit waits until others have ended for less than they reserved.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from snellen.core.output import Price, Usage, cost
from snellen.core.request import Compare, Generate, Rank, Request
from snellen.engine.limits.abort import AbortSignal
from snellen.engine.limits.spending import Budget

TOLERANCE = 0.02
"""How far, as a fraction of the budget, spending may exceed it if every reply in flight is as long
as it can be."""
_BYTES_PER_TOKEN = 2
"""Fewest bytes of text per token that are assumed before a model's first reply; English text has
four, and few texts in any script have fewer than two."""
_MESSAGE_TOKENS = 16
"""Tokens around a message: role, separators."""
_MARGIN = 1.1
"""By how much a prompt may have more tokens than any other did, for its size."""


@dataclass(slots=True)
class UsageBound:
    """The most tokens that a request to one model may take, from what its replies took."""

    _text_ratio: float = 0.0
    """Largest ratio of the tokens of a prompt without media to the assumed size of its text."""
    _medium_tokens: float = 0.0
    """Most tokens per image or video of a prompt with media."""
    _reply_ratio: float = 1.0
    """Largest ratio of the tokens of a reply to the limit that was requested."""
    _unlimited_reply: int = 0
    """Most tokens of a reply that has no limit, such as a drawn image."""
    _seen: set[str] = field(default_factory=set)

    def knows(self, request: Request) -> bool:
        """Whether a request like this one has ended. Before that, what it takes is a guess."""
        return _sort(request) in self._seen

    def most(self, request: Request) -> Usage:
        """The most tokens of prompt and reply."""
        text = _MARGIN * self._text_ratio if self._text_ratio else 1.0
        prompt = text * _text_size(request)
        prompt += _MARGIN * self._medium_tokens * _count_media(request)
        limit = _reply_limit(request)
        reply = _MARGIN * self._unlimited_reply if limit is None else self._reply_ratio * limit
        return Usage(round(prompt), round(reply))

    def learn(self, request: Request, usage: Usage | None) -> None:
        """Note what a request took; None if the model does not say."""
        self._seen.add(_sort(request))
        if usage is None:
            return
        media = _count_media(request)
        if media:
            self._medium_tokens = max(self._medium_tokens, usage.prompt_tokens / media)
        else:
            ratio = usage.prompt_tokens / _text_size(request)
            self._text_ratio = max(self._text_ratio, ratio)
        limit = _reply_limit(request)
        if limit is None:
            self._unlimited_reply = max(self._unlimited_reply, usage.completion_tokens)
        elif limit:
            self._reply_ratio = max(self._reply_ratio, usage.completion_tokens / limit)


def _sort(request: Request) -> str:
    """Requests of one sort cost alike for their size."""
    return f"{type(request).__name__} {'with' if _count_media(request) else 'without'} media"


def _text_size(request: Request) -> int:
    """Assumed tokens of the text of a prompt."""
    size = 1
    for message in request.messages:
        size += _MESSAGE_TOKENS + len(message.text().encode()) // _BYTES_PER_TOKEN
    if isinstance(request, Rank):
        size += sum(len(text.encode()) for text in request.candidates) // _BYTES_PER_TOKEN
    return size


def _count_media(request: Request) -> int:
    return sum(len(message.media()) for message in request.messages)


def _reply_limit(request: Request) -> int | None:
    """The most tokens of a reply that the request allows; None if it has no limit."""
    if isinstance(request, Generate):
        return request.settings.max_new_tokens
    return 0 if isinstance(request, Rank | Compare) else None


@dataclass(slots=True)
class BudgetReservations:
    """The parts of a budget that requests in flight may take. Lives inside one event loop."""

    budget: Budget
    abort_signal: AbortSignal
    reserved: float = 0.0
    _count: int = 0
    """Requests that have reserved something and have not ended."""
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.abort_signal.add_callback(lambda grace: self._wake_all())

    async def reserve(self, request: Request, bound: UsageBound, price: Price | None, is_sent: bool = False) -> float:
        """Wait until the most that a request may take fits; returns the amount to `release`. One that
        was sent before (`is_sent`) is paid for, and does not wait.

        The first of its sort is sent alone, because nobody knows how many tokens an image is.
        Aborts the run if a request would not fit even if nothing else were in flight. Raises
        RunAborted.
        """
        while True:
            amount = self._amount(bound.most(request), price)
            fits = self._fits(amount)
            if is_sent or (fits and (bound.knows(request) or not self._count)):
                break
            if not fits and not self._count:
                self.abort_signal.abort(self.budget.shortfall(amount))
            self.abort_signal.raise_if_aborted()
            await self._wait()
            self.abort_signal.raise_if_aborted()
        self.reserved += amount
        self._count += 1
        return amount

    async def _wait(self) -> None:
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def release(self, amount: float) -> None:
        """Return what was reserved, once what the request took has been added to the budget."""
        self._count -= 1
        # Exactly 0 once nothing is in flight, whatever was rounded on the way.
        self.reserved = self.reserved - amount if self._count else 0.0
        self._wake_all()

    def _fits(self, amount: float) -> bool:
        budget = self.budget
        return budget.spent + self.reserved + amount <= (1 + TOLERANCE) * budget.amount

    def _amount(self, usage: Usage, price: Price | None) -> float:
        if not self.budget.is_money:
            return float(usage.prompt_tokens + usage.completion_tokens)
        return 0.0 if price is None else cost(usage, price)

    def _wake_all(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
