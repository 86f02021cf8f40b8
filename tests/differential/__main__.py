"""Judge sets of replies by other people's scorers, given their checkouts.

    python -m tests.differential                 judge anew, and compare with the stored verdicts
    python -m tests.differential --write [NAME]  store the verdicts
    python -m tests.differential --rows [NAME]   rows where Snellen differs from the stored

`SNELLEN_CHECKOUTS` names the folder that holds the checkouts, one folder each as `oracle_list.py`
calls them; `SNELLEN_ORACLE_PYTHON` a Python in which their light dependencies are installed
(default: this one). Exit code 1 where a stored verdict is not repeated, or a scorer fails. The
set `mathvision.authors` wants `latex2sympy2`, whose ANTLR is older than that of the others: give it
a Python of its own. The sets of `vcr-wiki` want spaCy and NLTK, and no model of theirs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.differential.compare import compare, explanations_of, unexplained
from tests.differential.sets import FOLDER, Spec, all_sets, read_set, write_set

HERE = Path(__file__).parent


def all_specs() -> Iterator[Spec]:
    for path in sorted((HERE / "specs").glob("*.py")):
        if path.stem != "__init__":
            yield from importlib.import_module(f"tests.differential.specs.{path.stem}").SPECS


class NotJudged(Exception):
    """The scorer's process failed; the text is the end of what it said."""


def judge(script: str, specs: Sequence[Spec]) -> list[dict[str, Any]]:
    """Verdicts of one scorer over several sets, in one process of its own."""
    jobs = [
        {
            "arguments": dict(spec.arguments),
            "rows": [
                {
                    "id": case.id,
                    "cells": dict(case.cells),
                    "reply": case.reply,
                    "verdict": case.verdict,
                    "apart": bool(spec.apart) and case.style.startswith(spec.apart),
                }
                for case in spec.cases()
            ],
        }
        for spec in specs
    ]
    python = os.environ.get("SNELLEN_ORACLE_PYTHON", sys.executable)
    done = subprocess.run(
        [python, str(HERE / "oracles" / f"{script}.py")],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotJudged(done.stderr.strip()[-2000:] or f"exit code {done.returncode}")
    verdicts: list[dict[str, Any]] = json.loads(done.stdout)
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("names", nargs="*", metavar="NAME", help="sets; default: all")
    parser.add_argument("--write", action="store_true", help="store the verdicts")
    parser.add_argument("--rows", action="store_true", help="rows that differ from the stored")
    arguments = parser.parse_args()
    if arguments.rows:
        for path in all_sets():
            if not arguments.names or path.name.removesuffix(".jsonl.gz") in arguments.names:
                _print_rows(path)
        return 0
    checkouts = os.environ.get("SNELLEN_CHECKOUTS")
    if not checkouts:
        parser.error("SNELLEN_CHECKOUTS names no folder: where are the checkouts?")
    specs = [spec for spec in all_specs() if not arguments.names or spec.name in arguments.names]
    unknown = set(arguments.names) - {spec.name for spec in specs}
    if unknown:
        parser.error(f"no set is called {', '.join(sorted(unknown))}")
    scripts = sorted({spec.oracle.script for spec in specs})
    changed = 0
    for script in scripts:
        of_script = [spec for spec in specs if spec.oracle.script == script]
        missing = [s for s in of_script if not (Path(checkouts) / s.oracle.checkout).is_dir()]
        for spec in missing:
            print(f"{spec.name}: not judged, no checkout {spec.oracle.checkout}")
        present = [spec for spec in of_script if spec not in missing]
        for spec, verdicts in _judged(script, present):
            if isinstance(verdicts, NotJudged):
                print(f"{spec.name}: not judged: {verdicts}")
                changed += 1
                continue
            if arguments.write:
                write_set(spec, list(spec.cases()), verdicts)
                print(f"{spec.name}: {len(verdicts['credits'])} verdicts stored")
            else:
                changed += _repeated(spec, verdicts)
    return int(changed > 0)


def _judged(
    script: str, specs: Sequence[Spec]
) -> Iterator[tuple[Spec, dict[str, Any] | NotJudged]]:
    """All sets in one process; one by one where that fails, so that each says its own reason."""
    try:
        yield from zip(specs, judge(script, specs) if specs else (), strict=True)
    except NotJudged as error:
        if len(specs) == 1:
            yield specs[0], error
            return
        for spec in specs:
            yield from _judged(script, [spec])


def _repeated(spec: Spec, verdicts: dict[str, Any]) -> int:
    """How many stored verdicts the scorer does not repeat; prints one line."""
    stored = read_set(FOLDER / f"{spec.name}.jsonl.gz")
    credits = verdicts["credits"]
    other = [row.case.id for row in stored.rows if row.credit != credits.get(row.case.id)]
    print(f"{spec.name}: {len(stored.rows) - len(other)} of {len(stored.rows)} repeated")
    return len(other)


def _print_rows(path: Path) -> None:
    judged = read_set(path)
    with tempfile.TemporaryDirectory() as folder:
        comparison = compare(judged, Path(folder))
    open_rows = unexplained(judged, comparison, explanations_of(judged.name))
    print(
        f"{judged.name}: {comparison.compared - len(comparison.differing)} of "
        f"{comparison.compared} agree, {len(open_rows)} not explained; {comparison.metrics}"
    )
    for row in judged.rows:
        if row.case.id in open_rows:
            ours, theirs = open_rows[row.case.id]
            case = row.case
            print(f"  {case.id} [{case.style}] {case.reply!r} ours {ours} theirs {theirs}")


if __name__ == "__main__":
    sys.exit(main())
