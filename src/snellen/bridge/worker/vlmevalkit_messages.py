"""Messages of VLMEvalKit as those of the exchange, and the model that asks Snellen's judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .main import DataMissing, JudgeFailed, plain
from .message_parts import file_part

JUDGE_SETTINGS = ("temperature", "max_tokens", "top_p")
"""What a judge's settings may be of those that the tool names."""
MEDIA = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp", ".gif": "gif", ".bmp": "bmp"}


def messages_of(struct: Any, folder: Path) -> list[dict[str, Any]]:
    """Messages of the exchange from those of VLMEvalKit: a text, or parts with `type`, `value` and
    perhaps `role`. Parts of one role that follow each other are one message."""
    parts = [struct] if isinstance(struct, str | dict) else list(struct)
    messages: list[dict[str, Any]] = []
    for part in parts:
        given = _as_part(part)
        role = given.get("role", "user")
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "parts": []})
        messages[-1]["parts"].append(_part(given, folder))
    return messages


def _as_part(part: Any) -> Mapping[str, Any]:
    """A text that names a file is that file, as the tool's models take it."""
    from vlmeval.smp import parse_file

    if not isinstance(part, str):
        return dict(part)
    mime, path = parse_file(part)
    if mime in (None, "unknown"):
        return {"type": "text", "value": part}
    return {"type": mime.partition("/")[0], "value": path}


def _part(given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    kind, value = given["type"], given["value"]
    if kind == "text":
        return {"type": "text", "text": str(value)}
    if str(value).startswith("data:"):
        from vlmeval.smp import parse_file

        value = parse_file(value)[1]
    path = Path(str(value).removeprefix("file://"))
    if not path.is_file():
        raise DataMissing(f"the {kind} {value} is not there")
    subtype = MEDIA.get(path.suffix.lower(), path.suffix.lower().lstrip("."))
    return file_part(folder, kind, path, f"{kind}/{subtype}")


def judge_class(base: Any, folder: Path) -> Any:
    """A model of the tool that asks Snellen's judge. It takes messages as all of them do, and
    retries nothing."""

    class Judge(base):  # type: ignore[misc]
        is_api = True

        def __init__(self, ask: Callable[..., str], model: str = "", **named: Any) -> None:
            given = {"retry", "wait", "system_prompt", "verbose", "fail_msg"} & named.keys()
            super().__init__(**{name: named[name] for name in given})
            self.ask, self.model, self.model_name = ask, model, model
            self.settings = {name: named[name] for name in JUDGE_SETTINGS if name in named}

        def working(self) -> bool:
            return True

        def generate(self, message: Any, **named: Any) -> str:
            if self.check_content(message) == "listdict":
                message = self.preprocess_message_with_role([dict(one) for one in message])
            return self._answer(self.preproc_content(message), named)

        def generate_inner(self, inputs: Any, **named: Any) -> tuple[int, str, str]:
            inputs = [inputs] if isinstance(inputs, str) else inputs
            parts = [{"type": "text", "value": one} if isinstance(one, str) else one for one in inputs]
            answer = self._answer(parts, named)
            return int(answer == self.fail_msg), answer, ""

        def _answer(self, parts: Any, named: Mapping[str, Any]) -> str:
            settings = {**self.settings, **{key: named[key] for key in JUDGE_SETTINGS if key in named}}
            messages = messages_of(parts, folder)
            if self.system_prompt:
                messages.insert(0, {"role": "system", "parts": [{"type": "text", "text": self.system_prompt}]})
            try:
                return str(self.ask(messages, settings))
            except JudgeFailed:
                return str(self.fail_msg)

    return Judge


def judge_key(messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    text = json.dumps([plain(list(messages)), plain(dict(settings))], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
