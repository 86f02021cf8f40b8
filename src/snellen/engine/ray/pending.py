"""The requests that wait for a replica, indexed by their images and by who has cached these.

A batch is selected from a bounded number of requests, so that what a batch costs depends on its
size, not on how many requests wait or how many replicas there are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Generic, TypeVar

from snellen.engine.loop.batching import ImageDigests, QueuedRequest, select_batch

REMEMBERED_BATCHES = 4
"""Number of batches whose images a replica is assumed to have cached."""
_WINDOW = 8
"""Number of batches of requests among which a batch is selected: the oldest, and those about the
same images."""
_MINE, _NEW, _THEIRS = range(3)
"""The order in which a replica takes requests: about images that it has cached, that no replica
has, that others have."""

SlotT = TypeVar("SlotT", bound=Hashable)


class CachedImages:
    """The images that one replica is assumed to have cached, the last sent at the end."""

    def __init__(self) -> None:
        self._images: OrderedDict[ImageDigests, None] = OrderedDict()

    def __iter__(self) -> Iterator[ImageDigests]:
        return iter(self._images)

    def add(self, images: ImageDigests) -> None:
        self._images[images] = None
        self._images.move_to_end(images)

    def evict(self, limit: int) -> list[ImageDigests]:
        """Drop the oldest beyond `limit`, and return them."""
        return [self._images.popitem(last=False)[0] for _ in range(len(self._images) - limit)]

    def clear(self) -> None:
        self._images.clear()


class PendingRequests(Generic[SlotT]):
    """A queue of requests from which slots take batches. `cached`: what each slot has cached now."""

    def __init__(self, cached: dict[SlotT, CachedImages]) -> None:
        self._cached = cached
        self._holders: dict[ImageDigests, set[SlotT]] = {}
        for slot, held in cached.items():
            for images in held:
                self._holders.setdefault(images, set()).add(slot)
        self._fresh: dict[int, QueuedRequest] = {}
        """Requests whose images no slot holds, by their order; those without images among them."""
        self._groups: dict[ImageDigests, dict[int, QueuedRequest]] = {}
        """All requests with images, by these and their order."""
        self._held: dict[ImageDigests, None] = {}
        """Images of waiting requests that a slot holds, the longest known first."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def has_fresh(self) -> bool:
        """Whether a request waits whose images no slot holds."""
        return bool(self._fresh)

    def holders(self, queued: QueuedRequest) -> Iterable[SlotT]:
        """The slots that hold a request's images."""
        return self._holders.get(queued.images, ())

    def add(self, queued: QueuedRequest) -> None:
        self._count += 1
        if queued.images:
            self._groups.setdefault(queued.images, {})[queued.order] = queued
        if queued.images in self._holders:
            self._held[queued.images] = None
        else:
            self._fresh[queued.order] = queued

    def select(self, slot: SlotT, size: int, is_idle: bool) -> list[QueuedRequest]:
        """The batch that suits a slot best, at most `size` requests, which keep their places.

        Requests about images that others hold are left to them, unless the slot `is_idle`.
        """

        def rank(queued: QueuedRequest) -> int:
            holders = self._holders.get(queued.images)
            return _NEW if not holders else _MINE if slot in holders else _THEIRS

        own = (images for images in self._cached[slot] if images in self._groups)
        candidates = self._waiting(chain(self._members(own), self._oldest_fresh(_WINDOW * size)))
        if is_idle and len(candidates) < size:
            others = (images for images in self._held if slot not in self._holders[images])
            candidates |= self._waiting(islice(self._members(others), _WINDOW * size))
        return select_batch(list(candidates.values()), size, rank) if candidates else []

    def take(self, slot: SlotT, batch: Sequence[QueuedRequest], size: int) -> None:
        """Remove a batch that goes to a slot, which holds its images from now on."""
        for queued in batch:
            self._remove(queued)
        for images in dict.fromkeys(queued.images for queued in batch if queued.images):
            self._cached[slot].add(images)
            self._holders.setdefault(images, set()).add(slot)
            if images in self._groups:
                self._held[images] = None
                for order in self._groups[images]:
                    self._fresh.pop(order, None)
        self._release(slot, self._cached[slot].evict(REMEMBERED_BATCHES * size))

    def forget(self, slot: SlotT) -> None:
        """A slot's replica is lost, and its images with it."""
        self._release(slot, list(self._cached[slot]))
        self._cached[slot].clear()

    def clear(self) -> list[QueuedRequest]:
        """Remove and return all requests."""
        everything = {queued.order: queued for queued in chain(self._fresh.values(), self._members(self._groups))}
        for queued in everything.values():
            self._remove(queued)
        return list(everything.values())

    def _release(self, slot: SlotT, evicted: Iterable[ImageDigests]) -> None:
        """Images that a slot no longer holds; requests about those that no other holds are the
        oldest of the fresh ones."""
        freed: dict[int, QueuedRequest] = {}
        for images in evicted:
            holders = self._holders[images]
            holders.discard(slot)
            if not holders:
                del self._holders[images]
                self._held.pop(images, None)
                freed |= self._groups.get(images, {})
        if freed:
            self._fresh = dict(sorted(freed.items())) | self._fresh

    def _oldest_fresh(self, limit: int) -> Iterator[QueuedRequest]:
        """The oldest fresh requests, with all others about their images."""
        oldest = list(islice(self._fresh.values(), limit))
        yield from oldest
        yield from self._members(queued.images for queued in oldest if queued.images)

    def _members(self, groups: Iterable[ImageDigests]) -> Iterator[QueuedRequest]:
        return (queued for images in groups for queued in self._groups[images].values())

    def _waiting(self, found: Iterable[QueuedRequest]) -> dict[int, QueuedRequest]:
        """Requests by their order, each once; one whose flow was cancelled is removed instead."""
        by_order = {queued.order: queued for queued in found}
        for queued in list(by_order.values()):
            if queued.future.done():
                self._remove(queued)
                del by_order[queued.order]
        return by_order

    def _remove(self, queued: QueuedRequest) -> None:
        self._count -= 1
        self._fresh.pop(queued.order, None)
        group = self._groups.get(queued.images)
        if group is not None:
            del group[queued.order]
            if not group:
                del self._groups[queued.images]
                self._held.pop(queued.images, None)
