"""The proof of the bridge: tasks of VLMEvalKit over it, against VLMEvalKit alone.

    SNELLEN_VLMEVALKIT_CHECKOUT=DIR SNELLEN_VLMEVALKIT_PYTHON=PATH python -m tests.bridge.proof

Made-up rows in the published layouts (tests/benchmarks/layouts) lie where its loader looks. Its own
inference loop asks a scripted model and its own `evaluate` counts (`alone_vlmevalkit.py`); the
bridge gets the same replies. Prompts must be the same to the byte, pictures to the pixel, numbers to
the digit. What came of each task is written to `proof.json`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tests.bridge.alone_vlmevalkit import judge_reply, pixels

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.registry import benchmark_sources
from snellen.bridge.benchmark import worker_command
from snellen.bridge.process import PeerFault, PeerLost, PeerWorker, WorkerCommand
from snellen.bridge.protocol import Aggregated, JudgeQuestion, SampleData, SampleScore, TaskFacts

LAYOUTS = Path(__file__).parents[1] / "benchmarks" / "layouts"
ALONE = Path(__file__).with_name("alone_vlmevalkit.py")
TABLE = Path(__file__).with_name("proof.json")


class Job(NamedTuple):
    """One task, and the made-up file that it reads."""

    task: str
    layout: Path
    judged: bool


def find_jobs(names: set[str]) -> Iterator[Job]:
    """For each layout of a family the first of VLMEvalKit's names that means these options; with a
    judge where one is needed, which the first try tells."""
    for layout in sorted(LAYOUTS.glob("*.tsv")):
        family, _, chosen = layout.stem.partition("@")
        source = benchmark_sources()[family]() if family in benchmark_sources() else None
        if not isinstance(source, Declaration):
            continue
        options = dict(pair.split("=") for pair in chosen.split(",")) if chosen else {}
        aliases = {family: {}, **source.aliases}
        fitting = [name for name, given in aliases.items() if name in names and options.items() <= given.items()]
        exact = [name for name in fitting if dict(aliases[name]) == options]
        for task in [*exact, *fitting][:1]:
            yield Job(task, layout, judged=False)


def place(jobs: list[Job], folder: Path) -> None:
    """Put the made-up files where the loader looks."""
    folder.mkdir(parents=True)
    for job in jobs:
        shutil.copyfile(job.layout, folder / f"{job.task}.tsv")


def run_alone(command: WorkerCommand, jobs: list[Job], folder: Path) -> dict[str, Any]:
    """What VLMEvalKit does by itself."""
    place(jobs, folder / "data")
    given = json.dumps([{"task": job.task, "judged": job.judged} for job in jobs])
    arguments = [command.python, str(ALONE), command.settings["checkout"], str(folder / "data"), str(folder / "work")]
    with (folder / "log").open("wb") as log:
        done = subprocess.run(arguments, input=given.encode(), stdout=subprocess.PIPE, stderr=log, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


class Bridged:
    """The same over the bridge, with a scripted judge."""

    def __init__(self, command: WorkerCommand, jobs: list[Job], folder: Path) -> None:
        place(jobs, folder / "data")
        data = {"LMUData": str(folder / "data")}
        self._command, self._folder = command._replace(variables=data), folder
        self._worker: PeerWorker | None = None

    def run(self, job: Job, replies: list[str]) -> dict[str, Any]:
        """What the bridge shows and counts. Raises PeerFault, PeerLost."""
        if self._worker is None or not self._worker.is_alive:
            self._worker = PeerWorker(self._command, self._folder)
        call = self._worker.call
        options = {"judge": "yes" if job.judged else "no", "checksum": "off"}
        facts = call(TaskFacts, "open", task=job.task, options=options, folder=str(self._folder / "media"))
        samples = [call(SampleData, "sample", index=index) for index in range(facts.count)]
        records = []
        for index, reply in enumerate(replies):
            scored = call(SampleScore, "score", judge=_judge if job.judged else None, index=index, replies=[reply])
            records.append({"index": index, "replies": [reply], "state": scored.state})
        whole = call(Aggregated, "aggregate", judge=_judge if job.judged else None, records=records)
        return {
            "shown": [_shown(one) for one in samples],
            "metrics": {name: value for name, value in whole.metrics.items() if value is not None},
            "headline": whole.headline,
            "kinds": sorted({one.kind or "open" for one in samples}),
            "media": sorted({part.type for one in samples for message in one.messages for part in message.parts}),
            "pictures": max(sum(p.type != "text" for m in one.messages for p in m.parts) for one in samples),
        }

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()


def _judge(asked: JudgeQuestion) -> str:
    system = "".join(part.text for one in asked.messages if one.role == "system" for part in one.parts)
    said = "\n".join(p.text for one in asked.messages if one.role != "system" for p in one.parts if p.type == "text")
    return judge_reply(f"{system}\n{said}")


def _shown(sample: SampleData) -> list[list[str]]:
    """As `ScriptedModel` notes it."""
    return [
        [message.role, part.text] if part.type == "text" else [part.type, pixels(part.path)]
        for message in sample.messages
        for part in message.parts
    ]


def compare(alone: Mapping[str, Any], bridged: Mapping[str, Any]) -> str:
    """What differs first; "" if nothing does."""
    shown = [[["user" if kind == "text" else kind, text] for kind, text in row] for row in alone["shown"]]
    for index, (one, other) in enumerate(zip(shown, bridged["shown"], strict=True)):
        if one != other:
            return f"row {index} is shown otherwise: {one} and {other}"[:300]
    for name in sorted(set(alone["metrics"]) | set(bridged["metrics"])):
        if alone["metrics"].get(name) != bridged["metrics"].get(name):
            return f"{name} is {alone['metrics'].get(name)} alone and {bridged['metrics'].get(name)} over the bridge"
    same = alone["headline"] == bridged["headline"]
    return "" if same else f"the headline is {alone['headline']} alone and {bridged['headline']} over the bridge"


def prove(only: str = "") -> dict[str, dict[str, Any]]:
    """What came of every task."""
    command = worker_command("vlmevalkit", {})
    with tempfile.TemporaryDirectory(prefix="proof-") as temporary:
        root = Path(temporary)
        lister = PeerWorker(command, root / "list")
        names = {one["name"] for one in lister.call(dict[str, list[dict[str, Any]]], "tasks")["tasks"]}
        commit = lister.hello.commit
        lister.close()
        jobs = [job for job in find_jobs(names) if re.search(only, job.task)]
        table: dict[str, dict[str, Any]] = {}
        for turn, judged in enumerate((False, True)):
            todo = [
                job._replace(judged=judged) for job in jobs if table.get(job.task, {}).get("came", "judge") == "judge"
            ]
            if todo:
                table |= _prove_all(command, todo, root / str(turn))
        return {"commit": {"vlmevalkit": commit}, **dict(sorted(table.items()))}


def _prove_all(command: WorkerCommand, jobs: list[Job], folder: Path) -> dict[str, dict[str, Any]]:
    folder.mkdir()
    (folder / "alone").mkdir()
    alone = run_alone(command, jobs, folder / "alone")
    bridged = Bridged(command, jobs, folder / "bridged")
    table: dict[str, dict[str, Any]] = {}
    for job in jobs:
        line = table[job.task] = _prove_one(job, alone[job.task], bridged)
        print(job.task, line["came"], line.get("why", ""), file=sys.stderr, flush=True)
    bridged.close()
    return table


def _prove_one(job: Job, alone: Mapping[str, Any], bridged: Bridged) -> dict[str, Any]:
    try:
        over = bridged.run(job, alone.get("replies") or [])
    except (PeerFault, PeerLost) as error:
        kind = error.fault.kind if isinstance(error, PeerFault) else "lost"
        if kind == "judge" or ("error" in alone and not job.judged):
            return {"came": "judge"}
        if "error" in alone:
            return {"came": "broken there", "why": alone["error"], "bridge": f"{kind}: {error}"[:300]}
        return {"came": kind, "why": str(error)[:300]}
    if "error" in alone:
        return {"came": "judge"} if not job.judged else {"came": "broken there", "why": alone["error"]}
    why = compare(alone, over)
    facts = {key: over[key] for key in ("kinds", "media", "pictures")}
    counts = {"rows": len(over["shown"]), "numbers": len(over["metrics"]), "headline": over["headline"]}
    return {"came": "differs", "why": why} if why else {"came": "same", "judged": job.judged, **facts, **counts}


if __name__ == "__main__":
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    proven = prove(only)
    if not only:
        TABLE.write_bytes(msgspec.json.format(msgspec.json.encode(proven), indent=1) + b"\n")
    came = [one.get("came") for one in proven.values() if "came" in one]
    print({kind: came.count(kind) for kind in sorted(set(map(str, came)))})
