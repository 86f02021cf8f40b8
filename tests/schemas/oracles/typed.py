"""Judges bodies by the types of a client package: each field must be known, each value of its type.

Reads a job as JSON from standard input, writes `{"version", "problems"}` to standard output. Runs in
an environment that has the package; needs pydantic, whatever the package itself does with types.
A type is named `module:NAME`: a TypedDict or a pydantic model, or a function, whose arguments are
the fields. `NAME|NAME` are the types of a body that is answered at once, and in a stream.
"""

from __future__ import annotations

import inspect
import json
import sys
import typing
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NotRequired

from problems import Complaint, problem_lines
from pydantic import ConfigDict, TypeAdapter
from pydantic_core import SchemaValidator, ValidationError
from typing_extensions import TypedDict, is_typeddict

_WORDS = {"extra_forbidden": "unknown field", "missing": "missing", "unexpected_keyword_argument": "unknown field"}
_NO_FIELDS = ("self", "extra_headers", "extra_query", "extra_body", "timeout", "kwargs", "api_key", "workspace")


def find(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for step in path.split("."):
        found = getattr(found, step)
    return found


def as_type(found: Any) -> Any:
    """A type; of a function, its arguments as the fields of a TypedDict."""
    if isinstance(found, type) or not callable(found):
        return found
    found = inspect.unwrap(found)
    while set(inspect.signature(found).parameters) == {"args", "kwargs"}:
        # A decorator that does not name what it decorates.
        found = next(cell.cell_contents for cell in found.__closure__ if callable(cell.cell_contents))
    hints = typing.get_type_hints(found, include_extras=True)
    fields = {}
    for name, parameter in inspect.signature(found).parameters.items():
        if name not in _NO_FIELDS:
            hint = hints.get(name, Any)
            fields[name] = hint if parameter.default is inspect.Parameter.empty else NotRequired[hint]
    return TypedDict("Arguments", fields)  # type: ignore[misc]


def strict_schema(schema: Any, seen: set[int]) -> None:
    """Make a core schema refuse unknown fields everywhere, and read all of what it would read later."""
    if id(schema) in seen:
        return
    seen.add(id(schema))
    if isinstance(schema, dict):
        if schema.get("type") in ("typed-dict", "model-fields"):
            schema["extra_behavior"] = "forbid"
            schema.pop("extras_schema", None)
        if schema.get("type") == "model":
            # Else pydantic takes the validator that the class has already, which is less strict.
            schema["cls"].__pydantic_complete__ = False
        if schema.get("type") == "generator":
            schema["type"] = "list"
        for value in list(schema.values()):
            strict_schema(value, seen)
    elif isinstance(schema, list | tuple):
        for value in schema:
            strict_schema(value, seen)


def validator_of(name: str) -> SchemaValidator:
    found = as_type(find(name))
    takes_config = not hasattr(found, "model_config") and not is_typeddict(found)
    config = ConfigDict(arbitrary_types_allowed=True) if takes_config else None
    if is_typeddict(found) and not hasattr(found, "__pydantic_config__"):
        found.__pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)
    schema = TypeAdapter(found, config=config).core_schema
    strict_schema(schema, set())
    return SchemaValidator(schema)


def complaints(validator: SchemaValidator, text: str) -> list[Complaint]:
    try:
        validator.validate_json(text, strict=True)
    except ValidationError as error:
        return [
            Complaint(each["loc"], _WORDS.get(each["type"], each["type"]))
            for each in error.errors(include_url=False, include_context=False)
        ]
    return []


def main() -> None:
    job = json.load(sys.stdin)
    if "code" in job:
        sys.path.insert(0, str(Path(job["folder"], job["code"])))
    validators: dict[str, SchemaValidator] = {}
    problems = []
    for path, text in job["bodies"]:
        body = json.loads(text)
        names = next((names for end, names in job["types"].items() if path.partition("?")[0].endswith(end)), None)
        if names is None:
            problems.append([f"{path}: no such path"])
            continue
        first, _, second = names.partition("|")
        name = (second or first) if body.get("stream") or "stream" in path else first
        if name not in validators:
            validators[name] = validator_of(name)
        problems.append(problem_lines(body, complaints(validators[name], text)))
    json.dump({"version": job.get("version") or metadata.version(job["package"]), "problems": problems}, sys.stdout)


if __name__ == "__main__":
    main()
