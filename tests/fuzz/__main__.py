"""Fuzzes the readers for a while and adds up what was tried.

    python -m tests.fuzz [--seconds 60] [--corpus fuzz-corpus] [--keep] [NAME ...]

Each target runs in a process of its own, for `--seconds`; the corpus grows from run to run, and
`counts.json` in it says how many inputs each target has been given in all of them, which `--keep`
adds to tests/fuzz/counts.json too. Exit code 1
where an input broke a property; it lies in the folder NAME.broken, and `--again FILE` reads it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.target import check
from tests.fuzz.targets import TARGETS

KEPT = Path(__file__).with_name("counts.json")
"""The counts of all runs that were kept, which are part of the repository."""
_TRIED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets; default all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target; default 60")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"))
    parser.add_argument("--again", type=Path, help="read one file of NAME.broken once more")
    parser.add_argument("--keep", action="store_true", help=f"also add the counts to {KEPT.name}")
    arguments = parser.parse_args()
    names = arguments.names or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no such target: {', '.join(unknown)}; known: {', '.join(TARGETS)}")
    if arguments.again:
        check(TARGETS[names[0]], arguments.again.read_bytes())
        return 0
    arguments.corpus.mkdir(parents=True, exist_ok=True)
    return max(_fuzz(name, arguments.corpus, arguments.seconds, arguments.keep) for name in names)


def _fuzz(name: str, corpus: Path, seconds: int, keep: bool) -> int:
    command = [sys.executable, "-m", "tests.fuzz.one", name, str(corpus), str(seconds)]
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    found = _TRIED.search(done.stderr)
    tried = int(found[1]) if found else 0
    total = _added(corpus / "counts.json", name, tried, spent)
    if keep:
        _added(KEPT, name, tried, spent)
    broken = len(list((corpus / f"{name}.broken").glob("*")))
    print(
        f"{name:<27} {tried:>9,} inputs, {total.examples:>11,} examples in all; {broken} broke a property", flush=True
    )
    if done.returncode or not found:
        print("\n".join(done.stderr.splitlines()[-25:]), file=sys.stderr)
    return 1 if done.returncode or not found else 0


class Count(NamedTuple):
    """What a target has been given in all runs."""

    inputs: int = 0
    examples: int = 0
    """Inputs times the functions that read each: one text for one function."""
    seconds: int = 0
    """Time of the processor."""
    date: str = ""
    """Of the last run."""


def _added(file: Path, name: str, tried: int, seconds: float) -> Count:
    counts = json.loads(file.read_text()) if file.exists() else {}
    old = Count(**counts.get(name, {}))
    new = Count(
        old.inputs + tried,
        old.examples + tried * TARGETS[name].functions,
        old.seconds + round(seconds),
        time.strftime("%Y-%m-%d", time.gmtime()),
    )
    counts[name] = new._asdict()
    file.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    return new


if __name__ == "__main__":
    sys.exit(main())
