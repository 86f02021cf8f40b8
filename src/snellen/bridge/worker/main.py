"""The loop of the worker: one JSON object a line in, one out, over two pipes.

    python -I main.py '{"peer": "vlmevalkit", "requests": 3, "replies": 4, ...}'

A request `{"id": 1, "call": NAME, ...}` gets exactly one reply, `{"id": 1, "result": {...}}` or
`{"id": 1, "error": {"kind": ..., "message": ..., "trace": ...}}`. While `score` or `aggregate` runs,
the worker may ask `{"ask": 1, "role": "judge", "messages": [...], "generation": {}}`, and is told
`{"answer": 1, "text": ...}`, `{"answer": 1, "failure": ...}`, or `{"answer": 1, "pending": true}`:
then the call ends with an error of the kind `judge`, which lists what was asked, and comes again
when the answers are known. docs/bridge.md has the messages.

Standard library only; Python 3.10 and later.
"""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import importlib
import importlib.util
import json
import math
import os
import queue
import random
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

PROTOCOL = 1
SEED = 0
"""What the peer draws at random is drawn anew from this before each call."""
_NEWUSER, _NEWNET = 0x10000000, 0x40000000
_TRACE_LINES = 12
_SHARES_OF_RIGHT = frozenset({"acc", "accuracy", "correct", "em", "match"})

Message = Mapping[str, Any]


class Fault(Exception):
    """What a call ends with in place of a result; its text is one sentence."""

    kind = "peer"


class DataMissing(Fault):
    """The data are not there: which file or data set is wanted, and where it is looked for."""

    kind = "data"


class Needs(Fault):
    """A package or a key is missing."""

    kind = "needs"


class UsageProblem(Fault):
    """There is no such task, option or sample."""

    kind = "usage"


class JudgeFailed(Exception):
    """The judge did not answer. The peer's code may catch it, as it does for its own clients."""


class JudgeStopped(BaseException):
    """There is no answer of a judge, in one sentence. No `except Exception` of the peer makes a grade of
    that."""

    kind = "peer"


class JudgePending(BaseException):
    """The judge's answer is not known yet. No `except Exception` of the peer keeps it."""


AskJudge = Callable[..., str]
"""`ask_judge(messages, generation=None)` returns the judge's text; messages as those of a sample.
Raises JudgeFailed. Any thread may call it."""


class OpenTask(Protocol):
    """One benchmark, loaded."""

    def facts(self) -> dict[str, Any]: ...

    def sample(self, index: int) -> dict[str, Any]: ...

    def next_turn(self, index: int, replies: Sequence[str]) -> dict[str, Any]: ...

    def score(self, index: int, replies: Sequence[str]) -> dict[str, Any]: ...

    def aggregate(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]: ...


class Peer(Protocol):
    """The other tool. Each adapter module has `open_peer(ask_judge, settings) -> Peer`; `settings`
    is what the worker was started with, e.g. `checkout`."""

    def facts(self) -> dict[str, Any]: ...

    def tasks(self) -> Sequence[Mapping[str, Any]]: ...

    def open(self, task: str, options: Mapping[str, str], folder: Path) -> OpenTask: ...


# What adapters use -------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers of numpy become Python's, NaN and infinities null, tuples
    and sets lists (sets in the order of their texts), keys texts. Raises TypeError for what JSON cannot say."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return [plain(one) for one in sorted(value, key=repr)]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def as_correct(value: float | None, metrics: Iterable[str], judged: bool) -> float | None:
    """How right a sample is, 0 to 1, by its one value. A judge's number is that only if it is true or
    false, or its metric's name says so: it may be a rating on any scale, of which 1 is the lowest."""
    if value is None or not 0 <= value <= 1:
        return None
    named = {word for metric in metrics for word in re.split(r"[^a-z]+", metric.lower())}
    return float(value) if not judged or isinstance(value, bool) or named & _SHARES_OF_RIGHT else None


