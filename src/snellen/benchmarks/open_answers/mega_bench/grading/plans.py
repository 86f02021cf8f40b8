"""Whether a plan reaches the goal of a planning problem: `symbolic_planning_test`.

MEGA-Bench (arXiv:2410.10563), megabench/metrics/scoring/symbolic_planning.py. Domain and problem
are PDDL (Fox & Long 2003), a plan is a line `(action object ...)` for each step; other lines are
ignored. An action is possible if all that it requires holds. As in the authors' code, what must
*not* hold is never checked, nor are the types of objects; an effect takes away before it adds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Atom = tuple[Any, ...]
"""A list in PDDL: names, and further lists."""

_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class PlanAction:
    """An action of a domain, with its parameters (`?x`) and conditions over these."""

    name: str
    parameters: tuple[str, ...]
    required: tuple[Atom, ...]
    removed: tuple[Atom, ...]
    added: tuple[Atom, ...]


def plan_reaches_goal(reply: Any, context: Mapping[str, Any]) -> float:
    """1 if every step of the plan is possible and the goal holds after the last one."""
    actions = {action.name: action for action in _actions(context["domain_pddl"])}
    problem = _parse(context["task_pddl"])
    state = set(_section(problem, ":init"))
    lines = reply.split("\n") if isinstance(reply, str) else list(reply)
    for line in lines:
        if not line.startswith("("):
            continue
        name, *objects = line.strip()[1:-1].split(" ")
        action = actions.get(name)
        if action is None or len(objects) != len(action.parameters):
            return 0.0
        bound = dict(zip(action.parameters, objects, strict=True))
        if not all(_bind(atom, bound) in state for atom in action.required):
            return 0.0
        state -= {_bind(atom, bound) for atom in action.removed}
        state |= {_bind(atom, bound) for atom in action.added}
    return float(all(atom in state for atom in _goal(problem)))


def _actions(domain: str) -> Iterator[PlanAction]:
    for item in _parse(domain):
        if item[:1] != (":action",):
            continue
        parts = dict(zip(item[2::2], item[3::2], strict=False))
        required, _ = _conditions(parts.get(":precondition", ()))
        added, removed = _conditions(parts.get(":effect", ()))
        names = tuple(name for name in parts.get(":parameters", ()) if name.startswith("?"))
        yield PlanAction(item[1], names, required, removed, added)


def _conditions(condition: Atom) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
    """The atoms of a condition that must hold, and those that must not."""
    parts = condition[1:] if condition[:1] == ("and",) else (condition,) if condition else ()
    negative = tuple(part[1] for part in parts if part[0] == "not")
    return tuple(part for part in parts if part[0] != "not"), negative


def _goal(problem: Sequence[Any]) -> Sequence[Atom]:
    """What must hold in the end. A goal without `and` asks for nothing, as in the authors' code."""
    goals = [part for part in _section(problem, ":goal") if part[:1] == ("and",)]
    return [part for goal in goals for part in goal[1:] if part[0] != "not"]


def _section(problem: Sequence[Any], name: str) -> Sequence[Any]:
    return next((item[1:] for item in problem if item[:1] == (name,)), ())


def _bind(atom: Atom, bound: Mapping[str, str]) -> Atom:
    """An atom with objects in place of parameters."""
    return tuple(_bind(part, bound) if isinstance(part, tuple) else bound.get(part, part) for part in atom)


def _parse(text: str) -> Atom:
    """The list that a text of PDDL is. Raises ValueError if brackets do not match."""
    opened: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            opened.append([])
        elif token != ")":
            opened[-1].append(token)
        elif len(opened) == 1:
            raise ValueError("PDDL with a closing bracket too many")
        else:
            inner = tuple(opened.pop())
            opened[-1].append(inner)
    if len(opened) > 1 or not opened[0]:
        raise ValueError("PDDL with an opening bracket too many")
    first: Atom = opened[0][0]
    return first
