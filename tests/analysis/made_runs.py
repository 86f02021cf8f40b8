"""Runs made for comparing: real runs of models that answer by a plain function."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import snellen
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.store.runs import RunFolder

Reply = Callable[[Request], str | Output]


class Told:
    """A model that answers what `reply` says."""

    capabilities = snellen.Capabilities()

    def __init__(self, name: str, reply: Reply, facts: Mapping[str, str] | None = None) -> None:
        self.identity = snellen.Identity("told", name, dict(facts or {}))
        self._reply = reply

    async def answer(self, request: Request) -> Output:
        said = self._reply(request)
        return snellen.Generated(said) if isinstance(said, str) else said


def by_id(answers: Mapping[str, str], other: str = "A") -> Reply:
    """The answer of each sample, `other` where none is named."""
    return lambda request: answers.get(request.ref.sample, other)


def rows(count: int, golds: str = "AB") -> list[dict[str, str]]:
    """Choice questions in four categories."""
    return [
        {
            "index": str(number),
            "question": f"What is thing number {number}?",
            "A": "red",
            "B": "blue",
            "C": "green",
            "answer": golds[number % len(golds)],
            "category": f"kind {number % 4}",
        }
        for number in range(count)
    ]


def write(path: Path, table: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    return path


def run(model: Any, data: Path, out: Path, **how: Any) -> RunFolder:
    """One run of a model, or of a model's name."""
    results = snellen.evaluate([model], [str(data)], out=out, html=False, **how)
    return results.runs[0]
