"""How the time of a reader grows with the length of a reply: every function that reads one text,
found in the sources, beside the readers of `readers.py`; and the phrases that each looks for."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import time
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from tests.fuzz.pieces import ANNOUNCED, BOXES, JSON, LABELS, LOOPS, TAGS
from tests.fuzz.readers import FAMILIES, Read

import snellen
from snellen.core.errors import SnellenError

SOURCES = Path(snellen.__file__).parent
FOLDERS = ("benchmarks", "extract", "scoring", "generated_code")
_TEXTS = {"reply", "text", "answer", "program", "verdict", "output"}
STATEMENTS = (
    "选项A：",
    "选项A",
    "答案是A，",
    "the answer is B. ",
    "Option A: ",
    "A. cat\n",
    "not A, ",
    "**B** ",
    "is not yes ",
    "A and B, ",
    "A cat ",
    "答えはAです。",
    "정답은 A입니다. ",
    "E. coli ",
    "I ",
    "A ",
)
_REFUSALS = (SnellenError, ValueError, RecursionError, LookupError, StopIteration, re.error)
LENGTH = 5_000
MOST = 2.5
"""Times as long that twice the reply may take."""
SHORT = 0.004
"""CPU seconds below which a ratio says nothing."""
END = "\u00a7"
"""Ends a text so that no pattern that looks for its end or for a bracket finds it there."""


@cache
def readers() -> dict[str, Read]:
    """Functions of one text by module and name, and of `FAMILIES` the readers that are none."""
    found = dict(_functions())
    functions = set(found.values())
    for family, reads in FAMILIES.items():
        for name, read in reads.items():
            if read not in functions:
                found[f"{family} {name}"] = read
    return found


def _functions() -> Iterator[tuple[str, Read]]:
    for folder in FOLDERS:
        for path in sorted((SOURCES / folder).rglob("*.py")):
            module = ".".join(("snellen", *path.relative_to(SOURCES).with_suffix("").parts))
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.FunctionDef) or not _reads_a_text(node.args):
                    continue
                if node.name.startswith("_") and folder == "scoring":
                    continue  # parts of grades, whose callers look at the length first
                yield f"{module} {node.name}", getattr(importlib.import_module(module), node.name)


def _reads_a_text(given: ast.arguments) -> bool:
    needed = [*given.posonlyargs, *given.args]
    if len(needed) - len(given.defaults) != 1 or None in given.kw_defaults:
        return False
    first = needed[0]
    return first.arg in _TEXTS and first.annotation is not None and ast.unparse(first.annotation) == "str"


@cache
def beginnings(name: str) -> tuple[str, ...]:
    """What the patterns of a reader's module begin to match."""
    module = name.split()[0]
    return tuple(dict.fromkeys(_begun(module))) if module.startswith("snellen.") else ()


@cache
def phrases(name: str) -> tuple[str, ...]:
    """What a reader may look for: the pieces of replies, and the texts in its own module."""
    module = name.split()[0]
    own = list(_texts_of(module)) if module.startswith("snellen.") else []
    pieces = (*own, *LOOPS, *STATEMENTS, *LABELS, *ANNOUNCED, *TAGS, *BOXES, *JSON)
    return tuple(dict.fromkeys(pieces))


def _texts_of(module: str) -> Iterator[str]:
    source = SOURCES.joinpath(*module.split(".")[1:]).with_suffix(".py")
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        text = node.value if isinstance(node, ast.Constant) else None
        # Longer ones, and sentences, are documentation.
        if isinstance(text, str) and len(text) <= 200 and not text.endswith("."):
            yield from (part for part in (text, *_matched(text)) if 0 < len(part) <= 40)
    yield from _begun(module)


def _begun(module: str) -> Iterator[str]:
    for value in vars(importlib.import_module(module)).values():
        for pattern in value if isinstance(value, tuple | list) else (value,):
            if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
                yield from (part for part in _matched(pattern.pattern) if 0 < len(part) <= 40)


def _matched(pattern: str) -> Iterator[str]:
    """What a regular expression matches in the shortest way, up to each of its parts: what a
    search tries at each place, in vain where the next part is missing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of texts that are no patterns
            parts = list(_parser.parse(pattern))
    except (re.error, OverflowError):
        return
    matched = ""
    for part, following in pairwise([*parts, (None, None)]):
        matched += _shortest(part)
        if not str(part[0]) == str(following[0]) == "LITERAL":
            yield matched


def _shortest(part: tuple[object, Any]) -> str:
    name, value = str(part[0]), part[1]
    match name:
        case "LITERAL":
            return chr(value)
        case "IN":
            return next(map(_of_set, value), "")
        case "ANY" | "NOT_LITERAL":
            return "x"
        case "SUBPATTERN":
            return "".join(map(_shortest, value[-1]))
        case "BRANCH":
            return "".join(map(_shortest, value[1][0]))
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return "".join(map(_shortest, value[2])) * max(1, min(value[0], 3))
    return ""


def _of_set(one: tuple[object, Any]) -> str:
    """A character of a set; one that most sets which exclude some have."""
    name, value = str(one[0]), one[1]
    if name == "RANGE":
        return chr(value[0])
    if name == "CATEGORY":
        return {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "4"}.get(str(value), "x")
    return chr(value) if name == "LITERAL" else "x"


def growth(read: Read, phrase: str, length: int = LENGTH, head: str = "", end: str = "") -> float:
    """CPU time of twice the text over that of the text, the least of several repeats of each, and
    of two doublings where the first is too large; 0 where twice the text takes no time. The texts
    begin with `head` and end in `end`."""
    # Whole phrases, so that all end in the same way.
    texts = [head + phrase * (length // len(phrase) * times) + end for times in (1, 2, 4)]
    ratio = _growth(read, *texts[:2])
    return min(ratio, _growth(read, *texts[1:])) if ratio > MOST else ratio


def _growth(read: Read, once: str, twice: str) -> float:
    least_once, least_twice = float("inf"), _seconds(read, twice)
    if least_twice <= MOST * SHORT:
        return 0.0
    for _ in range(4):
        least_once = min(least_once, max(_seconds(read, once), SHORT))
        if least_twice <= MOST * least_once:
            break
        # What a busy machine adds is taken off again.
        least_twice = min(least_twice, _seconds(read, twice))
    return least_twice / least_once


def _seconds(read: Read, reply: str) -> float:
    start = time.process_time()
    # A private function may be given what its callers never give it: its time counts.
    with contextlib.suppress(*_REFUSALS):
        read(reply)
    return time.process_time() - start
