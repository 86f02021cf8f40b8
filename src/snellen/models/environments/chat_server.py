"""Serves one model over HTTP by OpenAI's chat completions, from a file with `load` and `answer`.

    python chat_server.py FILE.py --model ORG/NAME --port 8000

Runs in the environment of that file, where Snellen is not installed: this module imports the
standard library alone, and runs with Python 3.8 and later. Pillow, torch and huggingface_hub are
used where the environment has them.

The file defines

    def load(checkpoint): ...                      # called once; returns anything
    def answer(model, chat, settings): ...         # the reply: a str, or a dict (see `reply_body`)

with a `ServedCheckpoint`, `ChatMessages` and `ReplySettings` of this module. A ValueError of
`answer` is for a question that the model cannot take. With `FETCH = False` in the file the hub's
files are not fetched before `load`, which then does so itself.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import importlib
import importlib.metadata
import importlib.util
import io
import json
import platform
import random
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote_to_bytes

NO_CHECKPOINT = 73
"""Exit code: the checkpoint could not be fetched."""
LOAD_FAILED = 74
"""Exit code: the file could not be run, or its `load` failed."""
PORT_TAKEN = 75
"""Exit code: another program listens on the port."""

DEFAULT_MAX_TOKENS = 1024


@dataclass(frozen=True)
class ServedCheckpoint:
    """What `load` is called with."""

    name: str
    """As the user named it: a hub id, or the name of a folder; "" if none was named."""
    folder: str
    """The folder with the files, at the pinned revision; "" if no checkpoint was named."""
    revision: str
    """The pinned commit; "" if none is."""
    own_code: bool
    """Whether the user lets code of the checkpoint run (trust_remote_code=yes)."""

    @property
    def device(self) -> str:
        """Where the model runs: `cuda`, `mps` or `cpu`."""
        torch = importlib.import_module("torch")
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"

    @property
    def dtype(self) -> Any:
        """Its precision: bfloat16, on a processor float32."""
        torch = importlib.import_module("torch")
        return torch.float32 if self.device == "cpu" else torch.bfloat16

    def import_snellen(self, module: str) -> ModuleType:
        """A module of Snellen, e.g. `models.hf.own_code.serving`, which is not installed in this
        environment: from the folder that this file is in. It may import what is installed here
        alone; Snellen needs Python 3.11 and, for most of its modules, msgspec."""
        if importlib.util.find_spec("snellen") is None:
            folder = Path(__file__).resolve().parents[2]
            spec = importlib.util.spec_from_file_location(
                "snellen", folder / "__init__.py", submodule_search_locations=[str(folder)]
            )
            assert spec is not None
            assert spec.loader is not None
            package = importlib.util.module_from_spec(spec)
            sys.modules["snellen"] = package
            spec.loader.exec_module(package)
        return importlib.import_module(f"snellen.{module}")


@dataclass(frozen=True)
class ReplySettings:
    """How a reply is generated."""

    max_tokens: int = DEFAULT_MAX_TOKENS
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()

    def generation(self, max_tokens: str = "max_new_tokens") -> dict[str, Any]:
        """The arguments of `generate` of transformers; `max_tokens` is the name of the limit."""
        arguments: dict[str, Any] = {max_tokens: self.max_tokens, "do_sample": self.temperature > 0}
        if self.temperature > 0:
            arguments["temperature"] = self.temperature
            arguments.update(
                {name: value for name, value in (("top_p", self.top_p), ("top_k", self.top_k)) if value is not None}
            )
        if self.repetition_penalty is not None:
            arguments["repetition_penalty"] = self.repetition_penalty
        return arguments

    def reply(self, tokenizer: Any, tokens: Any, prompt_tokens: int) -> dict[str, Any]:
        """The reply for one row of tokens that `generate` made: its text without special tokens,
        and how many they are; `prompt_tokens` says how many the prompt had."""
        made = [int(token) for token in tokens]
        return {
            "text": tokenizer.decode(made, skip_special_tokens=True).strip(),
            "prompt_tokens": prompt_tokens,
            "completion_tokens": len(made),
        }


class ChatMessages:
    """The messages of a request, in the form of chat templates of transformers.

    `messages` is a list of {"role": ..., "content": [...]}, with parts {"type": "text", "text":
    str} and {"type": "image", "image": picture} in their order. A picture is an RGB image of
    Pillow; without Pillow the bytes of its file.
    """

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages

    @property
    def images(self) -> list[Any]:
        """All pictures, in their order."""
        return [part["image"] for message in self.messages for part in message["content"] if part["type"] == "image"]

    def turns(self, mark: str = "<image>\n", reserved: tuple[str, ...] = ("<image>",)) -> list[tuple[str, str]]:
        """(role, text) of each message of the user and the assistant, with `mark` where a picture
        stands ({n} in it is its number, from 1). A system message goes in front of the first
        question.

        Raises ValueError if a text holds one of the `reserved` marks, which the model could not
        tell from its own.
        """
        turns: list[tuple[str, str]] = []
        system: list[str] = []
        count = 0
        for message in self.messages:
            text = ""
            for part in message["content"]:
                if part["type"] == "image":
                    count += 1
                    text += mark.replace("{n}", str(count))
                    continue
                for own in reserved:
                    if own in part["text"]:
                        raise ValueError(f"a text holds {own!r}, which the model reserves")
                text += part["text"]
            if message["role"] == "system":
                system.append(text)
            else:
                turns.append((message["role"], "\n".join([*system, text])))
                system = []
        return turns

    def question(self, mark: str = "<image>\n") -> str:
        """The text of the only question, with `mark` where a picture stands. Raises ValueError for
        several turns."""
        turns = self.turns(mark)
        if len(turns) != 1:
            raise ValueError(f"the model takes one question at a time; got {len(turns)} turns")
        return turns[0][1]

    def only_image(self) -> Any:
        """The only picture, None without any. Raises ValueError for several."""
        images = self.images
        if len(images) > 1:
            raise ValueError(f"the model takes one picture; got {len(images)}")
        return images[0] if images else None


class BadRequest(ValueError):
    """A request that is not in the form of chat completions, or asks for what is not there."""


def read_chat(body: dict[str, Any]) -> ChatMessages:
    """The messages of a request. Raises BadRequest."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages: expected a list of at least one message")
    read = []
    for message in messages:
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(parts, list):
            raise BadRequest("content: expected a text or a list of parts")
        read.append({"role": message.get("role"), "content": [_read_part(one) for one in parts]})
    return ChatMessages(read)


