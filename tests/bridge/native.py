"""Snellen's own benchmarks against VLMEvalKit's over the bridge, on the replies of `tests/differential`.

    SNELLEN_VLMEVALKIT_CHECKOUT=DIR SNELLEN_VLMEVALKIT_PYTHON=PATH python -m tests.bridge.native [REGEX]

Of each set of VLMEvalKit's rule that no judge decides, the questions lie where its loader looks, and its
`evaluate` counts the first reply of each style together, over the bridge. Its verdict of each reply is compared
with that of Snellen's own benchmark by the same rule. Of sets whose numbers are about several rows together all
replies are counted. What differs must be explained in `tests/differential/explained.toml`,
or the cause be mended. What came of each set is written to `native.json`.
"""

from __future__ import annotations

import base64
import csv
import dataclasses
import io
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image
from tests.differential.compare import WHOLE, compare, explanations_of, unexplained
from tests.differential.sets import JudgedSet, Row, all_sets, read_header, read_set

from snellen.benchmarks.declaration.registry import open_benchmark, split_spec
from snellen.bridge.benchmark import worker_command
from snellen.bridge.process import PeerFault, PeerLost, PeerWorker
from snellen.bridge.protocol import Aggregated, TaskFacts
from snellen.bridge.via import find_task
from snellen.core.errors import UsageError
from snellen.core.sample import ROTATION_STRIDE

TABLE = Path(__file__).with_name("native.json")
TOOL = "vlmevalkit"
_SECONDS = 600.0


def find_sets(only: str = "") -> Iterator[JudgedSet]:
    """The stored sets of VLMEvalKit's rule whose replies no judge decides."""
    for path in all_sets():
        if read_header(path)["rule"] == TOOL and re.search(only, path.name):
            judged = read_set(path)
            if not any(row.case.verdict for row in judged.rows):
                yield judged


def task_of(judged: JudgedSet) -> str:
    """VLMEvalKit's name for the benchmark of a set. Raises UsageError where none is known."""
    name, _ = split_spec(judged.benchmark)
    benchmark = open_benchmark(judged.benchmark)
    return find_task(f"via:{TOOL}", name, benchmark.parameters).partition("/")[2]


def write_rows(judged: JudgedSet, task: str, folder: Path) -> list[Row]:
    """Put the questions where the loader looks, with a picture of noise: the first of each style of reply."""
    rows = [row for row in judged.rows if not row.case.missing]
    rotates = any(row.case.id.isdecimal() and int(row.case.id) >= ROTATION_STRIDE for row in rows)
    if not rotates and not any(fnmatch(judged.name, pattern) for pattern in WHOLE):
        rows = list({row.case.style: row for row in reversed(rows)}.values())[::-1]
    cells = [{"index": row.case.id, "image": _noise(), **row.case.cells} for row in rows]
    columns = list(dict.fromkeys(name for one in cells for name in one))
    with (folder / f"{task}.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in one.items()} for one in cells)
    return rows


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _noise() -> str:
    data = io.BytesIO()
    Image.frombytes("RGB", (16, 16), random.Random(0).randbytes(768)).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def judge_again(worker: PeerWorker, judged: JudgedSet, task: str, folder: Path) -> JudgedSet:
    """The set with VLMEvalKit's verdicts over the bridge. Raises PeerFault, PeerLost, UsageError."""
    rows = write_rows(judged, task, folder)
    options = {"judge": "no", "checksum": "off"}
    facts = worker.call(TaskFacts, "open", task=task, options=options, folder=str(folder / "media"))
    if facts.count != len(rows):
        raise UsageError(f"{task} has {facts.count} of {len(rows)} rows")
    records = [{"index": place, "replies": [row.case.reply]} for place, row in enumerate(rows)]
    whole = worker.call(Aggregated, "aggregate", seconds=_SECONDS, records=records)
    verdicts = {one.index: one.correct for one in whole.values if one.correct is not None}
    if not verdicts:
        raise UsageError("its evaluate leaves no verdict of a single reply")
    credits = {row.case.id: verdicts.get(place) for place, row in enumerate(rows)}
    asked = [row for row in judged.rows if row.case.id in credits or row.case.missing]
    again = [dataclasses.replace(row, credit=_credit(row, credits.get(row.case.id)), counted=True) for row in asked]
    return dataclasses.replace(judged, rows=tuple(again), metrics={}, headline=None)


def _credit(row: Row, verdict: float | None) -> float | None:
    """None where the tool draws at random, or scores the row with others of its question alone."""
    return None if row.credit is None or not row.counted or verdict is None else float(verdict)


def prove_set(worker: PeerWorker, judged: JudgedSet, folder: Path) -> dict[str, Any]:
    """What came of a set."""
    line: dict[str, Any] = {"benchmark": judged.benchmark}
    try:
        line["task"] = task_of(judged)
        again = judge_again(worker, judged, line["task"], folder)
    except (PeerFault, PeerLost, UsageError) as error:
        return {**line, "why": str(error)[:300]}
    (folder / judged.name).mkdir()
    found = compare(again, folder / judged.name)
    left = unexplained(again, found, explanations_of(judged.name))
    replies = {row.case.id: row.case.reply for row in again.rows}
    return {
        **line,
        "replies": found.compared,
        "agree": found.compared - len(found.differing),
        "explained": len(found.differing) - len(left),
        "left": [[key, replies[key][:120], *both] for key, both in left.items()],
    }


def main(only: str = "") -> None:
    """Prove the sets whose names match; of the others the stored lines stay."""
    kept: dict[str, Any] = json.loads(TABLE.read_bytes())["sets"] if only and TABLE.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="native-") as temporary:
        root = Path(temporary)
        command = worker_command(TOOL, {})._replace(variables={"LMUData": temporary})
        worker = PeerWorker(command, root / "worker")
        commit = worker.hello.commit
        for judged in find_sets(only):
            if not worker.is_alive:
                worker = PeerWorker(command, root / "worker")
            kept[judged.name] = line = prove_set(worker, judged, root)
            shown = {key: value for key, value in line.items() if key != "left"}
            print(judged.name, shown, line.get("left", [])[:3], file=sys.stderr, flush=True)
            TABLE.write_bytes(_encode(commit, kept))
        worker.close()
    print(totals(kept))


def totals(sets: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Sets, benchmarks and replies that both judged, and how."""
    both = [one for one in sets.values() if "replies" in one]
    counts = {key: sum(one[key] for one in both) for key in ("replies", "agree", "explained")}
    families = {split_spec(one["benchmark"]).name for one in both}
    return {"sets": len(both), "benchmarks": len(families), **counts, "left": sum(len(one["left"]) for one in both)}


def _encode(commit: str | None, sets: Mapping[str, Any]) -> bytes:
    stored = {"commit": commit, "sets": dict(sorted(sets.items()))}
    return msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
