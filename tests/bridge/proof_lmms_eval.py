"""The proof of the bridge to lmms-eval: its tasks over it, against lmms-eval alone.

    SNELLEN_LMMS_EVAL_CHECKOUT=DIR SNELLEN_LMMS_EVAL_PYTHON=PATH python -m tests.bridge.proof_lmms_eval

Made-up rows (lmms_eval_rows.py) lie in the cache in which its loader looks; its own `simple_evaluate`
asks a scripted chat model (alone_lmms_eval.py), and the bridge gets the same replies. Prompts must be
the same to the byte, pictures to the pixel, sound and videos to the bit, numbers to the digit. What
came of each task is written to `proof_lmms_eval.json`.
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
from tests.bridge.lmms_eval_rows import TASKS
from tests.bridge.one_by_one import Bridged, compare

from snellen.bridge.benchmark import worker_command

ALONE = Path(__file__).with_name("alone_lmms_eval.py")
TABLE = Path(__file__).with_name("proof_lmms_eval.json")


def prove(tasks: list[str], root: Path) -> dict[str, Any]:
    """What came of every task."""
    command = worker_command("lmms-eval", {})
    arguments = [command.python, str(ALONE), command.settings["checkout"], str(root / "home"), str(root / "work")]
    with (root / "log").open("wb") as log:
        done = subprocess.run(
            arguments, input=json.dumps(tasks).encode(), stdout=subprocess.PIPE, stderr=log, check=True
        )
    (root / "alone.json").write_bytes(done.stdout.splitlines()[-1])
    alone = json.loads((root / "alone.json").read_bytes())
    bridged = Bridged(command._replace(settings={**command.settings, "data": str(root / "home")}), root / "bridged")
    table = {}
    for task in tasks:
        table[task] = compare(alone[task], bridged, task, TASKS[task].judge)
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
