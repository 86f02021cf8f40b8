"""A lab's year of runs with all samples, beside single DuckDB queries over the same files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.perf.figures import Figure, Part, Size, figure, seconds
from benchmarks.perf.home_page import SEARCH, SWITCH, first_page, resident_megabytes, served
from benchmarks.perf.made_year import MadeYear, write_made_year
from benchmarks.perf.view_pages import BROWSERS

METHOD = (
    "Run folders are made by a generator, with every sample, prompt, reply and number: models on data sets of 448 to "
    "14,232 questions. Each command is a process of its own, start included, with the catalogue of an earlier one; its "
    "times, like DuckDB's, are seconds of processor time, both with one thread. The queries of DuckDB are one over "
    "`samples.jsonl` of all runs (the mean score of each, only id and score named) and one over `report.json` (the "
    "headline of each). The leaderboard has, of each data set and category, scores, intervals, intervals of ranks by "
    "bootstrap and letters by paired tests; `items` and `compare` are of the runs of one data set, beside the query "
    "over all samples. Pages are timed in a headless Chromium, as wall time, beside DuckDB's: from the address to the "
    "painted matrix, to the board, and from a key to the painted search."
)
BAR, MEMORY_BAR = 3.0, 1000.0
"""Times a query; megabytes."""
REPEATS = 2
_SAMPLES = (
    "SELECT filename, avg(score), count(*) FROM read_json('{root}/*/samples.jsonl', format='newline_delimited', "
    "filename=true, columns={{id: 'VARCHAR', score: 'DOUBLE'}}) GROUP BY filename"
)
_REPORTS = (
    "SELECT run.model, run.benchmark, summary.headline.value FROM read_json('{root}/*/report.json', columns="
    "{{run: 'STRUCT(model VARCHAR, benchmark VARCHAR)', summary: 'STRUCT(headline STRUCT(value DOUBLE))'}})"
)
_ALL_SAMPLES, _ALL_REPORTS = "DuckDB, mean score of each run", "DuckDB, headline of each run"


class Cost(NamedTuple):
    """What a process took."""

    cpu: float
    wall: float
    megabytes: float


def measure(size: Size) -> Part:
    title = f"A year of {size.runs:,} runs"
    if find_spec("duckdb") is None:
        return Part("year", title, "DuckDB is not installed: pip install duckdb", ())
    sets = {60: 4, 2_000: 20, 12_000: 60}[size.runs]
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        year = write_made_year(Path(folder, "runs"), size.runs // sets, sets)
        figures = (*_command_figures(year, Path(folder)), *_page_figures(year, Path(folder)))
    title = f"A year of {year.runs:,} runs with {year.samples:,} samples"
    return Part("year", title, f"{METHOD} The files have {year.bytes / 1e9:.1f} GB.", figures)


def _command_figures(year: MadeYear, folder: Path) -> Iterator[Figure]:
    cache = folder / "cache"
    of_one = [str(path) for path in sorted(year.root.iterdir()) if "--ai2d--" in path.name]
    first_set = {Path(path).name.rpartition("--")[2][:4] for path in of_one[:1]}
    of_one = [path for path in of_one if Path(path).name.rpartition("--")[2][:4] in first_set]
    commands = {
        "leaderboard": ["leaderboard", str(year.root), "--json"],
        "items of one data set": ["items", *of_one, "--common"],
        "compare with the first, one data set": ["compare", *of_one, "--common", "--baseline"],
        "runs": ["runs", str(year.root), "--json"],
    }
    first = {name: _snellen(words, cache) for name, words in commands.items()}
    costs: dict[str, list[Cost]] = {name: [] for name in (*commands, _ALL_SAMPLES, _ALL_REPORTS)}
    for _ in range(REPEATS):
        for name, query in ((_ALL_SAMPLES, _SAMPLES), (_ALL_REPORTS, _REPORTS)):
            costs[name].append(_duckdb(query.format(root=year.root)))
        for name, words in commands.items():
            costs[name].append(_snellen(words, cache))
    for name in (_ALL_SAMPLES, _ALL_REPORTS):
        yield figure(name, "s", [one.cpu for one in costs[name]])
    for name in commands:
        reference = _ALL_REPORTS if name == "runs" else _ALL_SAMPLES
        against = [one.cpu for one in costs[reference]]
        yield figure(f"{name}, first time", "s", [first[name].cpu], reference=reference, against=against[:1])
        taken = [one.cpu for one in costs[name]]
        yield figure(name, "s", taken, reference=reference, against=against, ratio_bar=BAR)
        peaks = [one.megabytes for one in (first[name], *costs[name])]
        yield figure(f"{name}, peak memory", "MB", peaks, bar=MEMORY_BAR)


def _page_figures(year: MadeYear, folder: Path) -> Iterator[Figure]:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return
    from playwright.sync_api import sync_playwright

    names = ("view, until the address is printed", "view, home", "view, board", "view, search")
    taken: dict[str, list[float]] = {name: [] for name in names}
    queries: list[float] = []
    memory: list[float] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        chromium.new_page().close()
        for _ in range(REPEATS):
            queries.append(_duckdb(_REPORTS.format(root=year.root)).wall)
            with served(year.root, folder / "cache") as (start, url, process):
                page = chromium.new_page(viewport={"width": 1500, "height": 900})
                home = seconds(lambda page=page, url=url: first_page(page, url))  # type: ignore[misc]
                board, search = page.evaluate(SWITCH, "b") / 1000, page.evaluate(SEARCH, "model-01") / 1000
                for name, value in zip(names, (start, home, board, search), strict=True):
                    taken[name].append(value)
                memory.append(resident_megabytes(process))
                page.close()
        chromium.close()
    wall = f"{_ALL_REPORTS}, wall time"
    yield figure(wall, "s", queries)
    for name in names:
        yield figure(name, "s", taken[name], reference=wall, against=queries, ratio_bar=BAR)
    yield figure("view, memory of the server", "MB", memory, bar=MEMORY_BAR)


def _snellen(words: Sequence[str], cache: Path) -> Cost:
    return _cost([sys.executable, "-m", "snellen", *words], {"SNELLEN_CACHE": str(cache)})


def _duckdb(query: str) -> Cost:
    settings = "SET threads=1; SET enable_progress_bar=false"
    return _cost(
        [sys.executable, "-c", f"import duckdb; duckdb.sql({settings!r}); duckdb.sql({query!r}).fetchall()"], {}
    )


def _cost(command: Sequence[str], environment: dict[str, str]) -> Cost:
    """Run a command, with one thread for matrices. Raises CalledProcessError."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment}
    found: list[os.struct_rusage] = []

    def run() -> None:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, list(command))
        found.append(usage)

    wall = seconds(run)
    return Cost(found[0].ru_utime + found[0].ru_stime, wall, found[0].ru_maxrss / 1000)
