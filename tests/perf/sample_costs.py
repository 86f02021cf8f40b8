"""What a sample costs each command, in counts that no busy machine changes.

`python tests/perf/sample_costs.py` prints, as JSON, for each command: Python calls, SQL statements,
calls of fsync by Python and bytes written for each further sample. Each is the difference of two
sizes, so that the start and everything else that is done once drops out; for `leaderboard`, of
two numbers of run folders. `python
tests/perf/sample_costs.py modules COMMAND...` prints how many modules a command of its own process
imports: Snellen's and others'.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.perf.counting import Counts, count_modules
from benchmarks.perf.remote import server, write_pictures
from benchmarks.perf.samples_file import MODEL, write_samples

SIZES = (60, 260)
WARM_UP = 40
RUNS = (3, 10, 30)
"""Run folders of a leaderboard; the first is a warm-up."""


def commands(folder: Path, count: int) -> dict[str, list[str]]:
    """Command lines over `count` samples, in the order in which they need each other."""
    data, out = str(folder / f"q{count}.tsv"), folder / f"out{count}"
    model = ["--load", str(folder / "model.py"), "-m", "AtOnce", "-b", data, "-q", "--no-html"]
    return {
        "first run": ["run", *model, "--out", str(out)],
        "run": ["run", *model, "--out", f"{out}b", "--limit", str(count)],
        "score": ["score", data, "--predictions", str(folder / f"r{count}.tsv")],
        "compare": ["compare", str(out), f"{out}b"],
        "report": ["report", str(out), "--format", "html", "-o", str(out / "page.html")],
    }


def count_costs(folder: Path) -> dict[str, dict[str, float]]:
    from snellen.engine.loop import driving, run

    # What is done by the clock is not counted.
    driving._YIELD_INTERVAL = run._SPENT_INTERVAL = run._WRITE_INTERVAL = float("inf")
    (folder / "model.py").write_text(MODEL)
    counted: dict[str, list[Counts]] = {}
    for count in (WARM_UP, *SIZES):
        write_samples(folder, count)
        for name, command in commands(folder, count).items():
            counted.setdefault(name, []).append(_count(command))
    with server(delay_ms=2.0) as url:
        for count in (WARM_UP, *SIZES):
            data = folder / f"pictures{count}.tsv"
            write_pictures(data, count)
            command = [
                "run",
                "-m",
                f"{url}#perf:concurrency=8",
                "-b",
                str(data),
                "-q",
                "--no-html",
                "--out",
                str(folder / f"sent{count}"),
            ]
            counted.setdefault("run behind a server", []).append(_count(command))
    for runs in RUNS:
        copied = str(copy_runs(folder / f"out{SIZES[1]}", folder / f"runs{runs}", runs))
        counted.setdefault("leaderboard", []).append(_count(["leaderboard", copied]))
    further = dict.fromkeys(counted, SIZES[1] - SIZES[0]) | {"leaderboard": RUNS[2] - RUNS[1]}
    return {name: _difference(*counts[1:], further[name]) for name, counts in counted.items()}


def _count(command: list[str]) -> Counts:
    from snellen.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()), Counts() as counts:
        code = main(command)
    if code:
        raise SystemExit(f"{command} ended with {code}")
    return counts


def copy_runs(runs: Path, folder: Path, count: int) -> Path:
    """A folder of copies of a run, each of another model, and in another order."""
    run = next(runs.glob("*/run.json")).parent
    lines = (run / "samples.jsonl").read_bytes().splitlines(keepends=True)
    for number in range(count):
        copy = folder / f"model-{number}"
        copy.mkdir(parents=True)
        for name in ("run.json", "report.json"):
            text = (run / name).read_text().replace('"model": "AtOnce"', f'"model": "m{number}"')
            (copy / name).write_text(text)
        (copy / "samples.jsonl").write_bytes(b"".join(lines[number:] + lines[:number]))
    return folder


def _difference(small: Counts, large: Counts, further: int) -> dict[str, float]:
    values: dict[str, Callable[[Counts], int]] = {
        "python_calls": lambda counts: counts.python_calls,
        "statements": lambda counts: len(counts.statements),
        "syncs": lambda counts: counts.syncs,
        "bytes_written": lambda counts: counts.bytes_written,
    }
    return {name: (value(large) - value(small)) / further for name, value in values.items()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["modules"]:
        found: object = count_modules(sys.argv[2:])
    else:
        with tempfile.TemporaryDirectory() as made:
            found = count_costs(Path(made))
    print(json.dumps(found))
