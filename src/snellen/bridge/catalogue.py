"""The tasks of other tools by name, as their own code lists them; no environment is needed to read it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.peers import PEERS
from snellen.bridge.protocol import ListedTask
from snellen.core.errors import UnknownName, UsageError

FOLDER = Path(__file__).with_name("catalogues")


class TaskGroup(Struct, frozen=True, omit_defaults=True):
    """Tasks that are alike in all but their names."""

    names: tuple[str, ...]
    modality: tuple[str, ...] = ()
    kind: str | None = None
    judged: bool | None = None
    needs: tuple[str, ...] = ()
    broken: str = ""


class TriedGroup(Struct, frozen=True, omit_defaults=True):
    """Tasks of which the same came when they were tried."""

    came: str
    names: tuple[str, ...]
    why: str = ""


class TaskCatalogue(Struct, frozen=True):
    """The tasks of one tool."""

    version: str
    commit: str | None
    groups: tuple[TaskGroup, ...]
    tried: tuple[TriedGroup, ...] = ()

    def tasks(self) -> Iterator[ListedTask]:
        """Each task, by name."""
        listed = {name: group for group in self.groups for name in group.names}
        tried = {name: (group.came, group.why) for group in self.tried for name in group.names}
        for name in sorted(listed, key=str.lower):
            facts = {field: getattr(listed[name], field) for field in TaskGroup.__struct_fields__ if field != "names"}
            came, why = tried.get(name, ("", ""))
            yield ListedTask(name, **facts, came=came, why=why)


@functools.cache
def read_catalogue(peer: str) -> TaskCatalogue:
    """The stored tasks of a tool. Raises UsageError if there are none."""
    file = FOLDER / f"{peer}.json"
    if not file.is_file():
        listed = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json")))
        raise UsageError(f"the tasks of {PEERS.get(peer, peer)} are not listed; those of {listed} are")
    return msgspec.json.decode(file.read_bytes(), type=TaskCatalogue)


def peers_with(name: str) -> Mapping[str, str]:
    """Tools that have a task of this name, ignoring case, and how they spell it."""
    found: dict[str, str] = {}
    for peer in PEERS:
        if (FOLDER / f"{peer}.json").is_file():
            spelt = [task.name for task in read_catalogue(peer).tasks() if task.name.lower() == name.lower()]
            if spelt:
                found[peer] = name if name in spelt else spelt[0]
    return found


def find_listed(peer: str, task: str) -> ListedTask:
    """The task of a tool, without its environment. Raises UnknownName, with names that are near."""
    tasks = {one.name: one for one in read_catalogue(peer).tasks()}
    if task not in tasks:
        hint = f"snellen list benchmarks --from {peer} shows them."
        raise UnknownName(f"benchmark of {PEERS[peer]}", task, tasks, hint)
    return tasks[task]
