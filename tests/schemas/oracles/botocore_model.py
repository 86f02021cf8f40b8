"""Judges bodies of Amazon Bedrock by the service model of `botocore`, as its own validator of parameters does.

Reads a job as JSON from standard input, writes `{"version", "problems"}` to standard output. Two things are added,
which the service refuses and botocore leaves to it: a word that an enumeration lacks, and bytes that are no base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import sys
from importlib import metadata
from typing import Any
from urllib.parse import unquote

import botocore.session
from botocore.validate import ParamValidator, ValidationErrors
from problems import Complaint, problem_lines

_WORDS = {"unknown field": "unknown field", "missing required field": "missing"}
_OPERATION = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse")
_PATH = re.compile(_OPERATION.http["requestUri"].strip("/").replace("{modelId}", "([^/]+)"))


class _Validator(ParamValidator):
    """Refuses words that an enumeration lacks, too."""

    def _validate_string(self, param: Any, shape: Any, errors: ValidationErrors, name: str) -> None:
        super()._validate_string(param, shape, errors, name)
        if isinstance(param, str) and shape.enum and param not in shape.enum:
            errors.report(name, "invalid type", param=param, valid_types=shape.enum)


def decoded(value: Any) -> Any:
    """A body with its bytes, which are sent as base64."""
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _bytes(each) if name == "bytes" else decoded(each) for name, each in value.items()}


def _bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, binascii.Error):
        return 0


def complaints(model: str, body: dict[str, Any]) -> list[Complaint]:
    """What the validator says, at the places where it says it."""
    errors = _Validator().validate({"modelId": model, **decoded(body)}, _OPERATION.input_shape)
    found = []
    for reason, place, details in errors._errors:
        steps = [int(step) if step.isdecimal() else step for step in re.findall(r"[^.\[\]]+", place)]
        name = details.get("unknown_param") or details.get("required_name")
        found.append(Complaint((*steps, *([name] if name else [])), _WORDS.get(reason, reason)))
    return found


def main() -> None:
    job = json.load(sys.stdin)
    problems = []
    for path, text in job["bodies"]:
        named = _PATH.fullmatch(path)
        body = json.loads(text)
        if named is None:
            problems.append([f"{path}: no such path"])
        else:
            problems.append(problem_lines(body, complaints(unquote(named[1]), body)))
    json.dump({"version": metadata.version("botocore"), "problems": problems}, sys.stdout)


if __name__ == "__main__":
    main()
