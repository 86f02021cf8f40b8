"""Whether a reply is JSON by the schema that was asked for."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from snellen.core.errors import DataError, MissingExtra
from snellen.core.literals import load_json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def follows_schema(reply: str, schema: str) -> bool:
    """Whether the whole reply, and nothing around it, is JSON that the schema allows. Raises
    MissingExtra without the package `jsonschema`."""
    try:
        value = load_json(reply)
    except ValueError:
        return False
    return bool(_validator(schema).is_valid(value))


def schema_violations(value: Any, schema: str) -> dict[str, str]:
    """Why the schema does not allow a JSON value, by the path of the field, of which the first reason
    counts ("items[].price"); the whole record is "". Raises MissingExtra without the package
    `jsonschema`."""
    found: dict[str, str] = {}
    for error in _validator(schema).iter_errors(value):
        names = ("[]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        found.setdefault("".join(names).removeprefix("."), error.message)
    return found


def canonical_schema(schema: dict[str, Any], where: str) -> str:
    """A schema as canonical JSON; "" for an empty one. Raises DataError for what is no JSON Schema,
    and MissingExtra without the package `jsonschema`."""
    if not schema:
        return ""
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    from_package = _import_package()
    try:
        from_package.Draft202012Validator.check_schema(schema)
    except from_package.SchemaError as error:
        raise DataError(
            f"{where}: response_schema is no JSON Schema: {error.message} (at {error.json_path})"
        ) from error
    return text


@functools.cache
def _validator(schema: str) -> Validator:
    validator: Validator = _import_package().Draft202012Validator(json.loads(schema))
    return validator


def _import_package() -> Any:
    try:
        import jsonschema
    except ImportError:
        raise MissingExtra("holding replies to a JSON Schema", "documents", "jsonschema") from None
    return jsonschema
