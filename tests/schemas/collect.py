"""Collect examples of replies from descriptions of APIs and from the tests of client packages.

    python -m tests.schemas.collect      write tests/schemas/replies/NAME.json for each source

`SNELLEN_CHECKOUTS` names the folder of the checkouts (`sources.toml`). An example is whatever has
the form of a reply, a stream or an error of the source's dialect: JSON in a text, a literal in
Python, or the types of `google-genai` built in a test.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from tests.schemas.semantics import expected_of

FOLDER = Path(__file__).parent
_SIGNS = {"chat": ("choices",), "anthropic": ("stop_reason",), "google": ("candidates", "promptFeedback")}
_MOST = 40_000
"""Characters of an example: longer ones are images."""


class NoLiteral(ValueError):
    """An expression whose value is known only when it runs."""


def main() -> int:
    checkouts = os.environ.get("SNELLEN_CHECKOUTS")
    if not checkouts:
        print("SNELLEN_CHECKOUTS names no folder: where are the checkouts?", file=sys.stderr)
        return 2
    for name, source in msgspec.toml.decode((FOLDER / "sources.toml").read_bytes()).items():
        folder = Path(checkouts) / name
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
        examples: dict[str, dict[str, Any]] = {}
        for path in sorted({path for pattern in source["files"] for path in folder.glob(pattern)}):
            for kind, content in _examples(path, source["dialect"]):
                key = json.dumps([kind, content], sort_keys=True)
                if len(key) <= _MOST:
                    examples.setdefault(key, {"from": str(path.relative_to(folder)), kind: content})
        stored = []
        for example in examples.values():
            expected = expected_of(source["dialect"], example)
            stored.append({**example, "expected": expected})
        head = {key: source[key] for key in ("repository", "licence", "dialect")} | {"commit": done.stdout.strip()}
        text = json.dumps({**head, "examples": stored}, indent=1, ensure_ascii=False)
        if stored:
            (FOLDER / "replies" / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(stored)} examples")
    return 0


def _examples(path: Path, dialect: str) -> Iterator[tuple[str, Any]]:
    """Replies (`reply`), streams (`stream`) and errors (`error`) in a file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        yield from _in_python(text, dialect)
    elif path.suffix in (".json", ".yaml"):
        value = json.loads(text) if path.suffix == ".json" else yaml.load(text, yaml.CSafeLoader)
        yield from _in_description(value, dialect)
    else:
        yield from _in_text(text, dialect)
        for fence in re.findall(r"```(?:json|shell|bash)?\s*\n(.*?)```", text, re.DOTALL):
            yield from _in_text(fence, dialect)


def _in_python(text: str, dialect: str) -> Iterator[tuple[str, Any]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            value = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
            yield from _in_text(value, dialect)
        elif isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and _called(node) == "GenerateContentResponse"):
            try:
                yield from _as_example(_value(node), dialect)
            except NoLiteral:
                continue


def _in_description(value: Any, dialect: str) -> Iterator[tuple[str, Any]]:
    """Examples of operations, as they stand in `example`, `examples` and OpenAI's `x-oaiMeta`."""
    if isinstance(value, str):
        yield from _in_text(value, dialect)
    elif isinstance(value, Mapping):
        yield from _as_example(value, dialect)
        for each in value.values():
            yield from _in_description(each, dialect)
    elif isinstance(value, list):
        for each in value:
            yield from _in_description(each, dialect)


def _in_text(text: str, dialect: str) -> Iterator[tuple[str, Any]]:
    text = text.strip()
    if "\ndata:" in f"\n{text}" or (dialect == "chat" and text.count("chat.completion.chunk") > 1):
        chunks = _chunks(text)
        if chunks and all(isinstance(each, dict) for each in chunks) and _is_stream(chunks, dialect):
            yield "stream", chunks
            return
    if text.startswith("{") and text.endswith("}"):
        try:
            yield from _as_example(json.loads(text), dialect)
        except ValueError:
            return


def _chunks(text: str) -> list[Any]:
    lines = [line.partition("data:")[2] for line in text.splitlines() if line.startswith("data:")]
    try:
        if lines:
            return [json.loads(line) for line in lines if line.strip() not in ("", "[DONE]")]
        decoder, chunks, at = json.JSONDecoder(), [], 0
        while at < len(text):
            if text[at] == "{":
                chunk, at = decoder.raw_decode(text, at)
                chunks.append(chunk)
            at += 1
        return chunks
    except ValueError:
        return []


def _is_stream(chunks: list[dict[str, Any]], dialect: str) -> bool:
    if dialect == "anthropic":
        return any(str(each.get("type")).startswith(("message_", "error")) for each in chunks)
    return any(sign in each for each in chunks for sign in _SIGNS[dialect])


def _as_example(value: Any, dialect: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        return
    if dialect == "chat" and isinstance(value.get("choices"), list) and _is_json(value):
        if any(isinstance(each, dict) and ("message" in each or "text" in each) for each in value["choices"]):
            yield "reply", value
    elif dialect == "anthropic" and value.get("stop_reason") and isinstance(value.get("content"), list):
        if _is_json(value):
            yield "reply", value
    elif dialect == "google" and ("candidates" in value or "promptFeedback" in value) and _is_json(value):
        if isinstance(value.get("candidates", []), list):
            yield "reply", value
    elif isinstance(value.get("error"), dict) and isinstance(value["error"].get("message"), str) and _is_json(value):
        yield "error", value


def _is_json(value: Any) -> bool:
    """Whether it is a value, and no description of one (`{"type": "string"}`)."""
    text = json.dumps(value)
    return '"properties"' not in text and '"$ref"' not in text


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _value(node: ast.expr) -> Any:
    """The value of a literal, or of a call of `google-genai`'s types with literals. Raises NoLiteral."""
    if isinstance(node, ast.Constant):
        return base64.b64encode(node.value).decode() if isinstance(node.value, bytes) else node.value
    if isinstance(node, ast.Dict):
        if not all(isinstance(key, ast.Constant) for key in node.keys):
            raise NoLiteral
        return {key.value: _value(each) for key, each in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(each) for each in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.Call):
        return _built(node)
    if isinstance(node, ast.Attribute) and node.attr.isupper():
        return node.attr
    raise NoLiteral


def _built(node: ast.Call) -> Any:
    if node.args or not isinstance(node.func, ast.Attribute | ast.Name):
        raise NoLiteral
    fields = {_camel(each.arg or ""): _value(each.value) for each in node.keywords}
    if _called(node) == "from_text":
        return {"text": fields.get("text")}
    if not _called(node)[:1].isupper():
        raise NoLiteral
    return fields


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.title() for each in rest)


if __name__ == "__main__":
    sys.exit(main())
