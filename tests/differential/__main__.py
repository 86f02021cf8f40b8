"""Judge sets of replies by other people's scorers, given their checkouts.

    python -m tests.differential                 judge anew, and compare with the stored verdicts
    python -m tests.differential --write [NAME]  store the verdicts, of the stored seeds
    python -m tests.differential --rows [NAME]   rows where Snellen differs from the stored
    python -m tests.differential --headlines     the headline of each set, theirs beside ours
    python -m tests.differential --seed 7 [NAME] draw other hostile replies (`hostile.py`), have
                                                 both sides judge them, and name what differs;
                                                 with --write: store these

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
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.differential.compare import (
    compare,
    explanations_of,
    headline_differs,
    headline_row,
    unexplained,
    without_promise,
)
from tests.differential.hostile import as_stored, drawn
from tests.differential.sets import (
    CLOSE,
    FOLDER,
    JudgedSet,
    Spec,
    all_sets,
    headline_of,
    judged_set,
    read_set,
    write_set,
)

HERE = Path(__file__).parent
_SHOWN = 200


def all_specs() -> Iterator[Spec]:
    for path in sorted((HERE / "specs").glob("*.py")):
        if path.stem != "__init__":
            yield from importlib.import_module(f"tests.differential.specs.{path.stem}").SPECS


def _drawn(spec: Spec, seed: int | None) -> Spec:
    """With the hostile cases of the seed; by default those that are stored, if any are."""
    if seed is not None:
        return drawn(spec, seed, datetime.now(tz=UTC).date().isoformat())
    path = FOLDER / f"{spec.name}.jsonl.gz"
    return as_stored(spec, read_set(path)) if path.exists() else spec


class NotJudged(Exception):
    """The scorer's process failed; the text is the end of what it said."""


def judge(script: str, specs: Sequence[Spec], left_out: Collection[str] = ()) -> list[dict[str, Any]]:
    """Verdicts of one scorer over several sets, in one process of its own. Rows that the file of
    predictions lacks are given, marked, to scorers that take account of them (`missing`)."""
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
                    **({"missing": True} if case.missing else {}),
                }
                for case in spec.cases()
                if case.id not in left_out and (not case.missing or "missing" in spec.arguments)
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
    parser.add_argument("--headlines", action="store_true", help="table of the headlines")
    parser.add_argument("--seed", type=int, help="draw the hostile replies by another seed")
    arguments = parser.parse_args()
    if arguments.headlines:
        _print_headlines(arguments.names)
        return 0
    if arguments.rows:
        for path in all_sets():
            if not arguments.names or path.name.removesuffix(".jsonl.gz") in arguments.names:
                _print_rows(read_set(path))
        return 0
    checkouts = os.environ.get("SNELLEN_CHECKOUTS")
    if not checkouts:
        parser.error("SNELLEN_CHECKOUTS names no folder: where are the checkouts?")
    specs = [
        _drawn(spec, arguments.seed) for spec in all_specs() if not arguments.names or spec.name in arguments.names
    ]
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
            verdicts = _without_differences(spec, verdicts)
            if arguments.write:
                write_set(spec, list(spec.cases()), verdicts)
                print(f"{spec.name}: {len(verdicts['credits'])} verdicts stored")
            elif arguments.seed is None:
                changed += _repeated(spec, verdicts)
            else:
                changed += _print_rows(judged_set(spec, spec.cases(), verdicts))
    return int(changed > 0)


def _judged(script: str, specs: Sequence[Spec]) -> Iterator[tuple[Spec, dict[str, Any] | NotJudged]]:
    """All sets in one process; one by one where that fails, so that each says its own reason."""
    try:
        yield from zip(specs, judge(script, specs) if specs else (), strict=True)
    except NotJudged as error:
        if len(specs) == 1:
            yield specs[0], error
            return
        for spec in specs:
            yield from _judged(script, [spec])


def _without_differences(spec: Spec, verdicts: Mapping[str, Any]) -> dict[str, Any]:
    """The verdicts, with the numbers over the rows whose verdicts are the same on both sides or
    differ without an explanation."""
    left_out = {case.id for case in spec.cases() if spec.apart and case.style.startswith(spec.apart)}
    left_out |= set(verdicts.get("left_out", ()))
    judged = judged_set(spec, list(spec.cases()), verdicts)
    with tempfile.TemporaryDirectory() as folder:
        comparison = compare(judged, Path(folder))
    open_rows = unexplained(judged, comparison, explanations_of(spec.name))
    explained = without_promise(judged, comparison) - open_rows.keys() - left_out
    if explained:
        [again] = judge(spec.oracle.script, [spec], left_out | explained)
        numbers = {key: again[key] for key in ("metrics", "headline") if key in again}
        verdicts = {**verdicts, **numbers}
    return {**verdicts, "left_out": sorted(left_out | explained)}


def _repeated(spec: Spec, verdicts: dict[str, Any]) -> int:
    """How many stored verdicts the scorer does not repeat; prints one line."""
    stored = read_set(FOLDER / f"{spec.name}.jsonl.gz")
    credits = verdicts["credits"]
    other = [row.case.id for row in stored.rows if row.credit != credits.get(row.case.id)]
    print(f"{spec.name}: {len(stored.rows) - len(other)} of {len(stored.rows)} repeated")
    now = headline_of(spec, verdicts)
    if stored.headline is None:
        if now is not None:
            print(f"  headline {now}, none is stored to compare it with")
        return len(other)
    same = now is not None and stored.headline.name == now.name and abs(stored.headline.value - now.value) < CLOSE
    if not same:
        print(f"  headline {now}, stored {stored.headline}")
    return len(other) + (not same)


def _print_headlines(names: Collection[str]) -> None:
    """A table in Markdown of the sets that store a headline, with their failed, missing and empty
    replies."""
    print("| set | replies | failed | missing | empty | theirs | | ours | | same |")
    print("| --- | ---: | ---: | ---: | ---: | --- | ---: | --- | ---: | --- |")
    for judged in map(read_set, all_sets()):
        if judged.headline is None or (names and judged.name not in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            comparison = compare(judged, Path(folder))
        row = headline_row(judged, comparison)
        same = "no" if headline_differs(judged, comparison) else "yes"
        counts = " | ".join(str(row[key]) for key in ("set", "replies", "failed", "missing", "empty"))
        theirs = judged.headline.name.replace("|", r"\|")
        print(f"| {counts} | {theirs} | {row['theirs']:.4f} | {row['metric']} | {row['ours']:.4f} | {same} |")


def _print_rows(judged: JudgedSet) -> int:
    """How many differences about a set are not explained; prints them."""
    with tempfile.TemporaryDirectory() as folder:
        comparison = compare(judged, Path(folder))
    open_rows = unexplained(judged, comparison, explanations_of(judged.name))
    print(
        f"{judged.name}: {comparison.compared - len(comparison.differing)} of "
        f"{comparison.compared} agree, {len(open_rows)} not explained; {comparison.metrics}"
    )
    if headline := headline_differs(judged, comparison):
        print(f"  headline: {headline}")
    for row in judged.rows:
        if row.case.id in open_rows:
            ours, theirs = open_rows[row.case.id]
            case = row.case
            print(f"  {case.id} [{case.style}] {_short(case.reply)} ours {ours} theirs {theirs}")
    return len(open_rows) + bool(headline)


def _short(reply: str) -> str:
    shown = repr(reply)
    return shown if len(shown) <= _SHOWN else f"{shown[:60]} … {shown[-90:]} ({len(reply)})"


if __name__ == "__main__":
    sys.exit(main())
