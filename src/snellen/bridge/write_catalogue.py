"""Writes the tasks of a tool anew, with the worker that its settings name, and what comes of each.

python -m snellen.bridge.write_catalogue vlmevalkit tests/bridge/proof.json [REGEX]

Each task is opened without a network and without data, which shows whether its loader comes as far as the data.
What a proof of the bridge says of a task takes precedence. With a pattern only tasks that match are opened, and
what was known of others stays.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from snellen.bridge.benchmark import worker_command
from snellen.bridge.catalogue import FOLDER, TaskCatalogue, TaskGroup, TriedGroup, read_catalogue
from snellen.bridge.process import PeerFault, PeerLost, PeerWorker, WorkerCommand, WorkerLimits
from snellen.bridge.protocol import ListedTask, TaskFacts
from snellen.core.atomic_write import save

_SECONDS = 120.0
_KEYS = (
    "Missing credentials",
    "oauth/device",
    "api_key",
    "API key",
    "API_KEY",
    "gated",
    "authenticated",
    "LocalTokenNotFound",
)
_NETWORK = (
    "ConnectError",
    "ConnectionError",
    "'git', 'clone'",
    "Failed to download",
    "resolve host",
    "URLError",
    "DatasetGenerationError",
)
_NEEDS = ("docker", "pip install", "uv sync --extra", "is not set", "Please set", "No model specified")
_PROVEN = {"broken there": "rows", "peer": "rows", "usage": "rows"}
"""What a proof says by other words than a catalogue."""
_PATH = re.compile(r"(/[\w.@+-]+){2,}/")

Tried = tuple[str, str]


def make_catalogue(
    version: str, commit: str | None, tasks: list[ListedTask], tried: Mapping[str, Tried]
) -> TaskCatalogue:
    """A catalogue of what a worker lists, and of what came of the tasks."""

    def facts(task: ListedTask) -> tuple[Any, ...]:
        return (task.modality, task.kind or "", task.judged, task.needs, task.broken)

    ordered = sorted(tasks, key=lambda task: (repr(facts(task)), task.name.lower()))
    groups = []
    for (modality, kind, judged, needs, broken), members in groupby(ordered, key=facts):
        names = tuple(task.name for task in members)
        groups.append(TaskGroup(names, modality, kind or None, judged, needs, broken))
    listed = {task.name for task in tasks}
    known = sorted((one, name) for name, one in tried.items() if name in listed)
    of_tried = [
        TriedGroup(came, tuple(name for _, name in members), why)
        for (came, why), members in groupby(known, key=lambda one: one[0])
    ]
    return TaskCatalogue(version, commit, tuple(groups), tuple(of_tried))


def try_tasks(command: WorkerCommand, names: list[str], folder: Path) -> Iterator[tuple[str, Tried]]:
    """What comes of opening each task where no data are."""
    worker = None
    for name in names:
        if worker is None or not worker.is_alive:
            worker = PeerWorker(command, folder, WorkerLimits(open_seconds=_SECONDS))
        try:
            worker.call(TaskFacts, "open", seconds=_SECONDS, task=name, options={}, folder=str(folder / "media"))
            yield name, ("opens", "")
        except PeerFault as error:
            yield name, read_fault(error.fault.kind, str(error))
        except PeerLost:
            yield name, ("broken", f"its loader has not answered in {_SECONDS:.0f} seconds, or has ended the process")
    if worker is not None:
        worker.close()


def read_fault(kind: str, message: str) -> Tried:
    """What an error of a loader means; one of its own code is what nothing else explains."""
    if any(sign in message for sign in _KEYS):
        return "key", ""
    if kind == "peer":
        by_sign = {"data": _NETWORK, "needs": _NEEDS}
        kind = next((name for name, signs in by_sign.items() if any(one in message for one in signs)), "broken")
    return kind, "" if kind == "data" else shorten(message)


def read_proof(file: Path) -> Iterator[tuple[str, Tried]]:
    """What a proof says of each task."""
    table = msgspec.json.decode(file.read_bytes())
    for name, one in table.get("tasks", table).items():
        if "came" in one:
            kind = _PROVEN.get(one["came"], one["came"])
            yield name, (kind, shorten(one["why"]) if kind in ("rows", "needs") else "")


def shorten(text: str) -> str:
    """An error without the folders of this machine."""
    return _PATH.sub("", " ".join(text.split()))[:160]


def main(peer: str, proof: str, only: str = "") -> None:
    """Write the file of a tool."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "nothing").mkdir()
        nowhere = {"LMUData": str(root / "nothing"), "HF_HUB_CACHE": str(root / "nothing")}
        command = worker_command(peer, {"data": str(root / "nothing")})
        command = command._replace(variables={**command.variables, **nowhere})
        worker = PeerWorker(command, root)
        tasks = worker.call(dict[str, list[ListedTask]], "tasks", seconds=3600.0)["tasks"]
        hello = worker.hello
        worker.close()
        tried = {task.name: (task.came, task.why) for task in read_catalogue(peer).tasks() if task.came}
        wanted = [task.name for task in tasks if re.search(only, task.name)]
        for count, (name, came) in enumerate(try_tasks(command, wanted, root)):
            tried[name] = came
            print(name, *came, file=sys.stderr, flush=True)
            if count % 50 == 0:
                save_catalogue(peer, make_catalogue(hello.version, hello.commit, tasks, tried))
        tried |= dict(read_proof(Path(proof)))
        save_catalogue(peer, make_catalogue(hello.version, hello.commit, tasks, tried))


def save_catalogue(peer: str, catalogue: TaskCatalogue) -> None:
    """Write the file of a tool."""
    save(FOLDER / f"{peer}.json", msgspec.json.format(msgspec.json.encode(catalogue), indent=1) + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
