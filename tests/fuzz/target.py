"""What is fuzzed: a function of bytes, examples of what it reads, and what must hold of it."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from snellen.core.errors import MediaError, UsageError


class Target(NamedTuple):
    """A reader. Whatever bytes it is given, it gives a value or raises one of `may_raise`, the
    same twice, and within `seconds`."""

    name: str
    read: Callable[[bytes], object]
    """The value must have a `repr` that tells all of it."""
    seeds: tuple[bytes, ...]
    """Sound examples, which are changed at random."""
    words: tuple[bytes, ...] = ()
    """Pieces of the format that are put in at random."""
    may_raise: tuple[type[Exception], ...] = (UsageError, MediaError)
    seconds: float = 5.0
    """CPU time for at most 100 kB."""
    functions: int = 1
    """How many functions read each input: so many examples is it."""
    made: Callable[[random.Random], bytes] | None = None
    """Makes inputs by a grammar, in place of changed examples."""


class Broken(AssertionError):
    """A property does not hold."""


def check(target: Target, data: bytes) -> bool:
    """Whether the data were read. Raises Broken; what the reader must not raise comes out as it
    is."""
    _prepare(target)
    began = time.process_time()
    first = _outcome(target, data)
    spent = time.process_time() - began
    if spent > target.seconds:
        raise Broken(f"{target.name}: {len(data)} bytes took {spent:.1f} s")
    second = _outcome(target, data)
    if first != second:
        raise Broken(f"{target.name}: read twice, {first!r:.300} and {second!r:.300}")
    return first[0] == "read"


@cache
def _prepare(target: Target) -> None:
    """Reads an example: what a reader loads on its first call is not the time of a reply."""
    _outcome(target, target.seeds[0])


def _outcome(target: Target, data: bytes) -> tuple[str, str]:
    with warnings.catch_warnings():
        # Libraries warn of odd files; that is no outcome.
        warnings.simplefilter("ignore")
        try:
            return "read", repr(target.read(data))
        except target.may_raise as error:
            if not str(error).strip():
                raise Broken(f"{target.name}: {type(error).__name__} without a sentence") from error
            return "refused", f"{type(error).__name__}: {error}"
