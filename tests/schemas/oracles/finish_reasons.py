"""Prints the reasons for which a reply may end, as the client packages enumerate them, as JSON."""

from __future__ import annotations

import json
import sys
import typing
from enum import Enum
from importlib import import_module, metadata
from typing import Any


def values_of(hint: Any) -> list[str]:
    """The values of all literals and enumerations in a type."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [str(member.value) for member in hint]
    arguments = typing.get_args(hint)
    if getattr(typing.get_origin(hint), "__name__", str(typing.get_origin(hint))).endswith("Literal"):
        return [str(value) for value in arguments]
    return [value for argument in arguments for value in values_of(argument)]


def reasons_at(place: str) -> list[str]:
    """The values at `module:Model.field`, or at `botocore:service.Enumeration`."""
    module, _, path = place.partition(":")
    model, field = path.split(".")
    if module == "botocore":
        import botocore.session

        return list(botocore.session.get_session().get_service_model(model).shape_for(field).enum)
    return values_of(getattr(import_module(module), model).model_fields[field].annotation)


def main() -> None:
    found = {}
    for name, (package, place) in json.load(sys.stdin).items():
        found[name] = {"package": package, "version": metadata.version(package), "values": reasons_at(place)}
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
