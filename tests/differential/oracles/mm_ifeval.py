"""VLMEvalKit's own evaluation of MM-IFEval; its judge says what the rows have for its words.

Run as `vlmevalkit_judged.py` is, whose parts it uses. Two things are put back that this commit
lacks: the functions that check constraints by rules, which its module of the benchmark no longer
imports, from its own `utils/mmif`; and NLTK's model of English sentences, in whose place NLTK's
algorithm runs without a list of abbreviations. Arguments of a job:

    steps     patterns of what a judge is asked, as in `vlmevalkit_judged.py`
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import stand_ins
import vlmevalkit as base
import vlmevalkit_judged as judged
import vlmevalkit_open as opened

NAME, JUDGE = "MM-IFEval", "gpt-4-turbo"


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    rows = job["rows"]
    judged._words.clear()
    judged._words.update({row["id"]: row["verdict"] for row in rows})
    judged._steps[:] = map(re.compile, job["arguments"]["steps"])
    credits, _ = _evaluate(rows)
    _, numbers = _evaluate([row for row in rows if not row["apart"]])
    return {"credits": credits, "metrics": numbers}


def _evaluate(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """The score of each question by its row, and the numbers of all, in percent."""
    table = opened._table(rows)
    dataset = base._dataset(NAME, table)
    module = importlib.import_module("vlmeval.dataset.mmifeval")
    module.MMIFEval = lambda name: SimpleNamespace(data=table.assign(image=""))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model_{NAME}.xlsx"
        table.to_excel(file, index=False, engine="xlsxwriter")
        returned = dataset.evaluate(str(file), model=JUDGE, nproc=1)
        [kept] = Path(folder).rglob("*.jsonl")
        lines = [json.loads(line) for line in kept.read_text().splitlines()]
    credits = {str(line["index"]): line["eval_score_dict"].get("total_score", 0) for line in lines}
    return credits, {key: 100 * value for key, value in base._numbers(returned)}


def _put_back_checks() -> None:
    import nltk
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    nltk.sent_tokenize = PunktSentenceTokenizer().tokenize
    module = importlib.import_module("vlmeval.dataset.mmifeval")
    checks = importlib.import_module("vlmeval.dataset.utils.mmif.function_and_compare")
    for name in dir(checks):
        if name.startswith("check_"):
            setattr(module, name, getattr(checks, name))


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as data:
        os.environ["LMUData"] = data  # noqa: SIM112 - its name there
        stand_ins.install(*base.HEAVY)
        sys.path.insert(0, str(base.CHECKOUT))
        import vlmeval.api
        import vlmeval.dataset

        _put_back_checks()
        stand_ins.seal()
        vlmeval.api.OpenAIWrapper = judged.Scripted
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
