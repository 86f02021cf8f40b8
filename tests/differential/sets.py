"""Sets of replies that somebody else's scorer has judged: how one is declared, stored and read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "sets"
CLOSE = 1e-6
OWN = "snellen"
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
    missing: bool = False
    """Whether the file of predictions has no row for it: `reply` is then empty."""


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
    headline: str = ""
    """The name that the script gives the headline of the other scorer; empty: the script itself
    says which of the numbers it is (VLMEvalKit names its primary metric), or it is the first of
    `metrics`. Sets of Snellen's own rule have none: it promises nobody's headline."""
    alone: bool = False
    """Whether questions and replies are one file, not data and predictions."""
    role: str = "judge"
    """Whose words the verdicts of its cases are: a `judge`'s, an `extractor`'s, or `STEPS`."""
    apart: str = ""
    """Begins the styles whose rows are left out of the metrics on both sides: those of verdicts
    that the two sides read differently by what they say of themselves."""
    close: float = CLOSE
    """How far apart the metrics may be: half of the last place that the other scorer writes."""
    seed: int = 0
    """What its hostile cases are drawn by, if it has any, and on which day (`hostile.py`)."""
    date: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A case with the other scorer's verdict: `credit` in 0..1, None where it gives none (a
    rotation of a question that is judged as a whole). `reading` is what it took for the answer."""

    case: Case
    credit: float | None
    reading: str = ""
    counted: bool = True
    """Whether it is among the rows of the metrics and the headline: not if its verdict hangs on a
    random draw, its style is `apart`, or a difference about it is explained."""


class Headline(NamedTuple):
    """The number that the other scorer reports first, by its name there, in percent or points as
    Snellen prints it."""

    name: str
    value: float


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
    close: float = CLOSE
    headline: Headline | None = None
    seed: int = 0
    """What its hostile replies are drawn by."""
    date: str = ""
    """The day of the drawing, as 2026-11-24."""

    @property
    def counted(self) -> tuple[Row, ...]:
        """The rows that the metrics and the headline are about."""
        return tuple(row for row in self.rows if row.counted)

    @property
    def styles(self) -> int:
        return len({row.case.style for row in self.rows})


def write_set(spec: Spec, cases: Iterable[Case], verdicts: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Store a set. `verdicts` is what the oracle's script printed for it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{spec.name}.jsonl.gz"
    # No time of writing in the file: the same rows give the same bytes.
    path.write_bytes(gzip.compress("\n".join(_lines(spec, cases, verdicts)).encode(), mtime=0))
    return path


def judged_set(spec: Spec, cases: Iterable[Case], verdicts: Mapping[str, Any]) -> JudgedSet:
    """A set as it would be stored."""
    return _parsed(spec.name, iter(_lines(spec, cases, verdicts)))


def _lines(spec: Spec, cases: Iterable[Case], verdicts: Mapping[str, Any]) -> list[str]:
    header = {
        "benchmark": spec.benchmark,
        "rule": spec.rule,
        "source": {
            "repository": spec.oracle.repository,
            "commit": spec.oracle.commit,
            "licence": spec.oracle.licence,
            "path": spec.path,
        },
        "metrics": {ours: [theirs, verdicts["metrics"][theirs]] for ours, theirs in spec.metrics.items()},
        "alone": spec.alone,
        "role": spec.role,
        "drawn": {"seed": spec.seed, "date": spec.date},
        **({"close": spec.close} if spec.close != CLOSE else {}),
        **({"headline": list(headline)} if (headline := headline_of(spec, verdicts)) else {}),
    }
    left_out = frozenset(verdicts.get("left_out", ()))
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
        if case.missing:
            row["missing"] = True
        if case.id in left_out:
            row["counted"] = False
        if readings.get(case.id):
            row["reading"] = readings[case.id]
        lines.append(json.dumps(row, ensure_ascii=False))
    return lines


def headline_of(spec: Spec, verdicts: Mapping[str, Any]) -> Headline | None:
    """What the other scorer reports first, out of what the oracle's script printed."""
    found = verdicts.get("headline")
    first = "" if "headline" in verdicts else next(iter(spec.metrics.values()), "")
    name = spec.headline or first
    if spec.rule == OWN or not (name or found):
        return None
    return Headline(name, verdicts["metrics"][name]) if name else Headline(*found)


def read_set(path: Path) -> JudgedSet:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return _parsed(path.name.removesuffix(".jsonl.gz"), file)


def read_header(path: Path) -> Mapping[str, Any]:
    """What a stored set says of itself, without its rows."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        header: dict[str, Any] = json.loads(next(file))
    return header


def _parsed(name: str, lines: Iterator[str]) -> JudgedSet:
    header = json.loads(next(lines))
    rows = tuple(_row(json.loads(line), header.get("apart")) for line in lines)
    return JudgedSet(
        name,
        header["benchmark"],
        header["rule"],
        header["source"],
        {ours: (theirs, value) for ours, (theirs, value) in header["metrics"].items()},
        rows,
        header["alone"],
        header.get("role", "judge"),
        header.get("close", CLOSE),
        Headline(*header["headline"]) if "headline" in header else None,
        **header.get("drawn", {}),
    )


def _row(row: Mapping[str, Any], apart: str | None) -> Row:
    verdict, missing = row.get("verdict", ""), row.get("missing", False)
    case = Case(row["id"], row["cells"], row["style"], row["reply"], verdict, missing)
    counted = row.get("counted", not (apart and case.style.startswith(apart)))
    return Row(case, row["credit"], row.get("reading", ""), counted)


def all_sets() -> list[Path]:
    return sorted(FOLDER.glob("*.jsonl.gz"))
