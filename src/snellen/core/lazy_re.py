"""The standard `re` for modules with many patterns: `compile` compiles a pattern when it is first
used. Reading one kind of reply takes few of the patterns that all kinds take, and compiling them
all took a tenth of the start of a command."""

from __future__ import annotations

import re
from re import (
    DOTALL,
    IGNORECASE,
    MULTILINE,
    Match,
    Pattern,
    RegexFlag,
    escape,
    findall,
    finditer,
    fullmatch,
    search,
    sub,
)
from typing import Any, cast

__all__ = [
    "DOTALL",
    "IGNORECASE",
    "MULTILINE",
    "Match",
    "Pattern",
    "compile",
    "escape",
    "findall",
    "finditer",
    "fullmatch",
    "search",
    "sub",
]


class _LazyPattern:
    """Stands for a pattern. Its methods are attributes of their own once one was used, so that
    later uses cost no more than those of the pattern."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        pattern = re.compile(self._source, self._flags)
        self.__dict__.update((method, getattr(pattern, method)) for method in dir(pattern) if method[0] != "_")
        return getattr(pattern, name)

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return re.compile, (self._source, self._flags)


def compile(source: str, flags: int | RegexFlag = 0) -> Pattern[str]:
    """A pattern that is compiled when it is first used."""
    return cast(Pattern[str], _LazyPattern(source, int(flags)))
