"""`snellen curate statistics DATA`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from snellen.api.flags import FlagKey, argument, option
from snellen.cli.output import TABLE
from snellen.core.errors import UsageError
from snellen_curate.commands._action import ActionOptions, Finished, limits_option, skip_option


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate statistics` takes."""

    data: str = argument("DATA", "a benchmark, a data file, a data set folder or a folder of pictures")
    columns: Mapping[str, str] | None = option(None, "--columns")
    group: Sequence[str] = option((), "--group", is_repeatable=True)
    """Empty: the groups of the data, their sources and licences."""
    top: int | None = option(None, "--top")
    """Groups of each grouping; None: 25 on a terminal, else all."""
    skip: tuple[str, ...] = skip_option({"media": "reading the headers of images and videos"})
    limits: Mapping[str, Any] = limits_option(
        {"probe": FlagKey("train the text probe on at most this many closed questions; 0: none (20000)", int)}
    )


def main(options: Options) -> Finished:
    """Measure a data set."""
    from pathlib import Path

    from snellen_curate.open_data import open_items
    from snellen_curate.statistics.measuring import StatisticsOptions, measure_data
    from snellen_curate.statistics.statistics_tables import MAX_GROUPS, findings, statistics_document

    chosen = StatisticsOptions(by=options.group or None, read_media="media" not in options.skip, **options.limits)
    if chosen.probe < 0:
        raise UsageError(f"--limits probe={chosen.probe}: expected a number of questions, or 0")
    if options.top is not None and options.top < 1:
        raise UsageError(f"--top {options.top}: expected at least 1")
    table = open_items(options.data, options.columns)
    with _progress_bar(options) as progress:
        statistics = measure_data(table, chosen, progress)
    top = options.top or (MAX_GROUPS if options.form == TABLE and not options.output else None)
    document = statistics_document(statistics, top)
    stem = Path(options.data).name.partition(".")[0]
    next = ("curate", "duplicates", options.data, "--out", f"{stem}-duplicates")
    return Finished("flagged" if any(findings(statistics)) else "clean", document, next)


@contextmanager
def _progress_bar(options: Options) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error where that is a terminal."""
    from rich.progress import Progress

    from snellen.report.console import Terminal

    console = Terminal(stderr=True)
    with Progress(console=console, disable=options.quiet or not console.is_terminal, transient=True) as bars:
        task = bars.add_task(options.data, total=None)

        def progress(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield progress