def _read_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": str(part.get("text", ""))}
    if kind == "image_url":
        link = part.get("image_url")
        url = link.get("url", "") if isinstance(link, dict) else str(link)
        return {"type": "image", "image": _decode_image(url)}
    raise BadRequest(f"a part of type {kind!r}: this server takes text and pictures")


def _decode_image(url: str) -> Any:
    """An RGB image of Pillow, or the bytes of the file without Pillow. Raises BadRequest."""
    if not url.startswith("data:"):
        raise BadRequest("image_url: this server fetches nothing; send the picture as a data URL")
    head, _, payload = url.partition(",")
    data = base64.b64decode(payload) if head.endswith(";base64") else unquote_to_bytes(payload)
    if importlib.util.find_spec("PIL") is None:
        return data
    from PIL import Image, UnidentifiedImageError

    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise BadRequest(f"image_url: not a picture that Pillow reads: {error}") from None


def read_settings(body: dict[str, Any]) -> ReplySettings:
    """How the reply to a request is generated. Raises BadRequest."""
    if body.get("stream") or body.get("logprobs"):
        raise BadRequest("this server neither streams nor gives log-probabilities")
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or DEFAULT_MAX_TOKENS
    stop = body.get("stop") or ()
    return ReplySettings(
        max_tokens=int(limit),
        temperature=float(body.get("temperature") or 0.0),
        top_p=body.get("top_p"),
        top_k=body.get("top_k"),
        repetition_penalty=body.get("repetition_penalty"),
        seed=body.get("seed"),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
    )


def reply_body(name: str, reply: str | dict[str, Any], settings: ReplySettings) -> dict[str, Any]:
    """The body of an answer.

    A reply in a dict has `text` and, where they are known, `prompt_tokens`, `completion_tokens` and
    `finish_reason` (`stop` or `length`; by default `length` if all tokens were used). Raises
    TypeError for any other reply.
    """
    fields: dict[str, Any] = {"text": reply} if isinstance(reply, str) else reply
    if not isinstance(fields, dict) or not isinstance(fields.get("text"), str):
        raise TypeError(f"answer returned {type(reply).__name__}; expected a str, or a dict with text")
    text, finish = fields["text"], fields.get("finish_reason")
    used = fields.get("completion_tokens")
    if finish is None and used is not None:
        finish = "length" if used >= settings.max_tokens else "stop"
    cuts = [text.index(mark) for mark in settings.stop if mark in text]
    body: dict[str, Any] = {
        "id": f"chatcmpl-{time.time_ns():x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text[: min(cuts)] if cuts else text},
                "finish_reason": "stop" if cuts else finish,
            }
        ],
    }
    if used is not None:
        prompt = fields.get("prompt_tokens") or 0
        body["usage"] = {"prompt_tokens": prompt, "completion_tokens": used, "total_tokens": prompt + used}
    return body


def installed_packages() -> dict[str, str]:
    """The versions of what is installed here, by name; of a package from a repository with its
    commit."""
    packages = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if not name:
            continue
        version = distribution.version
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        commit = origin.get("vcs_info", {}).get("commit_id", "")
        packages[name.lower().replace("_", "-")] = f"{version}+{commit[:12]}" if commit else version
    return dict(sorted(packages.items()))


