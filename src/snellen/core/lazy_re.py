"""The standard `re` for modules with many patterns: `compile` compiles a pattern when it is first
used. Reading one kind of reply takes few of the patterns that all kinds take, and compiling them
all took a tenth of the start of a command. Beside it bounds for patterns that end with fixed signs."""

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
    "end_of_last",
    "escape",
    "findall",
    "finditer",
    "fullmatch",
    "search",
    "sub",
    "sub_closed",
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


def end_of_last(text: str, *endings: str) -> int:
    """Where the last of the endings ends, 0 without one: the bound of a search for a pattern such as `<a>(.*?)</a>`.
    Each `<a>` behind the last `</a>` would be followed to the end of the text, which takes quadratic time."""
    return max(text.rfind(ending) + len(ending) if ending in text else 0 for ending in endings)


def sub_closed(pattern: Pattern[str], replacement: str, text: str, ending: str) -> str:
    """`pattern.sub` for a pattern that ends with `ending`, up to the last one."""
    end = end_of_last(text, ending)
    return pattern.sub(replacement, text[:end]) + text[end:]
