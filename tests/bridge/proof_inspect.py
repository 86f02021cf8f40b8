"""The proof of the bridge to inspect_evals: its tasks over it, against `inspect_ai.eval` alone.

    SNELLEN_INSPECT_PYTHON=PATH python -m tests.bridge.proof_inspect

As proof_lmms_eval.py, with rows of inspect_rows.py and alone_inspect.py. Tasks shuffle their rows;
they are matched by the ids of the samples. What came of each is written to `proof_inspect.json`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from tests.bridge.one_by_one import Bridged, compare

from snellen.bridge.benchmark import worker_command

sys.path.insert(0, str(Path(__file__).parent))

from inspect_rows import TASKS

ALONE = Path(__file__).with_name("alone_inspect.py")
TABLE = Path(__file__).with_name("proof_inspect.json")


def prove(tasks: list[str], root: Path) -> dict[str, Any]:
    """What came of every task."""
    command = worker_command("inspect", {})
    with (root / "log").open("wb") as log:
        arguments = [command.python, str(ALONE), str(root / "home")]
        done = subprocess.run(
            arguments, input=json.dumps(tasks).encode(), stdout=subprocess.PIPE, stderr=log, check=True
        )
    (root / "alone.json").write_bytes(done.stdout.splitlines()[-1])
    alone = json.loads((root / "alone.json").read_bytes())
    bridged = Bridged(command._replace(settings={**command.settings, "data": str(root / "home")}), root / "bridged")
    table = {}
    for task in tasks:
        options = {name: json.dumps(value) for name, value in TASKS[task].options.items()}
        table[task] = compare(alone[task], bridged, task, TASKS[task].judge, options)
        print(task, table[task]["came"], table[task].get("why", ""), file=sys.stderr, flush=True)
    version = bridged.version()
    bridged.close()
    return {"version": version, **dict(sorted(table.items()))}


def main(only: str = "") -> None:
    with tempfile.TemporaryDirectory(prefix="proof-") as temporary:
        proven = prove([task for task in TASKS if re.search(only, task)], Path(temporary))
    kept = json.loads(TABLE.read_bytes()) if only and TABLE.is_file() else {}
    TABLE.write_bytes(msgspec.json.format(msgspec.json.encode({**kept, **proven}), indent=1) + b"\n")
    came = [one["came"] for name, one in proven.items() if name != "version"]
    print({kind: came.count(kind) for kind in sorted(set(came))})


if __name__ == "__main__":
    main(*sys.argv[1:])