def read_commit(checkout: str | Path | None) -> str | None:
    """The commit of a checkout, None where git does not say it."""
    if not checkout:
        return None
    command = ["git", "-c", "safe.directory=*", "-C", str(checkout), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def use_checkout(title: str, checkout: Path, folder: str) -> None:
    """Let the tool be imported from a checkout. Raises UsageProblem."""
    if not (checkout / folder).is_dir():
        raise UsageProblem(f"{checkout} is no checkout of {title}: it has no folder {folder}")
    sys.path.insert(0, str(checkout))


def nearest(task: str, names: Iterable[str]) -> str:
    """What to do about a task that the tool does not have."""
    near = difflib.get_close_matches(task, list(names), 1)
    return (
        f"; did you mean {near[0]}?" if near else "; `snellen list benchmarks --from TOOL` shows those that are known"
    )


def seed_draws() -> None:
    """Let whatever the peer draws at random be the same each time."""
    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)
    if "torch" in sys.modules and hasattr(sys.modules["torch"], "manual_seed"):
        sys.modules["torch"].manual_seed(SEED)


# The loop ----------------------------------------------------------------------------------------


class Loop:
    """Reads requests, calls the adapter, writes replies. A thread of its own reads, so that the
    judge's answers reach whichever thread of the peer waits for them."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = os.fdopen(requests, "rb")
        self._replies = replies
        self._calls: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._write_lock, self._ask_lock = threading.Lock(), threading.Lock()
        self._asked, self._process = 0, os.getpid()
        self._pending: list[Message] = []

    def run(self, open_peer: Callable[[], Peer]) -> None:
        """Serve until `close`, or until the other end is closed."""
        threading.Thread(target=self._read, daemon=True).start()
        peer: Peer | None = None
        tasks: dict[str, OpenTask] = {}
        while True:
            request = self._calls.get()
            if request["call"] == "close":
                self._send({"id": request["id"], "result": {}})
                return
            self._pending = []
            reply: dict[str, Any] = {}
            try:
                if peer is None:
                    peer = open_peer()
                seed_draws()
                reply = {"result": plain(_call(peer, tasks, request))}
            except BaseException as error:  # noqa: BLE001 - the peer's, whatever it is
                reply = {"error": _describe(error)}
            if self._pending:
                # Also where the peer's code has caught, or wrapped, what told it so.
                reply = {"error": {"kind": "judge", "message": "a judge's answer is awaited", "asks": self._pending}}
            self._send({"id": request["id"], **reply})

    def ask_judge(self, messages: Sequence[Message], generation: Mapping[str, Any] | None = None) -> str:
        """The judge's text. Raises JudgeFailed, JudgePending."""
        if os.getpid() != self._process:
            raise JudgeFailed("a process that the tool has started cannot ask the judge")
        asked = {"role": "judge", "messages": plain(list(messages)), "generation": plain(dict(generation or {}))}
        with self._ask_lock:
            self._asked += 1
            number, waits = self._asked, queue.SimpleQueue[dict[str, Any]]()
            self._answers[number] = waits
        self._send({"ask": number, **asked})
        answer = waits.get()
        del self._answers[number]
        if answer.get("pending"):
            self._pending.append(asked)
            raise JudgePending
        if "failure" in answer:
            raise JudgeFailed(answer["failure"])
        return str(answer["text"])

    def _read(self) -> None:
        for line in self._requests:
            message = json.loads(line)
            if "answer" in message:
                self._answers[message["answer"]].put(message)
            else:
                self._calls.put(message)
        # Nobody is left to hear, whatever the peer does at the moment.
        end_group()

    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message, ensure_ascii=True, allow_nan=False).encode() + b"\n"
        with self._write_lock:
            while data:
                data = data[os.write(self._replies, data) :]


