"""The tasks of other tools by name, as their own code lists them; no environment is needed to read it.

    python -m snellen.bridge.catalogue vlmevalkit

writes the file of a tool anew, with the worker that its settings name.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.peers import PEERS
from snellen.bridge.protocol import ListedTask
from snellen.core.atomic_write import save
from snellen.core.errors import UsageError

_FOLDER = Path(__file__).with_name("catalogues")


class TaskGroup(Struct, frozen=True, omit_defaults=True):
    """Tasks that are alike in all but their names."""

    names: tuple[str, ...]
    modality: tuple[str, ...] = ()
    kind: str | None = None
    judged: bool | None = None
    needs: tuple[str, ...] = ()
    broken: str = ""


class TaskCatalogue(Struct, frozen=True):
    """The tasks of one tool."""

    version: str
    commit: str | None
    groups: tuple[TaskGroup, ...]

    def tasks(self) -> Iterator[ListedTask]:
        """Each task, by name."""
        listed = {name: group for group in self.groups for name in group.names}
        for name in sorted(listed, key=str.lower):
            one = listed[name]
            yield ListedTask(
                name, modality=one.modality, kind=one.kind, judged=one.judged, needs=one.needs, broken=one.broken
            )


@functools.cache
def read_catalogue(peer: str) -> TaskCatalogue:
    """The stored tasks of a tool. Raises UsageError if there are none."""
    file = _FOLDER / f"{peer}.json"
    if not file.is_file():
        listed = ", ".join(sorted(path.stem for path in _FOLDER.glob("*.json")))
        raise UsageError(f"the tasks of {PEERS.get(peer, peer)} are not listed; those of {listed} are")
    return msgspec.json.decode(file.read_bytes(), type=TaskCatalogue)


def peers_with(name: str) -> Mapping[str, str]:
    """Tools that have a task of this name, ignoring case, and how they spell it."""
    found: dict[str, str] = {}
    for peer in PEERS:
        if (_FOLDER / f"{peer}.json").is_file():
            spelt = [task.name for task in read_catalogue(peer).tasks() if task.name.lower() == name.lower()]
            if spelt:
                found[peer] = name if name in spelt else spelt[0]
    return found


def make_catalogue(version: str, commit: str | None, tasks: list[ListedTask]) -> TaskCatalogue:
    """A catalogue of what a worker lists."""

    def facts(task: ListedTask) -> tuple[Any, ...]:
        return (task.modality, task.kind or "", task.judged, task.needs, task.broken)

    ordered = sorted(tasks, key=lambda task: (repr(facts(task)), task.name.lower()))
    groups = []
    for (modality, kind, judged, needs, broken), members in groupby(ordered, key=facts):
        names = tuple(task.name for task in members)
        groups.append(TaskGroup(names, modality, kind or None, judged, needs, broken))
    return TaskCatalogue(version, commit, tuple(groups))


def main(peer: str) -> None:
    """Write the file of a tool."""
    import tempfile

    from snellen.bridge.benchmark import worker_command
    from snellen.bridge.process import PeerWorker

    with tempfile.TemporaryDirectory() as folder:
        worker = PeerWorker(worker_command(peer, {}), Path(folder))
        tasks = worker.call(dict[str, list[ListedTask]], "tasks")["tasks"]
        catalogue = make_catalogue(worker.hello.version, worker.hello.commit, tasks)
        worker.close()
    save(_FOLDER / f"{peer}.json", msgspec.json.format(msgspec.json.encode(catalogue), indent=1) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
