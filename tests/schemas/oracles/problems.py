"""What is wrong with a body, as short lines without values: `top_k: unknown field`.

Of a value that may be one of several kinds, only what is wrong under the kind that it says it is
(its `type` or `role`) is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_KIND_FIELDS = ("type", "role")


class Complaint(NamedTuple):
    """One sentence of an oracle about one place of a body."""

    place: tuple[str | int, ...]
    """The place as the oracle names it, with the names of the kinds that it tried."""
    what: str


def problem_lines(body: Any, complaints: Iterable[Complaint]) -> list[str]:
    """The complaints about a body, those of the kinds left out that a value does not claim to be."""
    by_branch: dict[tuple[str | int, ...], list[tuple[str, str, str]]] = {}
    for place, what in complaints:
        path, name = _real_place(body, place)
        by_branch.setdefault(tuple(place[:-1]), []).append((path, name, what))
    by_object: dict[str, list[list[tuple[str, str]]]] = {}
    for branch in by_branch.values():
        for path in {each[0] for each in branch}:
            by_object.setdefault(path, []).append([(name, what) for at, name, what in branch if at == path])
    lines = set()
    for path, branches in by_object.items():
        claimed = [branch for branch in branches if not _is_other_kind(branch)]
        for branch in claimed:
            lines |= {f"{_joined(path, name)}: {what}" for name, what in branch}
        if not claimed:
            lines |= {f"{_joined(path, name)}: {what}" for name, what in branches[0] if name in _KIND_FIELDS}
    return sorted(_deepest(lines))


def _is_other_kind(branch: Sequence[tuple[str, str]]) -> bool:
    return any(name in _KIND_FIELDS and what != "unknown field" for name, what in branch)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}".strip(".") or "body"


def _real_place(body: Any, place: Sequence[str | int]) -> tuple[str, str]:
    """Path of the object and name of its field, by the steps that the body has."""
    steps: list[str] = []
    value = body
    for number, step in enumerate(place):
        if isinstance(value, dict) and step in value:
            value = value[step]
            steps.append(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
            steps[-1:] = [(steps[-1] if steps else "") + "[]"]
        elif isinstance(value, dict) and number == len(place) - 1:
            steps.append(str(step))
    return ".".join(steps[:-1]), steps[-1] if steps else ""


def _deepest(lines: set[str]) -> set[str]:
    """Without what is said of a value whose parts are complained about, too."""
    places = {line.split(":")[0] for line in lines}
    return {
        line
        for line in lines
        if not any(other.startswith((f"{line.split(':')[0]}.", f"{line.split(':')[0]}[")) for other in places)
    }
