"""How a field of an options class is typed on the command line, and how the text is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

from snellen.core.errors import UsageError

RULES = ("snellen", "vlmevalkit", "official")
FAILURES = ("exclude", "count-wrong", "as-reply", "withhold", "withhold>P%")
FLAGS = "flags"
"""Key of a field's metadata: its `Flag`, or a mapping of flags by the fields of its value."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of the command line. `parse` reads its text and may raise UsageError."""

    name: str
    help: str
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    short: str = ""
    choices: tuple[str, ...] | None = None
    is_repeatable: bool = False
    is_inverted: bool = False
    """A switch that turns its field off, such as `--no-html`."""
    bare_value: str | None = None
    """What the flag means without a value; None: a value must follow."""

    @property
    def destination(self) -> str:
        """The attribute of the parsed arguments."""
        return self.name.lstrip("-").replace("-", "_")


class OptionFlag(NamedTuple):
    """A flag, the field that it fills, and that field's default."""

    field: str
    flag: Flag
    default: Any


def option(default: Any, name: str, help: str, **settings: Any) -> Any:
    """A dataclass field that is also a flag; `settings` are fields of `Flag`."""
    return field(default=default, metadata={FLAGS: Flag(name, help, **settings)})


def nested_option(default: Any, flags: Mapping[str, Flag]) -> Any:
    """A dataclass field whose value has fields of its own, with `flags` by the names of these."""
    return field(default=default, metadata={FLAGS: flags})


def option_flags(options: type) -> Iterator[OptionFlag]:
    """The flags of an options class: those of its own fields, then those of inherited ones."""
    inherited = {field.name for base in options.__bases__ if is_dataclass(base)
                 for field in fields(base)}  # fmt: skip
    for option_field in sorted(fields(options), key=lambda field: field.name in inherited):
        flags = option_field.metadata.get(FLAGS, {})
        if isinstance(flags, Flag):
            yield OptionFlag(option_field.name, flags, option_field.default)
            continue
        for name, flag in flags.items():
            yield OptionFlag(name, flag, getattr(option_field.default, name))


def parse_pairs(text: str) -> dict[str, str]:
    """Read `key=value,...`. Raises UsageError."""
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{pair!r} is not of the form key=value")
        pairs[key.strip()] = value
    return pairs


def parse_token_count(text: str) -> int:
    """Read a number of tokens: `4096`, or `32k` for 32,000. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(k?)", text.strip().lower())
    count = float(match[1]) * (1000 if match[2] else 1) if match else 0.0
    if count < 1 or count != int(count):
        raise UsageError(f"{text!r} is no number of tokens; expected e.g. 4096 or 32k")
    return int(count)


def parse_rule(text: str) -> str:
    """Read the name of a parsing rule, with the version of VLMEvalKit's. Raises UsageError."""
    if text in RULES or text.startswith("vlmevalkit@"):
        return text
    raise UsageError(f"invalid choice: {text!r} (choose from {', '.join(RULES)})")


def parse_failure_policy(text: str) -> str:
    """Read what failed samples do to the score. Raises UsageError."""
    if text in FAILURES[:-1] or text.startswith("withhold>"):
        return text
    raise UsageError(f"invalid choice: {text!r} (choose from {', '.join(FAILURES)})")
