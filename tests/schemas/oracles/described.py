"""Judges bodies by an OpenAPI description: each field must be described, each value as described.

Reads a job as JSON from standard input, writes `{"version", "problems"}` to standard output; needs
jsonschema and pyyaml. Most descriptions say nothing of fields that they do not know: here every
object refuses them (`unevaluatedProperties`), but for those that allow any (`additionalProperties`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from problems import Complaint, problem_lines
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

_WORDS = {"unevaluatedProperties": "unknown field", "additionalProperties": "unknown field", "required": "missing"}
_KINDS = ("anyOf", "oneOf")


def load(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text) if path.suffix == ".json" else yaml.load(text, yaml.CSafeLoader)
    return loaded


def strict(node: Any, shared: set[str], part_of_all: bool = False) -> None:
    """Make each object with named fields refuse others, but for the parts of an `allOf`, whose whole
    refuses them; and read what OpenAPI 3.0 writes as `nullable`."""
    if isinstance(node, list):
        for each in node:
            strict(each, shared)
        return
    if not isinstance(node, dict):
        return
    for name, value in node.items():
        if name == "allOf" and isinstance(value, list):
            for each in value:
                strict(each, shared, part_of_all=True)
        elif name not in ("example", "examples", "x-oaiMeta", "enum", "default"):
            strict(value, shared)
    has_fields = isinstance(node.get("properties"), dict) or "allOf" in node
    if has_fields and not part_of_all and "additionalProperties" not in node and "unevaluatedProperties" not in node:
        node["unevaluatedProperties"] = False
    if node.get("additionalProperties") is False and part_of_all:
        del node["additionalProperties"]
    if node.pop("nullable", False) is True and isinstance(node.get("type"), str):
        node["type"] = [node["type"], "null"]


def shared_parts(node: Any) -> set[str]:
    """Components that stand in an `allOf`."""
    found: set[str] = set()
    if isinstance(node, dict):
        for each in node.get("allOf", ()) if isinstance(node.get("allOf"), list) else ():
            if isinstance(each, dict) and "$ref" in each:
                found.add(each["$ref"].rpartition("/")[2])
        for value in node.values():
            found |= shared_parts(value)
    elif isinstance(node, list):
        for value in node:
            found |= shared_parts(value)
    return found


def validators(document: dict[str, Any]) -> dict[str, Draft202012Validator]:
    """A validator for the body of each POST, by its path."""
    schemas = document["components"]["schemas"]
    shared = shared_parts(document)
    for name, schema in schemas.items():
        # A component that others are made of is left as it is, and so refuses nothing by itself.
        strict(schema, shared, part_of_all=name in shared)
    registry = Registry().with_resource("urn:api", Resource(document, DRAFT202012))
    made = {}
    for path, item in document["paths"].items():
        content = item.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json")
        if content and "$ref" in content["schema"]:
            reference = "urn:api" + content["schema"]["$ref"]
            whole = {"allOf": [{"$ref": reference}], "unevaluatedProperties": False}
            made[path.strip("/")] = Draft202012Validator(whole, registry=registry)
        elif content:
            made[path.strip("/")] = Draft202012Validator(
                {**content["schema"], "components": document["components"]}, registry=registry
            )
    return made


def complaints(
    errors: Iterable[ValidationError], document: dict[str, Any], branch: tuple[str | int, ...] = ()
) -> Iterator[Complaint]:
    """The errors at the places where they are; those of alternatives with the alternative's number."""
    for error in errors:
        place = (*branch, *error.absolute_path)
        if error.validator in _KINDS and error.context:
            for each in error.context:
                number = f"#{each.schema_path[0]}"
                yield from complaints([each], document, (*branch, number))
        elif error.validator in ("unevaluatedProperties", "additionalProperties"):
            for name in unknown_fields(error, document):
                yield Complaint((*place, name), "unknown field")
        elif error.validator == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    yield Complaint((*place, name), "missing")
        else:
            yield Complaint(place, f"not of its {error.validator}")


def unknown_fields(error: ValidationError, document: dict[str, Any]) -> list[str]:
    """The fields that no part of the schema describes. Those of a part that does not hold for another
    reason count as unknown for the library, and are left out here."""
    return [name for name in error.instance if name not in described_fields(error.schema, document)]


def described_fields(schema: Any, document: dict[str, Any]) -> set[str]:
    """The names of the fields that a schema describes, in any of its alternatives."""
    if not isinstance(schema, dict):
        return set()
    names = set(schema.get("properties", ()))
    if "$ref" in schema:
        found: Any = document
        for step in schema["$ref"].partition("#/")[2].split("/"):
            found = found[step]
        names |= described_fields(found, document)
    for kind in ("allOf", *_KINDS):
        for part in schema.get(kind, ()):
            names |= described_fields(part, document)
    return names


def main() -> None:
    job = json.load(sys.stdin)
    document = load(Path(job["folder"]) / job["file"])
    known = validators(document)
    problems = []
    for path, text in job["bodies"]:
        body = json.loads(text)
        name = next((each for each in known if each == path or each == f"v1/{path}"), None)
        if name is None:
            problems.append([f"{path}: no such path"])
            continue
        found = [] if known[name].is_valid(body) else list(complaints(known[name].iter_errors(body), document))
        problems.append(problem_lines(body, found))
    json.dump({"version": str(document["info"]["version"]), "problems": problems}, sys.stdout)


if __name__ == "__main__":
    main()
