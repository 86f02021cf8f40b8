"""Submitting to a hub, from a run folder or a predictions file, with the standard library alone."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

from snellen.core.errors import UsageError
from snellen.core.sample import rotation_row
from snellen.settings import read_secret
from snellen.store.export.asked_passes import reply_text
from snellen.store.runs import RUN_FILE, RunFolder, open_run

TOKEN_VARIABLE = "SNELLEN_HUB_TOKEN"
_TIMEOUT = 120.0
_PAUSE = 0.5
_LONGEST_WAIT = 3600.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect becomes an error: the token is for the address that was given."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


class Upload(NamedTuple):
    """What is sent."""

    benchmark: str
    model: str
    file_name: str
    content: bytes
    run: dict[str, Any]


def read_upload(path: Path, benchmark: str | None, model: str | None) -> Upload:
    """The predictions of a run folder, or a file. Raises UsageError."""
    if (path / RUN_FILE).is_file():
        run = open_run(path)
        info = msgspec.to_builtins(run.info)
        return Upload(
            benchmark or run.info.benchmark, model or run.info.model, "predictions.jsonl", _run_replies(run), info
        )
    if not path.is_file():
        raise UsageError(f"{path} is neither a run folder nor a file of predictions")
    if benchmark is None or model is None:
        raise UsageError("a file of predictions needs --benchmark NAME and --name NAME")
    return Upload(benchmark, model, path.name, path.read_bytes(), {})


def _run_replies(run: RunFolder) -> bytes:
    """The replies of a run as JSON Lines, each with the id of the row that it answers. Raises
    UsageError if questions were asked several times."""
    lines = []
    is_circular = "circular" in run.info.config.parameters
    for record in run.records():
        if record.repeats:
            raise UsageError(
                f"{run.path} asked each question {1 + len(record.repeats)} times, and a hub takes "
                "one reply to each; run once more without --repeats"
            )
        for turn, answered in enumerate(record.passes):
            reply = reply_text(record, answered, answered.options or record.options)
            if reply is not None:
                row = answered.row or rotation_row(record.id, turn)
                lines.append(json.dumps({"index": row, "prediction": reply}))
                if record.kind == "choice" and not is_circular:
                    # What follows is no rotation: it is about the words beside a chosen picture.
                    break
    return "\n".join(lines).encode()


class HubClient:
    """The API of one hub, with the token in `SNELLEN_HUB_TOKEN`."""

    def __init__(self, url: str, *, patience: float = 0.0, notify: Callable[[str], None] = lambda text: None) -> None:
        """For `patience` seconds a server that refuses connections, since it is starting, is asked
        again, which `notify` is told once.

        Raises UsageError for an address that is none, and without a token.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no address of a hub; expected one such as https://HOST")
        self._url = url.rstrip("/").removesuffix("/api/v1")
        self._patience, self._notify = patience, notify
        token = read_secret([TOKEN_VARIABLE])
        if token is not None and not (token.reveal().isascii() and token.reveal().isprintable()):
            raise UsageError(f"{TOKEN_VARIABLE} holds characters that no token has; set it again")
        self._token = token
        if token is None:
            raise UsageError(
                f"{TOKEN_VARIABLE} is not set; make a token on the hub's page /account/tokens, or "
                "have its owner make one with: snellen hub account HUB NAME --token"
            )

    def submit(self, upload: Upload, *, facts: str = "{}", replaces: str = "", allow_missing: bool = False) -> Any:
        """Send predictions; returns the submission."""
        boundary = token_hex(16)
        fields = {
            "model": upload.model,
            "facts": facts,
            "replaces": replaces,
            "run": json.dumps(upload.run),
            "allow_missing": str(allow_missing).lower(),
        }
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        name = upload.file_name.replace('"', "")
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="predictions"; '
            f'filename="{name}"\r\nContent-Type: application/octet-stream\r\n\r\n'
        )
        body = "".join([*parts, head]).encode() + upload.content + f"\r\n--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        return self._send("POST", f"/benchmarks/{quote(upload.benchmark)}/submissions", body, kind)

    def wait(self, submission: str, seconds: float | None = None) -> Any:
        """Wait until a submission is scored or has failed, at most this long; returns it."""
        end = time.monotonic() + (_LONGEST_WAIT if seconds is None else seconds)
        while True:
            state = self._send("GET", f"/submissions/{submission}")
            if state["status"] != "queued" or time.monotonic() > end:
                return state
            time.sleep(_PAUSE)

    def submissions(self) -> Any:
        """Those of the account, the latest first."""
        return self._send("GET", "/submissions")

    def phases(self, benchmark: str, phases: list[Any] | None = None) -> Any:
        """The phases of a benchmark, after setting others if some are given."""
        path = f"/benchmarks/{quote(benchmark, safe='')}"
        if phases is None:
            try:
                return self._send("GET", path)["phases"]
            except (KeyError, TypeError) as error:
                raise UsageError(f"{self._url} answers as no hub does") from error
        body = json.dumps(phases).encode()
        return self._send("PUT", f"{path}/phases", body, "application/json")

    def publish(self, submission: str) -> Any:
        return self._send("POST", f"/submissions/{quote(submission, safe='')}/publish")

    def withdraw(self, submission: str) -> Any:
        return self._send("POST", f"/submissions/{quote(submission, safe='')}/withdraw")

    def _send(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> Any:
        assert self._token is not None
        headers = {"Authorization": f"Bearer {self._token.reveal()}"}
        if kind:
            headers["Content-Type"] = kind
        address = f"{self._url}/api/v1{path}"
        request = urllib.request.Request(address, data=body, headers=headers, method=method)
        try:
            with self._open(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise UsageError(f"{self._url}: {_detail(error)}") from error
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise UsageError(f"{self._url} cannot be reached: {reason}") from error
        except (HTTPException, ValueError) as error:
            raise UsageError(f"{self._url} answers as no hub does: {error}") from error

    def _open(self, request: urllib.request.Request) -> Any:
        """The response. A connection that is refused has sent nothing, so that it is made again."""
        end = time.monotonic() + self._patience
        is_first = True
        while True:
            try:
                return _OPENER.open(request, timeout=_TIMEOUT)
            except urllib.error.URLError as error:
                is_refused = isinstance(error.reason, ConnectionRefusedError)
                if not is_refused or time.monotonic() > end:
                    raise
            if is_first:
                self._notify(f"{self._url} does not answer yet; trying for {self._patience:g} s")
            is_first = False
            time.sleep(_PAUSE)


def _detail(error: urllib.error.HTTPError) -> str:
    place = error.headers.get("Location", "")
    if 300 <= error.code < 400:
        return f"it sends to {place.partition('/api/v1')[0] or 'nowhere'}; give that address"
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the server answers {error.code}"
