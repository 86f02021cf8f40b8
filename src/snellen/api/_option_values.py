"""Values of options that Python code passes, checked before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from numbers import Integral
from pathlib import PurePath
from typing import Any

from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.request import Sampling

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "None": type(None),
    "bool": bool,
    "int": int,
    "float": (int, float),
    "str": str,
    "Path": PurePath,
    "Variant": Variant,
    "Sampling": Sampling,
}
"""Types by their spelling in annotations; values of other types are not checked."""
_LISTS = "Sequence["
_SHOWN = 60
"""Characters of a value in an error message."""


def clean_value(field: Field[Any], value: Any) -> Any:
    """Normalise the value of a field: numpy integers, a single value in place of a list,
    `fresh=True`."""
    if field.name == "fresh" and isinstance(value, bool):
        return "" if value else None
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if str(field.type).startswith(_LISTS) and not isinstance(value, list | tuple):
        return () if value is None else (value,)
    return value


def check_types(options: Any, path: str = "") -> None:
    """Raises UsageError if a field of an options object has a value of another type than it is
    annotated with; `path` leads the fields of nested objects."""
    # As they are written: of a dataclass with those that it inherits, of a Struct its own.
    annotated = [(each.name, str(each.type)) for each in fields(options)] if is_dataclass(options) else None
    for name, annotation in annotated or type(options).__annotations__.items():
        value = getattr(options, name)
        names = [part.strip() for part in annotation.split("|")]
        if any(part not in _TYPES for part in names):
            continue
        # True is an int for Python.
        is_truth_value = isinstance(value, bool) and "bool" not in names
        if is_truth_value or not any(isinstance(value, _TYPES[part]) for part in names):
            raise UsageError(
                f"{path}{name} is {repr(value)[:_SHOWN]}, of type {type(value).__name__}; "
                f"expected {_describe_types(names)}"
            )
        if isinstance(value, Variant | Sampling):
            check_types(value, f"{path}{name}.")


def _describe_types(names: list[str]) -> str:
    """The expected types in words; classes of Snellen by their names in code."""
    classes = {"Variant": "snellen.Variant(...)", "Sampling": "snellen.Sampling(...)"}
    return " or ".join(classes.get(name, name) for name in names)