def end_group() -> None:
    """End this process, and those that the peer has left behind."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _call(peer: Peer, tasks: dict[str, OpenTask], request: Mapping[str, Any]) -> Mapping[str, Any]:
    call = request["call"]
    if call == "hello":
        python = ".".join(map(str, sys.version_info[:3]))
        return {"protocol": PROTOCOL, "python": python, **peer.facts()}
    if call == "tasks":
        return {"tasks": list(peer.tasks())}
    if call == "open":
        folder = Path(request["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        tasks["open"] = peer.open(request["task"], request.get("options", {}), folder)
        return tasks["open"].facts()
    if "open" not in tasks:
        raise UsageProblem(f"no task is open for {call!r}")
    task = tasks["open"]
    # Positions of the options as they are shown now, where that is not the order of the row.
    order = {"order": request["order"]} if request.get("order") else {}
    if call == "sample":
        # A task may say what its row says before it makes a prompt, which can take the frames of a video.
        describe = getattr(task, "describe", None) if request.get("prompt") is False else None
        return describe(request["index"]) if describe else task.sample(request["index"], **order)
    if call == "reorder":
        refuse = getattr(task, "refuse_order", None)
        return {"refused": refuse() if refuse else "the functions of each of its tasks read the options of a row"}
    if call == "next":
        return task.next_turn(request["index"], request["replies"])
    if call == "score":
        return task.score(request["index"], request["replies"], **order)
    if call == "aggregate":
        return task.aggregate(request["records"])
    raise UsageProblem(f"there is no call {call!r}")


def _describe(error: BaseException) -> dict[str, str]:
    """An exception as an error of the exchange; one that a task group has wrapped as itself."""
    trace = "".join(traceback.format_exception(error)).splitlines()[-_TRACE_LINES:]
    while isinstance(inner := getattr(error, "exceptions", None), tuple) and len(inner) == 1:
        error = inner[0]
    if isinstance(error, Fault | JudgeStopped):
        return {"kind": error.kind, "message": str(error), "trace": "\n".join(trace)}
    said = " ".join(str(error).split()) or "without a message"
    name = type(error).__name__
    if isinstance(error, ModuleNotFoundError):
        return {"kind": "needs", "message": f"the package {error.name!r} is not installed", "trace": "\n".join(trace)}
    return {"kind": "peer", "message": f"{name}: {said[:500]}", "trace": "\n".join(trace)}


def limit_process(settings: Mapping[str, Any]) -> None:
    """Give up the network unless it is allowed, and limit memory and the size of files. Exits with a
    sentence where the network cannot be given up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        if not settings.get("network") and not _leave_network(libc):
            raise SystemExit("this system does not let a process give up its network")
    if sys.platform == "win32":
        return
    import resource

    for name, limit in (("RLIMIT_AS", "memory_mb"), ("RLIMIT_FSIZE", "file_mb")):
        if settings.get(limit):
            most = int(settings[limit]) << 20
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, name), (most, most))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _leave_network(libc: ctypes.CDLL) -> bool:
    """Whether this process is in a network of its own now, without a single address."""
    user, group = os.getuid(), os.getgid()
    if user == 0 and libc.unshare(_NEWNET) == 0:
        return True
    if libc.unshare(_NEWUSER | _NEWNET):
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with contextlib.suppress(OSError):
            Path(f"/proc/self/{name}").write_text(text)
    return True


def main(settings: Mapping[str, Any]) -> None:
    """Serve one peer. `settings`: `peer` (name of the adapter module), the pipes `requests` and
    `replies`, `checkout`, `data`, `network`, `memory_mb`, `file_mb`."""
    limit_process(settings)
    loop = Loop(settings["requests"], settings["replies"])
    module = importlib.import_module(f"{__package__}.{settings['peer']}") if "module" not in settings else None
    if module is None:
        module = _load_file(Path(settings["module"]))
    loop.run(lambda: module.open_peer(loop.ask_judge, settings))
    end_group()


def _load_file(path: Path) -> Any:
    """An adapter of the user's own, a file that defines `open_peer`."""
    spec = importlib.util.spec_from_file_location("snellen_worker.own", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _start() -> None:
    """Run `main` of this file as a module of a package, so that adapters can import from it."""
    if sys.flags.ignore_environment:
        # `-I` ignores PYTHONHASHSEED too, without which sets have another order in each process.
        code = "import runpy, sys; del sys.path[0]; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
        os.execv(sys.executable, [sys.executable, "-s", "-B", "-u", "-c", code, *sys.argv])
    package = "snellen_worker"
    folder = Path(__file__).parent
    spec = importlib.util.spec_from_file_location(
        package, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[package] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    importlib.import_module(f"{package}.main").main(json.loads(sys.argv[1]))


if __name__ == "__main__":
    _start()
