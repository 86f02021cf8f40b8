"""The proof of the bridge to lmms-eval: its tasks over it, against lmms-eval alone.

    SNELLEN_LMMS_EVAL_CHECKOUT=DIR SNELLEN_LMMS_EVAL_PYTHON=PATH python -m tests.bridge.proof_lmms_eval [REGEX]

Made-up rows (lmms_eval_rows.py) lie in the cache in which its loader looks; its own `simple_evaluate`
asks a scripted chat model (alone_lmms_eval.py), and the bridge gets the same replies. Prompts must be
the same to the byte, pictures to the pixel, sound and videos to the bit, numbers to the digit. What
came of each task is written to `proof_lmms_eval.json`.

Not proven: tasks that need log-likelihoods, drawn pictures or parts of videos (the bridge says so), and
several replies to one question, of which the bridge asks one and says that.
"""

import sys

from tests.bridge.lmms_eval_rows import TASKS
from tests.bridge.prove_tasks import Proof

PROOF = Proof("lmms-eval", {name: made.judge for name, made in TASKS.items()})

if __name__ == "__main__":
    PROOF.run(*sys.argv[1:])
