"""A run of 100,000 samples in a browser: what is waited for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
from benchmarks.perf.figures import Figure, Part, Size, figure, seconds

from snellen.core.model import Identity
from snellen.core.output import Generated
from snellen.core.record import Pass, Record
from snellen.core.request import Text, user
from snellen.core.run import Counts, DataInfo, Report, RunConfig, RunInfo
from snellen.core.summary import Metric, Summary
from snellen.store.runs import write_json
from snellen.view.run_view import RunLibrary
from snellen.view.sample_index import SampleIndex
from snellen.view.server import PageServer

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WORDS = ("red", "blue", "green", "round", "square", "left", "right", "above", "small", "cat", "dog")
METHOD = (
    "A run of made-up samples with prompt, options and reply is served by `snellen view` to a "
    "headless Chromium, from a server that has read nothing yet. First paint is the browser's own "
    "first-contentful-paint; first samples, when the list shows questions. A filter is timed from "
    "the click to the painted list, a search from the key to the same through the server."
)
FILTER = """async (kind) => {
  const now = performance.now();
  document.querySelector('.chip-button.' + kind).click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - now;
}"""
SEARCH = """async (text) => {
  const box = document.querySelector('input[type=search]');
  const found = document.querySelector('.found');
  const changed = new Promise((done) => {
    new MutationObserver(done).observe(found, { childList: true });
  });
  const now = performance.now();
  box.value = text;
  box.dispatchEvent(new Event('input', { bubbles: true }));
  await changed;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - now;
}"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def measure(size: Size) -> Part:
    title = f"A run of {size.samples:,} samples in a browser"
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        run = Path(folder, "made--made--00000000")
        write_run(run, size.samples)
        read = [seconds(lambda: SampleIndex(run).refresh()) for _ in range(min(size.repeats, 3))]
        figures = [figure("reading the samples once", "s", read)]
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None:
            return Part("view", f"{title}: none is installed here", METHOD, tuple(figures), ())
        figures += looked_at(run, browser, size)
    return Part("view", title, METHOD, tuple(figures), ())


def looked_at(run: Path, browser: str, size: Size) -> Iterator[Figure]:
    from playwright.sync_api import expect, sync_playwright

    paint: list[float] = []
    first: list[float] = []
    filters: list[float] = []
    searches: list[float] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        chromium.new_page().close()
        for _ in range(size.repeats):
            with served(run) as url:
                page = chromium.new_page(viewport={"width": 1400, "height": 900})
                first.append(seconds(lambda page=page, url=url: first_samples(page, url, run.name)))
                paint.append(page.evaluate(PAINT) / 1000)
                expect(page.locator(".found")).to_have_text(f"{size.samples:,} samples")
                filters += [page.evaluate(FILTER, kind) / 1000 for kind in ("wrong", "every")]
                searches += [page.evaluate(SEARCH, text) / 1000 for text in ("cat dog", "cat do")]
                page.close()
        chromium.close()
    yield figure("first paint", "s", paint, bar=1.0)
    yield figure("first samples", "s", first)
    yield figure("filter", "s", filters, bar=0.2)
    yield figure("search", "s", searches, bar=0.2)


def first_samples(page: Any, url: str, name: str) -> None:
    page.goto(f"{url}#/run/{name}")
    page.wait_for_selector(".row .ask:not(:empty)")


@contextmanager
def served(run: Path) -> Iterator[str]:
    with PageServer(RunLibrary([run]), 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


def write_run(folder: Path, count: int) -> None:
    """A run as a small model would leave it: short replies, two groupings."""
    folder.mkdir()
    with (folder / "samples.jsonl").open("wb") as file:
        for number in range(count):
            file.write(msgspec.json.encode(made_record(number)) + b"\n")
    config = RunConfig(Identity("made", "made"), "made", "1", {}, "00" * 32)
    data = DataInfo("made.tsv", "00" * 32, count)
    counts = Counts(samples=count, done=count)
    info = RunInfo(folder.name, "made", "made", "", config, data, "complete", "", counts=counts)
    headline = Metric("accuracy", 50.0, count)
    summary = Summary(headline, {"accuracy": headline}, {}, {"answered": count}, count, count)
    write_json(folder / "run.json", info)
    write_json(folder / "report.json", Report(info, summary))


def made_record(number: int) -> Record:
    told = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 7, 11, 13, 17, 19)]
    options = dict(zip("ABCD", told, strict=False))
    question = f"Which of these is {' and '.join(told[4:])} in picture {number}?"
    listed = "\n".join(f"{label}. {text}" for label, text in options.items())
    gold, said = "ABCD"[number % 4], "ABCD"[number * 7 % 4 if number % 3 else number % 4]
    reply = Generated(f"The answer is {said}, because it is {' '.join(told)}.")
    return Record(
        id=str(number),
        kind="choice",
        question=question,
        outcome="answered",
        score=float(gold == said),
        answer=said,
        gold=(gold,),
        options=options,
        groups={"category": told[0], "l2-category": "one" if number % 2 else "other"},
        passes=(Pass((user(Text(f"{question}\n{listed}")),), reply, gold=(gold,)),),
    )
