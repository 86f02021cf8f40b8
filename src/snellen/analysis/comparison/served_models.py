"""Notices for runs that requested one model name and were served different models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snellen.core.request import MAIN
from snellen.core.run import RunInfo
from snellen.core.served_identity import ServedIdentity, identity_differences


def served_notices(runs: Sequence[RunInfo], names: Sequence[str]) -> Iterator[str]:
    """A sentence for each model name whose servers reported different models: the first two runs
    that differ. Covers judges and extractors too."""
    first: dict[tuple[str, str], list[tuple[str, ServedIdentity]]] = {}
    for run, name in zip(runs, names, strict=True):
        for role, starts in run.served.items():
            identity = run.config.identity if role == MAIN else run.config.roles.get(role)
            if identity is not None and starts:
                key = (role, f"{identity.provider}/{identity.name}")
                first.setdefault(key, []).append((f"{name} ({run.benchmark})", starts[-1]))
    for (role, model), answers in first.items():
        (name, first_answer), *others = answers
        for other, answer in others:
            differing = "; ".join(identity_differences(first_answer, answer))
            if differing:
                who = f"{name}: the two" if name == other else f"{name} and {other}: their"
                what = model if role == MAIN else f"{role} {model}"
                yield f"{who} servers report different models for {what}: {differing}"
                break
