"""Sets of replies that somebody else's scorer has judged: how one is declared, stored and read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "sets"
CLOSE = 1e-6
STEPS = "judge by steps"
"""The role of a judge that is asked several things about a reply: a verdict is a JSON list."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """Somebody else's scorer. `script` stands in `oracles/` and calls it from a checkout."""

    script: str
    repository: str
    commit: str
    licence: str
    checkout: str
    """Folder of the checkout below the folder of all checkouts."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question and one reply to it.

    `cells` is the row as the benchmark's data file has it, without the reply. `verdict` is what a
    judge says about the reply, where the benchmark is judged: both sides are given the same.
    """

    id: str
    cells: Mapping[str, Any]
    style: str
    reply: str
    verdict: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A set: replies to questions in the layout of one benchmark, for one rule and one scorer."""

    name: str
    """Stem of the file in `sets/`."""
    benchmark: str
    """Name with options, as typed: `mlvu` or `seedbench:version=2`."""
    rule: str
    oracle: Oracle
    path: str
    """The scoring function: file and name in the checkout."""
    cases: Callable[[], Iterable[Case]]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the oracle's script needs beside the rows, e.g. {"dataset": "MMStar"}."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Our metric (`accuracy`, `category/colour`) to the name that the script gives theirs."""
    alone: bool = False
    """Whether questions and replies are one file, not data and predictions."""
    role: str = "judge"
    """Whose words the verdicts of its cases are: a `judge`'s, an `extractor`'s, or `STEPS`."""
    apart: str = ""
    """Begins the styles whose rows are left out of the metrics on both sides: those of verdicts
    that the two sides read differently by what they say of themselves."""
    close: float = CLOSE
    """How far apart the metrics may be: half of the last place that the other scorer writes."""


@dataclass(frozen=True, slots=True)
class Row:
    """A case with the other scorer's verdict: `credit` in 0..1, None where it gives none (a
    rotation of a question that is judged as a whole). `reading` is what it took for the answer."""

    case: Case
    credit: float | None
    reading: str = ""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A set with its verdicts, as stored."""

    name: str
    benchmark: str
    rule: str
    source: Mapping[str, str]
    metrics: Mapping[str, tuple[str, float]]
    """Our metric to the other scorer's name and value."""
    rows: tuple[Row, ...]
    alone: bool = False
    role: str = "judge"
    apart: str = ""
    close: float = CLOSE

    @property
    def styles(self) -> int:
        return len({row.case.style for row in self.rows})


def write_set(spec: Spec, cases: Iterable[Case], verdicts: Mapping[str, Any]) -> Path:
    """Store a set. `verdicts` is what the oracle's script printed for it."""
    header = {
        "benchmark": spec.benchmark,
        "rule": spec.rule,
        "source": {
            "repository": spec.oracle.repository,
            "commit": spec.oracle.commit,
            "licence": spec.oracle.licence,
            "path": spec.path,
        },
        "metrics": {
            ours: [theirs, verdicts["metrics"][theirs]] for ours, theirs in spec.metrics.items()
        },
        "alone": spec.alone,
        "role": spec.role,
        **({"apart": spec.apart, "close": spec.close} if spec.apart or spec.close != CLOSE else {}),
    }
    credits, readings = verdicts["credits"], verdicts.get("readings", {})
    lines = [json.dumps(header, ensure_ascii=False)]
    for case in cases:
        row: dict[str, Any] = {
            "id": case.id,
            "cells": dict(case.cells),
            "style": case.style,
            "reply": case.reply,
            "credit": credits.get(case.id),
        }
        if case.verdict:
            row["verdict"] = case.verdict
        if readings.get(case.id):
            row["reading"] = readings[case.id]
        lines.append(json.dumps(row, ensure_ascii=False))
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{spec.name}.jsonl.gz"
    # No time of writing in the file: the same rows give the same bytes.
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    return path


def read_set(path: Path) -> JudgedSet:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        header = json.loads(next(file))
        rows = tuple(_row(json.loads(line)) for line in file)
    return JudgedSet(
        path.name.removesuffix(".jsonl.gz"),
        header["benchmark"],
        header["rule"],
        header["source"],
        {ours: (theirs, value) for ours, (theirs, value) in header["metrics"].items()},
        rows,
        header["alone"],
        header.get("role", "judge"),
        header.get("apart", ""),
        header.get("close", CLOSE),
    )


def _row(row: Mapping[str, Any]) -> Row:
    case = Case(row["id"], row["cells"], row["style"], row["reply"], row.get("verdict", ""))
    return Row(case, row["credit"], row.get("reading", ""))


def all_sets() -> list[Path]:
    return sorted(FOLDER.glob("*.jsonl.gz"))
