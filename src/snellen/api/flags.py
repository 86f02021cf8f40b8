"""How a field of an options class is typed on the command line, and how the text is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, NamedTuple

from snellen.core.errors import UnknownName, UsageError

RULES = ("snellen", "vlmevalkit", "official")
FAILURES = ("exclude", "count-wrong", "as-reply", "withhold", "withhold>P%")
FLAGS = "flags"
"""Key of a field's metadata: its `Flag`, a mapping of flags by the fields of its value, or the
options class that it holds."""


class FlagKey(NamedTuple):
    """One setting of a flag that takes `KEY=VALUE,...`."""

    help: str
    parse: Callable[[str], Any] = str
    field: str = ""
    """The field that it fills, e.g. `variant.max_new_tokens`; empty: the key of that name in the
    flag's own value."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of the command line, or a positional argument. `parse` reads its text and may raise
    UsageError."""

    name: str
    """`--limit`; without dashes, the name of a positional argument."""
    help: str
    metavar: str | tuple[str, ...] | None = None
    """What stands for the value in `--help`; a name for each word of a flag with several."""
    parse: Callable[[str], Any] | None = None
    short: str = ""
    choices: tuple[str, ...] | None = None
    is_repeatable: bool = False
    is_switch: bool = False
    is_inverted: bool = False
    """A switch that turns its field off."""
    bare_value: str | None = None
    """What the flag means without a value; None: a value must follow."""
    count: str | int | None = None
    """How many words follow, as `nargs` of argparse: `+`, `*`, `?` or a number."""
    group: str = ""
    """The heading under which `--help` lists it."""
    keys: Mapping[str, FlagKey] | None = None
    """The settings of a flag that takes `KEY=VALUE,...`."""

    @property
    def destination(self) -> str:
        """The attribute of the parsed arguments."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def is_positional(self) -> bool:
        return not self.name.startswith("-")

    @property
    def fills_keys(self) -> bool:
        """Whether its value is read as `KEY=VALUE,...`, and not by a `parse` of its own."""
        return self.keys is not None and self.parse is None


class OptionFlag(NamedTuple):
    """A flag, the field that it fills, and that field's default; `MISSING` if it is required."""

    field: str
    flag: Flag
    default: Any


def option(default: Any, name: str, help: str = "", **settings: Any) -> Any:
    """A dataclass field that is also a flag; `settings` are fields of `Flag`. A flag of several
    commands stands in `SHARED_FLAGS`, and needs its name alone; what differs from there is given.
    Without a value, `MISSING` as the default means that the flag is required."""
    return _flag_field(default, _make_flag(name, help, settings))


def argument(metavar: str, help: str, count: str | int | None = None, **settings: Any) -> Any:
    """A dataclass field that is a positional argument, required unless `count` is `*` or `?`."""
    default: Any = {"*": (), "?": None}.get(str(count), MISSING)
    return _flag_field(default, Flag(metavar, help, metavar, count=count, **settings))


def nested_option(default: Any, flags: Mapping[str, Flag]) -> Any:
    """A dataclass field whose value has fields of its own, with `flags` by the names of these."""
    return field(default=default, metadata={FLAGS: flags})


def options_field(options: type) -> Any:
    """A dataclass field that holds another options class, whose flags the command has too."""
    return field(default_factory=options, metadata={FLAGS: options})


def _flag_field(default: Any, flag: Flag) -> Any:
    if isinstance(default, Mapping):
        return field(default_factory=lambda: default, metadata={FLAGS: flag})
    return field(default=default, metadata={FLAGS: flag})


def _make_flag(name: str, help: str, settings: Mapping[str, Any]) -> Flag:
    from snellen.api.shared_flags import SHARED_FLAGS

    shared = SHARED_FLAGS.get(name)
    if shared is None:
        return Flag(name, help, **settings)
    if help:
        raise ValueError(f"{name} is a shared flag; its help stands in SHARED_FLAGS alone")
    return replace(shared, **settings) if settings else shared


def option_flags(options: type) -> Iterator[OptionFlag]:
    """The flags of an options class: those of its own fields, then those of the classes that it
    inherits from, in their order."""
    homes = [vars(one).get("__annotations__", {}) for one in options.__mro__]

    def home(option_field: Field[Any]) -> int:
        return next(place for place, names in enumerate(homes) if option_field.name in names)

    for option_field in sorted(fields(options), key=home):
        flags = option_field.metadata.get(FLAGS, {})
        if isinstance(flags, Flag):
            yield OptionFlag(option_field.name, flags, field_default(option_field))
            continue
        if isinstance(flags, type):
            yield from option_flags(flags)
            continue
        for name, flag in flags.items():
            yield OptionFlag(name, flag, getattr(option_field.default, name))


def field_default(option_field: Field[Any]) -> Any:
    """The default of a field; `MISSING` without one."""
    if option_field.default_factory is not MISSING:
        return option_field.default_factory()
    return option_field.default


def parse_keys(keys: Mapping[str, FlagKey], text: str) -> dict[str, Any]:
    """Read `KEY=VALUE,...` of a flag with these keys. Raises UsageError."""
    values: dict[str, Any] = {}
    for name, value in parse_pairs(text).items():
        key = name.replace("-", "_")
        if key not in keys:
            raise UnknownName("key", name, list(keys))
        try:
            values[key] = keys[key].parse(value)
        except ValueError:
            kind = "a whole number" if keys[key].parse is int else "a number"
            raise UsageError(f"{name}={value}: expected {kind}") from None
    return values


def parse_pairs(text: str) -> dict[str, str]:
    """Read `key=value,...`. Raises UsageError."""
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{pair!r} is not of the form key=value")
        pairs[key.strip()] = value
    return pairs


def parse_facts(text: str) -> dict[str, str]:
    """Read `key=value,...` whose values may have commas: a comma ends one if a word and `=` follow
    it. Raises UsageError."""
    facts: dict[str, str] = {}
    for part in re.split(r",(?=\s*[\w-]+=)", text):
        key, equals, value = part.partition("=")
        if not key.strip() or not equals:
            raise UsageError(f"{part!r} is not of the form key=value")
        facts[key.strip()] = value
    return facts


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


def parse_share(text: str) -> float:
    """Read a fraction, typed `0.1` or `10%`; its user checks the range. Raises UsageError."""
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (1 if number == text.strip() else 100)
    except ValueError:
        raise UsageError(f"{text!r}: expected a share from 0 to 1, e.g. 0.1 or 10%") from None


def parse_percent(text: str) -> float:
    """Read a percentage, typed `95` or `95%`. Raises UsageError."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise UsageError(f"{text!r}: expected a percentage, e.g. 95") from None
