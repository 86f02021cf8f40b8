"""Pairs of formulas that the authors' CDM has judged: how they are judged again, and stored.

    python -m tests.differential.formula_set NAME [--write]

NAME is `cdm`, or `cdm_omnidocbench` for the older copy that OmniDocBench has. Wants what `oracles/cdm.py` names;
`SNELLEN_CHECKOUTS` and `SNELLEN_ORACLE_PYTHON` are as for other sets. The stored sets have their own folder,
since their replies are formulas and no benchmark's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.differential.__main__ import judge
from tests.differential.sets import Case, Oracle, Spec, read_set, write_set
from tests.differential.styles_formulas import formula_pairs

FOLDER = Path(__file__).with_name("formulas")
Pairs = Callable[[], Iterable[Case]]
_FIRST = 42


def cases() -> Iterator[Case]:
    """A case for each pair, whose one cell is the gold formula."""
    for pair in formula_pairs():
        yield Case(pair.id, {"gold": pair.gold}, pair.style, pair.reply)


def first_cases() -> Iterator[Case]:
    """Those of the first formulas, without Chinese, which the older copy sets in a font of its own."""
    return (case for case in cases() if int(case.id.partition("-")[0]) < _FIRST)


def _spec(name: str, repository: str, commit: str, checkout: str, folder: str, cases: Pairs = cases) -> Spec:
    return Spec(
        name=f"{name}.authors",
        benchmark="",
        rule=name,
        oracle=Oracle("cdm", repository, commit, "Apache-2.0", checkout),
        path=f"{folder}/evaluation.py, evaluation",
        arguments={"folder": f"{checkout}/{folder}"},
        cases=cases,
        metrics={"cdm": "F1"},
    )


SPECS = (
    _spec("cdm", "opendatalab/UniMERNet", "5a2c80d96b1d2dba447ff18d873e5fb73ba03c35", "UniMERNet", "cdm"),
    _spec(
        *("cdm_omnidocbench", "pichiu/OmniDocBench", "7bd6c2ebdb7676e6fd251b0e695e15e09cf3ab5d"),
        *("OmniDocBench-1.5", "metrics/cdm"),
        first_cases,
    ),
)


def main() -> int:
    """Judge the pairs; exit code 1 where a stored verdict is not repeated."""
    spec = next(spec for spec in SPECS if spec.rule == sys.argv[1])
    verdicts = judge(spec.oracle.script, [spec])[0]
    if "--write" in sys.argv:
        print(write_set(spec, spec.cases(), verdicts, FOLDER))
        return 0
    stored = {row.case.id: row.credit for row in read_set(FOLDER / f"{spec.name}.jsonl.gz").rows}
    changed = [name for name, credit in stored.items() if verdicts["credits"].get(name) != credit]
    print(f"{len(stored) - len(changed)} of {len(stored)} verdicts repeated", *changed)
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
