"""Suites: benchmarks that are run and averaged together, built in or in the user's TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.declaration.videos import video_options
from snellen.benchmarks.protocol.ask_config import prompt_options
from snellen.core.benchmark import Benchmark
from snellen.core.errors import DataError, UnknownName
from snellen.data.toml_files import read_toml

_BUILTIN_FILE = "suites.toml"
_SUFFIX = ".toml"
_MEMBERS = "members"
SUBTITLES_OPTION = "subtitles"
"""Of the options about how videos are shown, the one that makes another number."""


class SuiteMember(Struct, frozen=True, forbid_unknown_fields=True):
    """One column of a suite's table."""

    name: str
    benchmarks: tuple[str, ...] = ()
    """Names of benchmarks with their options; of several, the mean is taken. Empty: the number
    only comes from imported results."""
    metric: str | None = None
    """The metric that counts; None for the headline."""
    top: float = 100.0
    """The highest value that imported numbers can have."""


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    members: tuple[SuiteMember, ...]
    source: str = ""
    average: bool = True

    def specs(self) -> tuple[str, ...]:
        """What has to be run, each benchmark once."""
        return tuple(dict.fromkeys(spec for member in self.members for spec in member.benchmarks))


def builtin_suites() -> Mapping[str, Suite]:
    text = (files("snellen.benchmarks") / "data" / _BUILTIN_FILE).read_text(encoding="utf-8")
    return {
        name: _decode_suite(document, _BUILTIN_FILE)
        for name, document in tomllib.loads(text).items()
    }


def find_suite(name: str) -> Suite:
    """Find a suite by name or TOML file. Raises UnknownName, DataError."""
    if name.lower().endswith(_SUFFIX):
        return _decode_suite(read_toml(name), name)
    suites = builtin_suites()
    if name.lower() not in suites:
        hint = "a suite of your own is given by the path of its TOML file"
        raise UnknownName("suite", name, suites, hint)
    return suites[name.lower()]


def expand_suites(names: Sequence[str | Benchmark]) -> list[str | Benchmark]:
    """Replace names of suites by the benchmarks they run. Raises DataError."""
    suites = builtin_suites()
    specs: list[str | Benchmark] = []
    for name in names:
        if isinstance(name, str) and (name.lower() in suites or _is_suite_file(name)):
            specs += [spec for spec in find_suite(name).specs() if spec not in specs]
        else:
            specs.append(name)
    return specs


def member_key(spec: str) -> tuple[str, dict[str, str]]:
    """A member's benchmark: its name, and the parameters that a run must share to count.

    These say what is asked (split, language, edition); how it is asked is free.
    """
    opened = open_benchmark(spec)
    free = {*prompt_options(), *video_options()} - {SUBTITLES_OPTION}
    what_is_asked = opened.options.keys() - free
    return opened.name, {
        name: value for name, value in opened.parameters.items() if name in what_is_asked
    }


def _is_suite_file(name: str) -> bool:
    return name.lower().endswith(_SUFFIX) and _MEMBERS in read_toml(name)


def _decode_suite(document: Mapping[str, Any], source: str) -> Suite:
    try:
        suite = msgspec.convert(document, Suite)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{source}: {error}; a suite has `title` and [[members]], each with `name`, "
            "`benchmarks` (a list), and where needed `metric` and `top`"
        ) from error
    names = [member.name.lower() for member in suite.members]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        problem = f"the member {twice[0]!r} stands there twice" if twice else "no members"
        raise DataError(f"{source}: {problem}; each member needs a name of its own")
    return suite
