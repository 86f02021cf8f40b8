"""Garbage that is collected less often while a run is driven."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = 20_000
"""Objects made and not yet freed after which the youngest are looked through; Python's own 700
(2,000 from 3.13 on) takes a fifth of the time of a run against a server: each of a few hundred
requests in flight keeps some dozens of objects alive for as long as it waits."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """Within it, cyclic garbage is collected seldom; a threshold that is higher already, and a
    collector that is switched off, are left alone."""
    before = gc.get_threshold()
    if 0 < before[0] < _SELDOM:
        gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
