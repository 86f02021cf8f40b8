"""Runs the proof of the bridge to a tool: its tasks by the tool alone, then over the bridge."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tests.bridge.one_by_one import Bridged, compare

from snellen.bridge.benchmark import worker_command

HERE = Path(__file__).parent


class Proof(NamedTuple):
    """Of one tool."""

    peer: str
    judges: Mapping[str, Sequence[str]]
    """What a judge may say, by task."""
    options: Mapping[str, Mapping[str, str]] = {}
    """By task, where it has some."""

    @property
    def module(self) -> str:
        return self.peer.replace("-", "_")

    def run(self, only: str = "") -> None:
        """Prove the tasks whose names match, and write what came of each to `proof_TOOL.json`."""
        table = HERE / f"proof_{self.module}.json"
        with tempfile.TemporaryDirectory(prefix="proof-") as temporary:
            proven = self.prove([task for task in self.judges if re.search(only, task)], Path(temporary))
        kept = json.loads(table.read_bytes()) if only and table.is_file() else {}
        table.write_bytes(msgspec.json.format(msgspec.json.encode({**kept, **proven}), indent=1) + b"\n")
        came = [one["came"] for name, one in proven.items() if name != "version"]
        print({kind: came.count(kind) for kind in sorted(set(came))})

    def prove(self, tasks: list[str], root: Path) -> dict[str, Any]:
        """What came of every task."""
        command = worker_command(self.peer, {})
        script = HERE / f"alone_{self.module}.py"
        arguments = [command.python, script, root / "home", root / "work", command.settings.get("checkout", "")]
        with (root / "log").open("wb") as log:
            done = subprocess.run(
                arguments, input=json.dumps(tasks).encode(), stdout=subprocess.PIPE, stderr=log, check=True
            )
        alone = json.loads(done.stdout.splitlines()[-1])
        bridged = Bridged(command._replace(settings={**command.settings, "data": str(root / "home")}), root / "bridged")
        table = {}
        for task in tasks:
            table[task] = compare(alone[task], bridged, task, self.judges[task], self.options.get(task))
            print(task, table[task]["came"], table[task].get("why", ""), file=sys.stderr, flush=True)
        version = bridged.version()
        bridged.close()
        return {"version": version, **dict(sorted(table.items()))}
