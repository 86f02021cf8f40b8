"""Prefixes of prompts that a provider bills at a lower price once it has them cached.

A prefix is cached once the provider has answered, and kept for minutes: of requests that are sent at
once, each pays for what they share. So the first is sent alone, and the others wait for its reply
(`PrefixGate`); and samples about the same media are asked one after the other (`group_samples`).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import NamedTuple

from snellen.core.model import PromptCache, abilities
from snellen.core.output import Failure, Output, Price
from snellen.core.request import LazyTuple, Media, Request, Text
from snellen.core.sample import Sample

CHARACTERS_PER_TOKEN = 4
IMAGE_TOKENS = 1000
"""Tokens that an image counts as where nothing better is known."""
_CHUNK = 128
"""Characters after which a prefix may end."""
_WINDOW = 4_000
"""Samples that are read ahead to find those about the same media."""
_SECONDS_KEPT = 300.0
"""Seconds for which an unused prefix is taken to be cached: the shortest time that providers name."""
_MOST_KEPT = 200_000
"""Prefixes that are remembered: some 20 MB."""
_LONGEST_WAIT = 60.0
"""Seconds that a request waits for another one's reply at most: a saving must not stop a run."""
_MOST_WAITS = 2
"""Replies that a request waits for: of the first of all, then of the first about the same media."""


def cache_of(model: object, price: Price | None) -> PromptCache | None:
    """How the provider of a model caches prompts, if cached tokens cost less; else None."""
    able = abilities(model)
    if price is None or price.cached is None or price.cached >= price.input or able.batch_terms is not None:
        return None
    return able.prompt_cache


class Prefix(NamedTuple):
    """The beginning of a prompt: about how long it is, and the hash of its texts and media."""

    tokens: float
    key: bytes


def prefixes_of(request: Request, cache: PromptCache, image_tokens: Callable[[Media], float]) -> list[Prefix]:
    """The beginnings of a prompt that are long enough to be cached, shortest first."""
    found: list[Prefix] = []
    content, tokens = hashlib.sha256(), 0.0

    def add(data: str, more_tokens: float) -> None:
        nonlocal tokens
        content.update(data.encode("utf-8", "surrogatepass"))
        tokens += more_tokens
        if tokens >= cache.tokens:
            found.append(Prefix(tokens, content.digest()[:16]))

    for message in request.messages:
        content.update(f"\0{message.role}".encode())
        for part in message.parts:
            if isinstance(part, Text):
                content.update(b"\0text:")
                for start in range(0, len(part.text), _CHUNK):
                    piece = part.text[start : start + _CHUNK]
                    add(piece, len(piece) / CHARACTERS_PER_TOKEN)
            else:
                add(f"\0media:{part.digest}", image_tokens(part))
    return found


class PrefixForecast:
    """Counts tokens of prompts that will come from the provider's cache, prompt by prompt."""

    def __init__(self, cache: PromptCache, image_tokens: Callable[[Media, Request], float]) -> None:
        self._cache, self._image_tokens = cache, image_tokens
        self._seen: set[bytes] = set()

    def cached_tokens(self, request: Request) -> float:
        """Tokens of the prompt that an earlier one began with, in full steps of the provider."""
        prefixes = prefixes_of(request, self._cache, lambda part: self._image_tokens(part, request))
        known = max((prefix.tokens for prefix in prefixes if prefix.key in self._seen), default=0.0)
        self._seen.update(prefix.key for prefix in prefixes)
        return known - known % self._cache.step


class PrefixGate:
    """Holds a request back while the first one with the same beginning is in flight."""

    def __init__(self, send: Callable[[Request], Awaitable[Output]], cache: PromptCache) -> None:
        self._forward, self._cache = send, cache
        self._pending: dict[bytes, asyncio.Event] = {}
        """Of the request in flight that is the first with a prefix; set when it has ended."""
        self._cached: dict[bytes, float] = {}
        """When a prefix was used last, by the clock of the event loop; the oldest first."""

    async def send(self, request: Request) -> Output:
        """Send a request, after the reply to the first one with its beginning."""
        prefixes = prefixes_of(request, self._cache, lambda part: IMAGE_TOKENS)
        for _ in range(_MOST_WAITS):
            if (first := self._first_in_flight(prefixes)) is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(first.wait(), _LONGEST_WAIT)
        ended, keys = asyncio.Event(), [prefix.key for prefix in prefixes]
        fresh = [key for key in keys if key not in self._pending and not self._is_cached(key)]
        self._pending.update(dict.fromkeys(fresh, ended))
        try:
            output = await self._forward(request)
            if not isinstance(output, Failure):
                self._note_cached(keys)
            return output
        finally:
            for key in fresh:
                del self._pending[key]
            ended.set()

    def _first_in_flight(self, prefixes: list[Prefix]) -> asyncio.Event | None:
        """The end of the request in flight with the longest common beginning; None if there is none, or
        if little more is common than is cached already: texts often share some words behind that."""
        known = max((prefix.tokens for prefix in prefixes if self._is_cached(prefix.key)), default=0.0)
        for prefix in reversed(prefixes):
            if prefix.key in self._pending:
                return self._pending[prefix.key] if prefix.tokens - known >= self._cache.tokens / 8 else None
        return None

    def _is_cached(self, key: bytes) -> bool:
        return asyncio.get_running_loop().time() - self._cached.get(key, float("-inf")) < _SECONDS_KEPT

    def _note_cached(self, keys: list[bytes]) -> None:
        now = asyncio.get_running_loop().time()
        for key in keys:
            self._cached.pop(key, None)
            self._cached[key] = now
        while len(self._cached) > _MOST_KEPT:
            del self._cached[next(iter(self._cached))]


def group_samples(samples: Iterator[Sample], width: int) -> Iterator[Sample]:
    """Samples with those that begin alike next to each other, otherwise in their order; the first of a
    group `width` samples before the others, as so many requests are in flight while it is answered."""
    groups: dict[str, list[Sample]] = defaultdict(list)
    waiting: deque[Sample] = deque()
    for head in samples:
        for sample in chain([head], islice(samples, _WINDOW - 1)):
            groups[_beginning(sample)].append(sample)
        while groups:
            # Popped, so that no frames are kept of a sample that was asked.
            first, *others = groups.pop(next(iter(groups)))
            while len(waiting) > width:
                yield waiting.popleft()
            yield first
            waiting += others
        while waiting:
            yield waiting.popleft()


def _beginning(sample: Sample) -> str:
    """What the prompts of samples have in common that begin alike: their first medium, or a long text."""
    media = sample.media
    if isinstance(media, LazyTuple) and not media.is_built:
        # Frames that are not made yet: those of one video are of one unit, if the data say so.
        return f"unit {sample.unit or sample.id}"
    if media:
        return media[0].digest
    text = (sample.hint + sample.question)[: IMAGE_TOKENS * CHARACTERS_PER_TOKEN]
    return text if len(text) == IMAGE_TOKENS * CHARACTERS_PER_TOKEN else f"sample {sample.id}"
