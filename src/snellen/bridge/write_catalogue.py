"""Writes the tasks of a tool anew, with the worker that its settings name.

python -m snellen.bridge.write_catalogue vlmevalkit
"""

from __future__ import annotations

import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from snellen.bridge.benchmark import worker_command
from snellen.bridge.catalogue import FOLDER, TaskCatalogue, TaskGroup
from snellen.bridge.process import PeerWorker
from snellen.bridge.protocol import ListedTask
from snellen.core.atomic_write import save


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
    with tempfile.TemporaryDirectory() as folder:
        worker = PeerWorker(worker_command(peer, {}), Path(folder))
        tasks = worker.call(dict[str, list[ListedTask]], "tasks")["tasks"]
        catalogue = make_catalogue(worker.hello.version, worker.hello.commit, tasks)
        worker.close()
    save(FOLDER / f"{peer}.json", msgspec.json.format(msgspec.json.encode(catalogue), indent=1) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
