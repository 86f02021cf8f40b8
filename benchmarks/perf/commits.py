"""Two commits side by side, pair by pair: `make perf-compare BASE=COMMIT` compares a commit with
HEAD, `python -m benchmarks.perf.commits BASE OTHER` any two.

Each commit has a working tree and an environment of its own, with the same packages, in
`.perf-commits`; both are kept. In each round every command is run with one commit and at once with
the other, the second first in every other round, so that what the machine does besides falls on
both. A figure is processor time of the command's own process, or a count. Of a ratio, the interval
is one in which the median of all rounds lies with at least 95 % (order statistics; it takes 6
rounds).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.perf.remote import bare_client, cores, server, write_pictures
from benchmarks.perf.samples_file import MODEL, write_samples

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".perf-commits"
COUNTING = Path(__file__).with_name("counting.py")
SIZES = (200, 2_200)
"""Samples of the two runs whose difference is the cost of a further sample."""
REQUESTS = 1_000
WIDTHS = (32, 256)
RUNS = 30
MODELS = (
    MODEL
    + """
for number in range(30):
    name = f"Many{number}"
    identity = snellen.Identity("perf", name, {})
    globals()[name] = type(name, (AtOnce,), {"identity": identity})
"""
)


class Installed(NamedTuple):
    """A commit with its environment."""

    name: str
    python: Path

    def seconds(self, folder: Path, *words: str) -> float:
        """Processor time of a command of Snellen, started in `folder`."""
        command = [str(self.python), "-m", "snellen", *words]
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        errors = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{self.name}: {' '.join(words)} ended with an error:\n{errors}")
        return usage.ru_utime + usage.ru_stime

    def counts(self, folder: Path, *words: str) -> dict[str, int]:
        """Counts of a command, by the script that all commits share."""
        command = [str(self.python), str(COUNTING), *words]
        done = subprocess.run(command, cwd=folder, env=_environment(folder), check=True, stdout=subprocess.PIPE)
        found: dict[str, int] = json.loads(done.stdout)
        return found


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {"SNELLEN_CACHE": str(folder / "cache"), "PYTHONPATH": ""}


def install(commit: str) -> Installed:
    """The commit in an environment of its own, made unless it is there. Raises SystemExit for a
    commit that git does not know."""
    known = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if not known:
        raise SystemExit(f"{commit!r} is no commit of this repository")
    folder = KEPT / known[:12]
    python = folder / ".venv" / "bin" / "python"
    if not python.exists():
        if not folder.exists():
            subprocess.run(["git", "worktree", "add", "-q", "--detach", folder, known], cwd=ROOT, check=True)
        subprocess.run([sys.executable, "-m", "venv", folder / ".venv"], check=True)
        same = folder / ".venv" / "same-packages.txt"
        freeze = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
        same.write_bytes(subprocess.run(freeze, check=True, stdout=subprocess.PIPE).stdout)
        subprocess.run(
            [python, "-m", "pip", "-q", "--disable-pip-version-check", "install", "-c", same, "-e", f"{folder}[api]"],
            check=True,
        )
    return Installed(known[:8], python)


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    return done.stdout.strip()


class Round(NamedTuple):
    """Where one commit's commands are run in one round."""

    installed: Installed
    folder: Path
    pictures: Path
    url: str

    def run(self, count: int) -> list[str]:
        model = ["--load", "models.py", "-m", "AtOnce", "-b", f"q{count}.tsv"]
        return ["run", *model, "--out", f"out{count}", "-q", "--no-html"]

    def figures(self) -> Iterator[tuple[str, float]]:
        """Milliseconds of processor time, one command after the other."""
        small, large = SIZES

        def took(*words: str) -> float:
            return 1000 * self.installed.seconds(self.folder, *words)

        yield "--help", took("--help")
        first, whole = took(*self.run(small)), took(*self.run(large))
        yield f"a run of {large:,} questions", whole
        yield "each further question of a run", (whole - first) / (large - small)
        score = {n: ["score", f"q{n}.tsv", "--predictions", f"r{n}.tsv"] for n in SIZES}
        shutil.rmtree(self.folder / "cache")
        yield f"the first score of {large:,} replies", took(*score[large])
        took(*score[small])
        again = took(*score[large]) - took(*score[small])
        yield "each further reply of a score", again / (large - small)
        self.run_many()
        yield f"leaderboard of {RUNS} runs", took("leaderboard", "many")
        yield (
            f"report.html of {large:,} samples",
            took("report", f"out{large}", "--format", "html", "-o", "page.html"),
        )
        for width in WIDTHS:
            model = f"{self.url}#perf:concurrency={width}"
            asked = ("run", "-m", model, "-b", "pictures.tsv", "-q", "--no-html")
            took(*asked, "--limit", "1", "--out", "indexed")
            start = took(*asked, "--limit", "1", "--out", f"start{width}")
            sent = took(*asked, "--out", f"api{width}")
            yield f"each further request, {width} connections", (sent - start) / (REQUESTS - 1)

    def counts(self) -> Iterator[tuple[str, float]]:
        """Counts, which are the same in every round."""
        small, large = SIZES[0], 2 * SIZES[0]
        write_samples(self.folder, large)
        score = {n: ["score", f"q{n}.tsv", "--predictions", f"r{n}.tsv"] for n in (small, large)}
        for what, commands in ("question of a run", {n: self.run(n) for n in score}), ("reply of a score", score):
            first, whole = (self.installed.counts(self.folder, *commands[n]) for n in (small, large))
            for kind in ("python calls", "SQL statements"):
                yield f"each further {what}: {kind}", (whole[kind] - first[kind]) / (large - small)
            yield f"{what.rpartition(' ')[2]}: own modules", first["own modules"]
            yield f"{what.rpartition(' ')[2]}: all modules", first["all modules"]
        for kind, count in self.installed.counts(self.folder, "--help").items():
            if "modules" in kind:
                yield f"--help: {kind}", count
        self.run_many()
        for kind, count in self.installed.counts(self.folder, "leaderboard", "many").items():
            yield f"leaderboard of {RUNS} runs: {kind}", count

    def run_many(self) -> None:
        """`RUNS` runs of the questions that are fewer, in `many`."""
        many = [word for n in range(RUNS) for word in ("-m", f"Many{n}")]
        self.installed.seconds(
            self.folder,
            "run",
            "--load",
            "models.py",
            *many,
            "-b",
            f"q{SIZES[0]}.tsv",
            "--out",
            "many",
            "-q",
            "--no-html",
        )


