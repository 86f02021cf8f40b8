"""Flags of commands: those of options classes, and those that several commands share."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from snellen.api.flags import FLAGS, SHARED_FLAGS, Flag, FlagKey, field_default, option_flags, parse_keys, parse_pairs
from snellen.api.options import SourceOptions
from snellen.cli.output import print_line
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.core.model import AnyModel
    from snellen.store.runs import RunFolder

RUNS = "run folders, folders of runs, archives of runs (.tar.gz), or files of predictions"

OptionsT = TypeVar("OptionsT")
ValueT = TypeVar("ValueT")


def add_options(parser: ArgumentParser, options: type) -> None:
    """Add a flag or argument for each field of an options class."""
    groups: dict[str, Any] = {"": parser}
    for _, flag, default in option_flags(options):
        if flag.group not in groups:
            groups[flag.group] = parser.add_argument_group(flag.group)
        _add_flag(groups[flag.group], flag, default)


def _add_flag(parser: ArgumentParser, flag: Flag, default: Any) -> None:
    names = [*([flag.short] if flag.short else []), flag.name]
    settings: dict[str, Any] = {"help": _help_line(flag, default)}
    if not flag.name.startswith("-"):
        names = [flag.destination]
    elif default is MISSING:
        settings["required"] = True
    if flag.is_inverted or flag.is_switch:
        settings |= {"action": "store_true"}
    elif flag.is_repeatable:
        settings |= {"action": "append", "metavar": flag.metavar, **_parser_of(flag)}
        settings |= {"default": [] if default is not MISSING else None, "nargs": flag.count}
    else:
        settings |= {"metavar": flag.metavar, "choices": flag.choices, **_parser_of(flag)}
        if default is not MISSING:
            settings["default"] = default
        if flag.fills_keys or flag.parse is parse_pairs or isinstance(default, Mapping):
            settings["action"] = _AddPairs
        elif flag.name in SHARED_FLAGS and SHARED_FLAGS[flag.name].is_repeatable:
            settings["action"] = _StoreOnce
        if flag.fills_keys:
            # The keys that were typed alone; the fields have the defaults of the others.
            settings["default"] = None
        if flag.bare_value is not None:
            settings |= {"nargs": "?", "const": flag.bare_value}
        elif flag.count is not None:
            settings["nargs"] = flag.count
    parser.add_argument(*names, **settings)


class _StoreOnce(Action):
    """Takes one value of a flag that other commands take several of; a second is an error."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        if getattr(namespace, self.dest) not in (None, self.default):
            raise ArgumentError(self, f"got {getattr(namespace, self.dest)} and {values}; this command takes one")
        setattr(namespace, self.dest, values)


class _AddPairs(Action):
    """Joins the pairs of a flag that is given several times, where a key's last value counts."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        setattr(namespace, self.dest, {**(getattr(namespace, self.dest) or {}), **values})


def _parser_of(flag: Flag) -> dict[str, Any]:
    if flag.parse is not None:
        return {"type": argument_type(flag.parse)}
    if flag.keys is not None:
        return {"type": argument_type(partial(parse_keys, flag.keys))}
    return {}


def _help_line(flag: Flag, default: Any) -> str:
    """The help of a flag, with its keys and its default."""
    line = flag.help
    if flag.keys is not None:
        line += "; " + "; ".join(f"{name}: {key.help}" for name, key in flag.keys.items())
    if "(default" in line or isinstance(default, bool) or default == "":
        return line
    return f"{line} (default: {default})" if isinstance(default, str | int | float) else line


def read_options(arguments: Namespace, options: type[OptionsT], **values: Any) -> OptionsT:
    """The options that were typed; `values` are fields without a flag. A class may have a static
    method `complete_flags`, which changes the values by field before the options are made."""
    nested: dict[str, dict[str, Any]] = {}
    for field in fields(options):  # type: ignore[arg-type]
        flags = field.metadata.get(FLAGS)
        if isinstance(flags, type):
            values[field.name] = read_options(arguments, flags)
        elif isinstance(flags, Flag) and flags.keys is not None and flags.fills_keys:
            _read_keys(field, flags.keys, getattr(arguments, flags.destination), values, nested)
        elif isinstance(flags, Flag):
            values[field.name] = _typed_value(arguments, flags)
        elif flags is not None:
            nested.setdefault(field.name, {}).update(
                {name: _typed_value(arguments, flag) for name, flag in flags.items()}
            )
    for name, typed in nested.items():
        default: Any = next(
            field_default(field)
            for field in fields(options)  # type: ignore[arg-type]
            if field.name == name
        )
        values[name] = type(default)(**typed)
    complete = getattr(options, "complete_flags", None)
    if complete is not None:
        complete(values)
    return options(**values)


def _read_keys(
    field: Field[Any],
    keys: Mapping[str, FlagKey],
    typed: Mapping[str, Any] | None,
    values: dict[str, Any],
    nested: dict[str, dict[str, Any]],
) -> None:
    """Sort the values of a flag with keys into the fields that they fill: those of the options in
    `values`, those of nested options in `nested`."""
    own: dict[str, Any] = {}
    for name, value in (typed or {}).items():
        holder, dot, inner = keys[name].field.partition(".")
        if dot:
            nested.setdefault(holder, {})[inner] = value
        elif holder:
            values[holder] = value
        else:
            own[name] = value
    if any(not key.field for key in keys.values()):
        if isinstance(field_default(field), Mapping):
            values[field.name] = own
        else:
            nested.setdefault(field.name, {}).update(own)


def _typed_value(arguments: Namespace, flag: Flag) -> Any:
    value = getattr(arguments, flag.destination)
    if flag.is_inverted:
        return not value
    return tuple(value) if flag.is_repeatable or isinstance(value, list) else value


def argument_type(parse: Callable[[str], ValueT]) -> Callable[[str], ValueT]:
    """`parse` for `add_argument(type=...)`: its UsageError becomes argparse's own error."""
    if isinstance(parse, type):
        # argparse names `int` and `float` in its own error.
        return parse

    def parse_argument(text: str) -> ValueT:
        try:
            return parse(text)
        except UsageError as error:
            raise ArgumentTypeError(str(error)) from None

    return parse_argument


def open_runs(sources: Sequence[str], options: SourceOptions) -> list[RunFolder]:
    """The runs of these sources without duplicates, files of predictions scored as the options
    say; warnings about them go to standard error."""
    from snellen.api.run_sources import open_sources

    return open_sources(sources, options, print_warning)


def print_warning(sentence: str) -> None:
    """Print a warning on standard error."""
    print_line(f"snellen: {sentence}", error=True, flush=True)


def own_models(load: Sequence[Path | str], names: Sequence[str]) -> list[AnyModel]:
    """The models of these names in the files of `--load`; other names stay as they are."""
    from snellen.models.naming.custom import load_files

    custom = load_files(load).models
    return [custom.get(name, name) for name in names]


def parse_duration(text: str) -> float:
    """Seconds of a time such as `90s`, `15m`, `12h` or `2d`; seconds without a unit. Raises
    UsageError."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"{text!r} is not a duration; expected e.g. 90s, 15m, 12h or 2d")
    return seconds
