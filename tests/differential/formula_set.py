"""Pairs of formulas that the authors' CDM has judged: how they are judged again, and stored.

    python -m tests.differential.formula_set [--write]

Wants what `oracles/cdm.py` names; `SNELLEN_CHECKOUTS` and `SNELLEN_ORACLE_PYTHON` are as for other sets.
The stored set has its own folder, since its replies are formulas and no benchmark's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.differential.__main__ import judge
from tests.differential.sets import Case, Oracle, Spec, read_set, write_set
from tests.differential.styles_formulas import formula_pairs

FOLDER = Path(__file__).with_name("formulas")
STORED = FOLDER / "cdm.authors.jsonl.gz"


def cases() -> Iterator[Case]:
    """A case for each pair, whose one cell is the gold formula."""
    for pair in formula_pairs():
        yield Case(pair.id, {"gold": pair.gold}, pair.style, pair.reply)


SPEC = Spec(
    name="cdm.authors",
    benchmark="",
    rule="cdm",
    oracle=Oracle(
        script="cdm",
        repository="opendatalab/UniMERNet",
        commit="5a2c80d96b1d2dba447ff18d873e5fb73ba03c35",
        licence="Apache-2.0",
        checkout="UniMERNet",
    ),
    path="cdm/evaluation.py, evaluation",
    cases=cases,
    metrics={"cdm": "F1"},
)


def main() -> int:
    """Judge the pairs; exit code 1 where a stored verdict is not repeated."""
    verdicts = judge(SPEC.oracle.script, [SPEC])[0]
    if "--write" in sys.argv:
        print(write_set(SPEC, cases(), verdicts, FOLDER))
        return 0
    stored = {row.case.id: row.credit for row in read_set(STORED).rows}
    changed = [name for name, credit in stored.items() if verdicts["credits"].get(name) != credit]
    print(f"{len(stored) - len(changed)} of {len(stored)} verdicts repeated", *changed)
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
