"""The page of a run folder, with its thumbnails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.media import InlineSource, Source
from snellen.core.run import Report
from snellen.core.sample import Sample
from snellen.report.page.html import PAGE_FILE, write_html, write_overview
from snellen.report.page.samples import page_media
from snellen.report.page.thumbnails import thumbnail_path, write_thumbnails
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder


def _derived_images(
    run: RunFolder, benchmark: Benchmark, prepare: Callable[[Sample], Sample], digests: set[str]
) -> dict[str, Source]:
    """Images that were derived when a sample was asked: stitched, boxed or black."""
    records = chain(run.records(), run.failures())
    ids = {record.id for record in records if digests.intersection(record.media)}
    return {
        ref.digest: ref.source
        for sample in benchmark.samples(benchmark.open())
        if sample.id in ids
        for ref in prepare(sample).media
        if ref.digest in digests
    }


def write_page(run: RunFolder, benchmark: Benchmark, responses: ResponseStore | None = None) -> Path:
    """Write thumbnails and `report.html` of a finished run; `responses` has generated images."""
    digests = set(page_media(chain(run.records(), run.failures())))
    if digests:
        _write_images(run, benchmark, digests, responses)
    return write_html(run)


def write_report_page(
    runs: Sequence[RunFolder], reports: Sequence[Report], path: Path | None, moved: Sequence[str]
) -> tuple[Path, str]:
    """Write the page of a run, by default to its folder, or the overview of several, by default
    beside the first. Returns its path, and a sentence if it has no images because their data, which
    may have been `moved` to one of these files, are not found."""
    if len(runs) == 1:
        problem = write_missing_images(runs[0], moved)
        return write_html(runs[0], path, reports[0]), problem
    pairs = list(zip(runs, reports, strict=True))
    return write_overview(pairs, path or runs[0].path.parent / PAGE_FILE), ""


def write_missing_images(run: RunFolder, moved: Sequence[str] = ()) -> str:
    """Write thumbnails for a run whose folder has none, from its data.

    The data may have been `moved` to one of these files. Returns a sentence if they are not found,
    else ""."""
    digests = set(page_media(chain(run.records(), run.failures())))
    paths = {digest: thumbnail_path(run.path, digest) for digest in digests}
    missing = {digest for digest, path in paths.items() if path and not path.is_file()}
    if missing != digests or not digests:
        return ""
    try:
        _write_images(run, benchmark_with_data(run, moved), digests, None)
    except UsageError as error:
        return str(error)
    return ""


def _write_images(run: RunFolder, benchmark: Benchmark, digests: set[str], responses: ResponseStore | None) -> None:
    sources: dict[str, Source] = {
        ref.digest: ref.source
        for row in benchmark.open()
        for ref in row.media
        if ref.digest in digests and ref.kind == "image"
    }
    if benchmark.prepare is not None and digests - sources.keys():
        sources |= _derived_images(run, benchmark, benchmark.prepare, digests - sources.keys())
    for digest in digests - sources.keys() if responses is not None else ():
        image = responses.medium(digest) if responses is not None else None
        if image is not None:
            sources[digest] = InlineSource(image)
    write_thumbnails(run.path, sources.items())
