"""Options after the name of a user's class, `Mine:path=data,size=8`, as arguments of the class.

A value is converted by the annotation of its parameter, else by the type of its default: `int`,
`float`, `bool` (yes or no), `Path`, `Literal`, or text. `X | None` also takes `none`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from snellen.core.errors import UsageError

_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
_MEANINGS: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "yes or no",
    Path: "a path",
    str: "text",
}
"""What an option of each type takes, for error messages."""


def option_parameters(model_class: type) -> tuple[inspect.Parameter, ...]:
    """The parameters of a class that can be given by name."""
    return tuple(
        parameter
        for parameter in _signature(model_class).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    )


def instantiate(model_class: Callable[..., Any], where: str, options: Mapping[str, str]) -> Any:
    """An instance of a class, with options as they were typed.

    `where` names the class in error messages. Raises UsageError for an unknown option, a value of
    another type, and a parameter without default that is not given. What the class itself raises
    is raised as a UsageError too, with the line, unless it is one already.
    """
    signature = _signature(model_class)
    arguments = {name: _convert(signature, name, value, where) for name, value in options.items()}
    missing = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and parameter.name not in arguments
    ]
    if missing:
        example = ",".join(f"{name}=..." for name in missing)
        raise UsageError(
            f"{where} cannot be made without {' and '.join(missing)}; give "
            f"{'it' if len(missing) == 1 else 'them'} after its name, "
            f"{model_class.__name__}:{example}, or a default in __init__"
        )
    try:
        return model_class(**arguments)
    except UsageError:
        raise
    except Exception as error:
        from snellen.core.user_code import describe_error

        raise UsageError(f"{where} cannot be made: {describe_error(error)}") from error


def _convert(signature: inspect.Signature, name: str, value: str, where: str) -> Any:
    """The value of one option. Raises UsageError."""
    parameters = signature.parameters
    parameter = parameters.get(name)
    if parameter is None or parameter.kind is parameter.POSITIONAL_ONLY:
        if any(other.kind is other.VAR_KEYWORD for other in parameters.values()):
            return value
        known = ", ".join(parameters) or "none"
        raise UsageError(f"{where} has no option {name!r}; known options: {known}")
    converted = _convert_to(_parameter_type(parameter), value)
    if isinstance(converted, _Expected):
        raise UsageError(f"option {name}={value} of {where}: expected {converted.what}")
    return converted


class _Expected:
    """A value that cannot be converted: what was expected instead."""

    def __init__(self, what: str) -> None:
        self.what = what


def _convert_to(kind: Any, value: str) -> Any:
    """The value as a type, or `_Expected`. Text for types that have no form on the command line."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        members = get_args(kind)
        if type(None) in members and value.lower() == "none":
            return None
        results = [_convert_to(each, value) for each in members if each is not type(None)]
        return next((each for each in results if not isinstance(each, _Expected)), results[0])
    if origin is Literal:
        choices = {str(choice): choice for choice in get_args(kind)}
        return choices.get(value, _Expected(f"one of {', '.join(choices)}"))
    if kind is bool:
        lower = value.lower()
        return lower in _YES if lower in (*_YES, *_NO) else _Expected(_MEANINGS[bool])
    if kind is Path:
        return Path(value).expanduser()
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            return _Expected(_MEANINGS[kind])
    return value


def _parameter_type(parameter: inspect.Parameter) -> Any:
    """The annotation, else the type of the default, else `str`."""
    if parameter.annotation is not parameter.empty:
        return parameter.annotation
    default = parameter.default
    for kind in (bool, int, float, Path):
        if isinstance(default, kind):
            return kind
    return str


def _signature(model_class: Callable[..., Any]) -> inspect.Signature:
    """The signature with evaluated annotations, or as it is written if a name in them is unknown
    at run time (imported for type checkers alone)."""
    try:
        return inspect.signature(model_class, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return inspect.signature(model_class)
