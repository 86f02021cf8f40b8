"""Read a recipe, a TOML file of steps.

    data = "pictures"                   # what the first step reads

    [options]                           # for every step that has such a flag
    requests = { retries = 3 }

    [[step]]
    step = "questions"                  # an action of `snellen curate`; its flags are the keys
    model = "http://127.0.0.1:8000/v1#writer"

    [[step]]
    step = "publish"
    data = "questions"                  # a step before it, or several; default: the last with items
    as = "release"                      # its name; default: that of the action
    hold-out = "30%"

Paths are relative to the folder of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError, UnknownName
from snellen.data.toml_files import read_toml

OptionValue = str | int | float | bool | list[Any] | dict[str, Any]
_TOP = ("name", "data", "out", "options", "step")
_STEP_KEYS = ("step", "as", "data", "out")
"""Keys of a step that are no flags."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """One step as the file has it."""

    number: int
    """From 1."""
    action: str
    name: str
    options: Mapping[str, OptionValue]
    """Flags without their dashes, as written."""
    data: tuple[str, ...]
    """Names of earlier steps that are read, or paths; empty for the last step that wrote items."""
    out: str
    """Folder that the user wants; "" for one of the recipe's."""

    @property
    def label(self) -> str:
        """How messages name it: `step 3 (filter)`."""
        return f"step {self.number} ({self.name})"


@dataclass(frozen=True, slots=True)
class CurationRecipe:
    """A recipe that was read. Paths are relative to the folder of the file."""

    path: Path
    name: str
    data: str
    out: str
    options: Mapping[str, OptionValue]
    steps: tuple[RecipeStep, ...]


def read_recipe(path: Path | str, actions: Iterable[str]) -> CurationRecipe:
    """Read a recipe whose steps are some of `actions`. Raises DataError and UnknownName."""
    file = Path(path).expanduser()
    content = read_toml(str(file))
    for key in content:
        if key not in _TOP:
            raise UnknownName(f"key of {file}", key, _TOP)
    steps = content.get("step", [])
    if not isinstance(steps, list) or not steps or not all(isinstance(e, dict) for e in steps):
        raise DataError(f'{file} has no steps; write each as a table: [[step]] with step = "filter"')
    read: list[RecipeStep] = []
    for number, entries in enumerate(steps, 1):
        read.append(_read_step(number, entries, file, list(actions), read))
    return CurationRecipe(
        path=file,
        name=_text(content, "name", str(file)) or file.stem,
        data=_text(content, "data", str(file)),
        out=_text(content, "out", str(file)) or f"{file.stem}-made",
        options=_options(content.get("options", {}), f"{file}, options"),
        steps=tuple(read),
    )


def _read_step(
    number: int, entries: dict[str, Any], file: Path, actions: list[str], earlier: list[RecipeStep]
) -> RecipeStep:
    """Read the table of one step; `earlier` are those before it. Raises DataError, UnknownName."""
    where = f"{file}, step {number}"
    action = _text(entries, "step", where)
    if not action:
        raise DataError(f'{where} does not say what it is; add e.g. step = "filter"')
    if action not in actions:
        raise UnknownName(f"step in {where}:", action, actions)
    taken = {step.name for step in earlier}
    repeated = sum(step.action == action for step in earlier)
    name = _text(entries, "as", where) or (f"{action}-{repeated + 1}" if repeated else action)
    if not _NAME.fullmatch(name):
        raise DataError(f"{where}: {name!r} cannot be its name; use letters, digits, - and _")
    if name in taken:
        raise DataError(f"{where}: another step is called {name!r} too; name one of them with `as`")
    options = {key: value for key, value in entries.items() if key not in _STEP_KEYS}
    return RecipeStep(
        number=number,
        action=action,
        name=name,
        options=_options(options, f"{where} ({name})"),
        data=_texts(entries, "data", where),
        out=_text(entries, "out", where),
    )


def _options(entries: object, where: str) -> dict[str, OptionValue]:
    if not isinstance(entries, dict):
        raise DataError(f"{where}: expected a table of flags, got {type(entries).__name__}")
    for key, value in entries.items():
        values = list(value.values()) if isinstance(value, dict) else [value]
        plain = [one for each in values for one in (each if isinstance(each, list) else [each])]
        if not all(isinstance(each, str | int | float | bool) for each in plain):
            raise DataError(
                f"{where}: {key} is {type(value).__name__}; expected a text, a number, true, "
                "false, a list of texts, or a table of KEY = VALUE"
            )
    return {key.replace("_", "-"): value for key, value in entries.items()}


def _texts(entries: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A text, or a list of them."""
    value = entries.get(key, [])
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    return (_text(entries, key, where),)


def _text(entries: Mapping[str, Any], key: str, where: str) -> str:
    value = entries.get(key, "")
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} is {value!r}; expected a text")
    return value
