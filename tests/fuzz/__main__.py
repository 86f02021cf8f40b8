"""Fuzzes the readers for a while and adds up what was tried.

    python -m tests.fuzz [--seconds 60] [--corpus fuzz-corpus] [NAME ...]

Each target runs in a process of its own, for `--seconds`; the corpus grows from run to run, and
`counts.json` in it says how many inputs each target has been given in all of them. Exit code 1
where an input broke a property; it lies in the folder NAME.broken, and `--again FILE` reads it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from tests.fuzz.target import check
from tests.fuzz.targets import TARGETS

_TRIED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets; default all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target; default 60")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"))
    parser.add_argument("--again", type=Path, help="read one file of NAME.broken once more")
    arguments = parser.parse_args()
    names = arguments.names or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no such target: {', '.join(unknown)}; known: {', '.join(TARGETS)}")
    if arguments.again:
        check(TARGETS[names[0]], arguments.again.read_bytes())
        return 0
    arguments.corpus.mkdir(parents=True, exist_ok=True)
    return max(_fuzz(name, arguments.corpus, arguments.seconds) for name in names)


def _fuzz(name: str, corpus: Path, seconds: int) -> int:
    command = [sys.executable, "-m", "tests.fuzz.one", name, str(corpus), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    found = _TRIED.search(done.stderr)
    tried = int(found[1]) if found else 0
    counts_file = corpus / "counts.json"
    counts = json.loads(counts_file.read_text()) if counts_file.exists() else {}
    counts[name] = counts.get(name, 0) + tried
    counts_file.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    broken = len(list((corpus / f"{name}.broken").glob("*")))
    print(
        f"{name:<22} {tried:>9,} inputs, {counts[name]:>11,} in all; {broken} broke a property",
        flush=True,
    )
    if done.returncode or not found:
        print("\n".join(done.stderr.splitlines()[-25:]), file=sys.stderr)
    return 1 if done.returncode or not found else 0


if __name__ == "__main__":
    sys.exit(main())