class ChatServer(ThreadingHTTPServer):
    """The server. Until `model_module` is loaded, everything is answered by 503."""

    daemon_threads = True

    def __init__(self, port: int, name: str) -> None:
        super().__init__(("127.0.0.1", port), ChatHandler)
        self.name = name
        self.module: ModuleType | None = None
        self.model: Any = None
        # One reply at a time: models of such files are not made for several threads.
        self.turn = threading.Lock()

    def open_model(self, module: ModuleType, checkpoint: ServedCheckpoint) -> None:
        """Load the model; from then on requests are answered."""
        self.model = module.load(checkpoint)
        self.module = module

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request."""
        assert self.module is not None
        chat, settings = read_chat(body), read_settings(body)
        with self.turn:
            _set_seed(settings.seed)
            reply = self.module.answer(self.model, chat, settings)
        return reply_body(self.name, reply, settings)


def _set_seed(seed: int | None) -> None:
    if seed is not None:
        random.seed(seed)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(seed)


class ChatHandler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.server.module is None:
            self._send(503, _error("the model is being loaded"))
        elif self.path == "/health":
            self._send(200, {})
        elif self.path == "/v1/models":
            entry = {"id": self.server.name, "object": "model", "owned_by": "one-file server"}
            self._send(200, {"object": "list", "data": [entry]})
        elif self.path == "/environment":
            packages = installed_packages()
            self._send(200, {"python": platform.python_version(), "packages": packages})
        else:
            self._send(404, _error(f"there is no {self.path}"))

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            self._send(404, _error(f"there is no {self.path}"))
        elif self.server.module is None:
            self._send(503, _error("the model is being loaded"))
        else:
            self._send(*self._complete(content))

    def _complete(self, content: bytes) -> tuple[int, dict[str, Any]]:
        """The status and the body for a request; its error is one of this request alone."""
        try:
            body = json.loads(content)
            if body.get("model") != self.server.name:
                served = self.server.name
                return 404, _error(f"there is no model {body.get('model')!r}; served is {served!r}")
            return 200, self.server.complete(body)
        except ValueError as error:
            return 422, _error(str(error))
        # Whatever the model's code raises is an error of this request: the next is answered.
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            return 422, _error(f"{type(error).__name__}: {error}")

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log errors alone: a line for each health check would bury them."""
        if len(arguments) > 1 and not str(arguments[1]).startswith(("2", "503")):
            super().log_message(format, *arguments)


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


def fetch_checkpoint(model: str, revision: str) -> str:
    """The folder of a checkpoint: itself, or the hub's files at a revision. Exits if there is no
    way to them."""
    if not model or Path(model).is_dir():
        return model
    if importlib.util.find_spec("huggingface_hub") is None:
        _exit(
            NO_CHECKPOINT,
            f"{model} is no folder, and the environment has no huggingface_hub to "
            "fetch it with: add it to the dependencies in the header",
        )
    from huggingface_hub import snapshot_download

    print(f"fetching {model}", flush=True)
    try:
        folder: str = snapshot_download(model, revision=revision or None)
    # The library has errors of its own for a dozen causes; each is named with its type.
    except Exception as error:  # noqa: BLE001
        _exit(NO_CHECKPOINT, f"{model} cannot be fetched: {type(error).__name__}: {error}")
    return folder


def import_file(path: Path) -> ModuleType:
    """The module of a one-file server."""
    # Not by its own name, which may be that of the package that it imports.
    spec = importlib.util.spec_from_file_location("one_file_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["one_file_server"] = module
    spec.loader.exec_module(module)
    return module


def _exit(code: int, sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
    raise SystemExit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a one-file server over HTTP.")
    parser.add_argument("file", type=Path, help="the file with load and answer")
    parser.add_argument("--model", default="", help="folder or hub id of the checkpoint")
    parser.add_argument("--name", default="", help="its name in requests (default: --model)")
    parser.add_argument("--revision", default="", help="its commit on the hub")
    parser.add_argument("--trust-remote-code", action="store_true", help="let its own code run")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    # The name of a folder is that of its last part: paths differ between machines.
    is_folder = bool(options.model) and Path(options.model).is_dir()
    named = Path(options.model).name if is_folder else options.model
    try:
        server = ChatServer(options.port, options.name or options.model or options.file.stem)
    except OSError as error:
        _exit(PORT_TAKEN, f"port {options.port} cannot be listened on: {error.strerror or error}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        module = import_file(options.file)
        folder = options.model if is_folder else ""
        if getattr(module, "FETCH", True):
            folder = fetch_checkpoint(options.model, options.revision)
        checkpoint = ServedCheckpoint(named, folder, options.revision, options.trust_remote_code)
        server.open_model(module, checkpoint)
    # Whatever the file raises: its traceback is for whoever wrote it, the last line for all.
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        _exit(LOAD_FAILED, f"{options.file.name} failed to load the model: {type(error).__name__}: {error}")
    print(f"{server.name} is ready on port {options.port}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    main()
