"""The proof of the bridge to inspect_evals: its tasks over it, against `inspect_ai.eval` alone.

    SNELLEN_INSPECT_PYTHON=PATH python -m tests.bridge.proof_inspect [REGEX]

As proof_lmms_eval.py, with rows of inspect_rows.py and alone_inspect.py. Tasks shuffle their rows; they
are matched by the ids of the samples. What came of each is written to `proof_inspect.json`.

Not proven: tasks that need tools or a sandbox, and those whose data come from an address (the bridge
says so); several replies to one question, of which the bridge asks one and says that; scorers that have
the measured model itself grade, such as that of frontierscience's research questions: over the bridge
the judge grades.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from inspect_rows import TASKS
from tests.bridge.prove_tasks import Proof

PROOF = Proof(
    "inspect",
    {name: task.judge for name, task in TASKS.items()},
    {name: {key: json.dumps(value) for key, value in task.options.items()} for name, task in TASKS.items()},
)

if __name__ == "__main__":
    PROOF.run(*sys.argv[1:])
