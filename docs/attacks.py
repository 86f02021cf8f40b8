"""Write docs/data/attacks.json and the table of docs/attacks.md: `python docs/attacks.py`.

Runs every test that is marked `attack("what is done", "what is promised")`. docs/generate.py makes
the page from the file, and refuses a file that lacks a marked test or has one too many.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data" / "attacks.json"
KILLS = ROOT / "docs" / "data" / "kills.json"
COUNTS = ROOT / "tests" / "fuzz" / "counts.json"
_KIND_OF = {"replies": "replies", "provider": "answers of servers", "picture": "images"}
NOTE = "<!-- Written by docs/attacks.py and docs/generate.py. Mark a test, then run both. -->"
HEAD = (
    "What hostile input, broken servers and bad days do, what Snellen promises then, and the test "
    "that tries it. A test may try many cases; a failing one fails the build, so a row that does "
    "not hold is never released."
)


class Attack(NamedTuple):
    test: str
    """File, and name of the test."""
    attack: str
    promise: str


def marked() -> Iterator[Attack]:
    """The marked tests, from their source."""
    homes = (ROOT / "tests", *(ROOT / "packages").glob("*/tests"))
    for path in sorted(path for home in homes for path in home.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.attack" not in text:
            continue
        for node in ast.parse(text).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.attack":
                    what, promise = (ast.literal_eval(one) for one in decorator.args)
                    name = f"{path.relative_to(ROOT).as_posix()}::{node.name}"
                    yield Attack(name, what, promise)


def page() -> str:
    """The page. Raises SystemExit where the file of results is not of today's tests."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    known = {Attack(row["test"], row["attack"], row["promise"]) for row in rows}
    if known != set(marked()):
        other = sorted(one.test for one in known ^ set(marked()))
        raise SystemExit(
            f"docs/data/attacks.json is not of today's tests ({', '.join(other)}); run python docs/attacks.py"
        )
    lines = ["# Attacks", "", NOTE, "", HEAD]
    cases = sum(row["cases"] for row in rows)
    held = sum(row["held"] for row in rows)
    lines += [f"{len(rows)} attacks, {cases} cases, {held} held.", ""]
    lines += ["| attack | promise | cases | held | test |", "| --- | --- | ---: | ---: | --- |"]
    for row in sorted(rows, key=lambda row: (row["test"].split("/")[1], row["attack"])):
        name = row["test"].removeprefix("tests/").replace("::", " ").replace("_", "\\_")
        lines.append(f"| {row['attack']} | {row['promise']} | {row['cases']} | {row['held']} | {name} |")
    return "\n".join([*lines, "", *_kills(), "", *_fuzzing(), ""])


def _kills() -> list[str]:
    """Replies asked for twice over a hundred kills, as `SNELLEN_DRILL_KEEP=1` stored them."""
    rows = json.loads(KILLS.read_text(encoding="utf-8"))
    kills, sent, twice = (sum(row[key] for row in rows) for key in ("kills", "sent", "asked_twice"))
    lines = [
        "## Kills",
        "",
        f"{kills} runs were ended by `kill -9` at random moments and started again. Of {sent:,} "
        f"requests {twice} were for a reply that had been asked for before: those in flight.",
        "",
        "| run | kills | requests sent | asked twice | in flight at most |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        counts = (row["kills"], row["sent"], row["asked_twice"], row["most_in_flight"])
        lines.append(f"| {row['kind']} | {' | '.join(f'{count:,}' for count in counts)} |")
    return lines


def _fuzzing() -> list[str]:
    """Examples that `make fuzz` and `python -m tests.fuzz --keep` gave to the readers."""
    counts = json.loads(COUNTS.read_text(encoding="utf-8"))
    kinds: dict[str, list[int]] = {}
    for name, count in counts.items():
        total = kinds.setdefault(_KIND_OF.get(name.split("-")[0], "files of users"), [0, 0])
        total[0] += count["examples"]
        total[1] += count["seconds"]
    examples, seconds = (sum(total[place] for total in kinds.values()) for place in (0, 1))
    return [
        "## Fuzzing",
        "",
        f"{examples:,} examples in {seconds / 60:,.0f} minutes of processor time (coverage-guided, "
        "atheris): none gave a traceback, took more than its time, or was read in two ways.",
        "",
        "| readers of | examples | minutes |",
        "| --- | ---: | ---: |",
        *(f"| {kind} | {total[0]:,} | {total[1] / 60:,.0f} |" for kind, total in sorted(kinds.items())),
    ]


def main() -> int:
    command = ["-m", "pytest", "-m", "attack or (attack and release)", "--attacks", str(DATA)]
    done = subprocess.run([sys.executable, *command, *sys.argv[1:]], cwd=ROOT, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