@contextmanager
def prepared(installed: Installed, pictures: Path, url: str) -> Iterator[Round]:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as made:
        folder = Path(made)
        (folder / "models.py").write_text(MODELS)
        for count in SIZES:
            write_samples(folder, count)
        (folder / "pictures.tsv").symlink_to(pictures)
        yield Round(installed, folder, pictures, url)


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Order statistics between which the median lies with at least 95 %; None of fewer than 6."""
    count, ordered = len(values), sorted(values)
    outside, least = 0.0, -1
    for k in range(count // 2):
        outside += math.comb(count, k) / 2**count
        if 2 * outside > 0.05:
            break
        least = k
    return None if least < 0 else (ordered[least], ordered[-1 - least])


def compare(base: Installed, other: Installed, rounds: int) -> Iterator[str]:
    """A Markdown table: each figure of both, and the ratio of the second to the first."""
    taken: dict[str, dict[str, list[float]]] = {base.name: {}, other.name: {}}
    bare: list[float] = []
    with ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="snellen-perf-"))
        stack.enter_context(cores())
        url = stack.enter_context(server())
        pictures = Path(made, "pictures.tsv")
        write_pictures(pictures, REQUESTS)
        for number in range(rounds):
            pair = (base, other) if number % 2 == 0 else (other, base)
            with ExitStack() as folders:
                both = [folders.enter_context(prepared(one, pictures, url)) for one in pair]
                if not number:
                    for one in both:
                        for name, count in one.counts():
                            taken[one.installed.name][name] = [count]
                for figures in zip(*(one.figures() for one in both), strict=True):
                    for one, (name, value) in zip(both, figures, strict=True):
                        taken[one.installed.name].setdefault(name, []).append(value)
            bare.append(asyncio.run(bare_client(pictures, url, WIDTHS[0])).cpu)
    yield f"| | {base.name} | {other.name} | ratio | 95 % interval |"
    yield "|---|---:|---:|---:|---:|"
    for name, values in taken[base.name].items():
        yield _row(name, values, taken[other.name][name])
    cost = f"{statistics.median(bare):.3g} ms"
    yield f"| bare client, a request, {WIDTHS[0]} connections | {cost} | {cost} | | |"


def _row(name: str, before: Sequence[float], after: Sequence[float]) -> str:
    unit, spread = " ms", ""
    if len(before) == 1:
        unit, spread = "", "exact"
    ratios = [b / a for a, b in zip(before, after, strict=True) if a]
    found = interval(ratios)
    if found is not None:
        spread = f"{found[0]:.2f} to {found[1]:.2f}"
    ratio = f"{statistics.median(ratios):.2f}" if ratios else ""
    first, second = (f"{statistics.median(values):,.4g}{unit}" for values in (before, after))
    return f"| {name} | {first} | {second} | {ratio} | {spread} |"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perf.commits")
    parser.add_argument("base", help="a commit")
    parser.add_argument("other", nargs="?", default="HEAD", help="another; by default HEAD")
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args(arguments)
    base, other = install(given.base), install(given.other)
    print(f"{base.name} and {other.name}, {given.rounds} rounds, processor time")
    for line in compare(base, other, given.rounds):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
