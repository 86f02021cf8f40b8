"""The viewer's first page over thousands of runs, in a browser: what is waited for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.perf.figures import Figure, Part, Size, figure, seconds
from benchmarks.perf.thousands_of_runs import write_made_runs
from benchmarks.perf.view_pages import BROWSERS

METHOD = (
    "Made-up run folders are served by `snellen view` to a headless Chromium. First page: from the "
    "moment the command prints its address to the painted cells of the matrix; cold, with nothing "
    "in the index of runs, or warm, with the index of an earlier start. The board is timed once in "
    "an open page, from the key to the painted rows, and once as the page that is opened first; "
    "list and search in an open page. The bare loop decodes `run.json` and `report.json` of every "
    "run."
)
ROWS = "tbody tr[data-at] :is(td, th)"
SWITCH = """async (key) => {
  const now = performance.now();
  document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - now;
}"""
SEARCH = """async (text) => {
  const box = document.querySelector('input[type=search]');
  const now = performance.now();
  box.value = text;
  box.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - now;
}"""


def measure(size: Size) -> Part:
    title = f"The first page over {size.runs:,} runs"
    name = next(filter(None, map(shutil.which, BROWSERS)), None)
    if name is None:
        return Part("home", title, "there is no browser to measure with", ())
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        root = write_made_runs(Path(folder, "runs"), size.runs)
        figures = tuple(_figures(root, Path(folder), name, size))
    return Part("home", title, METHOD, figures)


def _figures(root: Path, folder: Path, browser: str, size: Size) -> Iterator[Figure]:
    from playwright.sync_api import sync_playwright

    bare = [seconds(lambda: decode_all(root)) for _ in range(size.repeats)]
    yield figure("bare loop", "s", bare)
    cold: list[float] = []
    warm: list[float] = []
    starts: list[float] = []
    boards: list[float] = []
    lists: list[float] = []
    searches: list[float] = []
    memory: list[float] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        # The browser's own first page is none of ours.
        chromium.new_page().close()
        for repeat in range(size.repeats):
            cache = folder / f"cache{repeat}"
            with served(root, cache) as (_, url, _pid):
                page = chromium.new_page()
                cold.append(seconds(lambda page=page, url=url: whole_page(page, url)))
                page.close()
            with served(root, cache) as (start, url, pid):
                starts.append(start)
                page = chromium.new_page(viewport={"width": 1500, "height": 900})
                warm.append(seconds(lambda page=page, url=url: first_page(page, url)))
                boards.append(page.evaluate(SWITCH, "b") / 1000)
                lists.append(page.evaluate(SWITCH, "l") / 1000)
                searches += [page.evaluate(SEARCH, text) / 1000 for text in ("qwen", "qwen mm")]
                page.close()
                memory.append(resident_megabytes(pid))
            with served(root, cache) as (_, url, _pid):
                page = chromium.new_page()
                boards.append(seconds(lambda page=page, url=url: first_page(page, f"{url}#/?view=board")))
                page.close()
        chromium.close()
    yield figure("cold, until all runs are read", "s", cold, reference="bare loop", against=bare)
    yield figure("warm, until the address is printed", "s", starts)
    yield figure("warm, first page", "s", warm, bar=1.0, reference="bare loop", against=bare)
    yield figure("warm, board", "s", boards, bar=3.0)
    yield figure("list", "s", lists, bar=0.5)
    yield figure("search", "s", searches, bar=0.2)
    yield figure("memory of the server", "MB", memory, bar=300.0)


def first_page(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_selector(ROWS)


def whole_page(page: Any, url: str) -> None:
    first_page(page, url)
    page.locator(".eyebrow", has_not_text="reading").wait_for()


@contextmanager
def served(root: Path, cache: Path) -> Iterator[tuple[float, str, int]]:
    """`snellen view` in a process of its own: seconds until its address, the address, the process
    id."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "snellen", "view", str(root), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"SNELLEN_CACHE": str(cache)},
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[0]
            yield time.perf_counter() - started, url, process.pid
        finally:
            process.terminate()


def resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kilobytes) / 1000


def decode_all(root: Path) -> int:
    decode = msgspec.json.Decoder().decode
    return sum(1 for file in root.glob("*/*.json") if decode(file.read_bytes()))
