"""`snellen curate duplicates`: what stands twice in a data set, in other benchmarks, in training
data; and the index of picture hashes to find it in."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_curate.commands import Finished, read_fields, refuse_flags

if TYPE_CHECKING:
    from snellen_curate.duplicates.build_index import IndexProgress
    from snellen_curate.duplicates.report import DuplicateSettings


def main(arguments: Namespace) -> Finished:
    """Find duplicates, or only write an index of pictures."""
    if arguments.processes is not None and arguments.processes < 1:
        raise UsageError(f"--processes {arguments.processes}: expected 1 or more")
    return _write_index(arguments) if arguments.index else _find(arguments)


def _write_index(arguments: Namespace) -> Finished:
    """Only write an index."""
    import time

    from snellen_curate.duplicates.find import write_index

    refuse_flags(arguments, ("against", "columns", "drop", "json"), "--index only hashes pictures")
    if not arguments.out:
        raise UsageError("--index needs --out DIR, where the index is written")
    started = time.perf_counter()
    hashed = 0

    def on_progress(progress: IndexProgress) -> None:
        nonlocal hashed
        hashed = progress.entries - progress.reused
        _print_progress(arguments, arguments.data, progress)

    index = write_index(
        arguments.data, Path(arguments.out), processes=arguments.processes,
        on_progress=on_progress,
    )  # fmt: skip
    info, seconds = index.info, time.perf_counter() - started

    def print_text() -> None:
        print_line(
            f"{arguments.out}: {info.entries:,} entries, {info.pictures:,} pictures, "
            f"{info.captions:,} captions, {info.broken:,} broken, {info.flat:,} without contrast"
        )
        for name, reason in list(index.broken())[:10]:
            print_line(f"  {name}: {reason}")
        if hashed:
            print_line(f"{hashed:,} entries in {seconds:.1f} s, {hashed / seconds:,.0f} a second")

    return Finished("flagged" if info.broken else "clean", info, print_text, ())


def _find(arguments: Namespace) -> Finished:
    """Find duplicates, and write the folder that was asked for."""
    import msgspec

    from snellen.report.console import Terminal
    from snellen_curate.duplicates.decide import decisions, report_json, write_folder
    from snellen_curate.duplicates.descriptions import duplicates_report
    from snellen_curate.duplicates.find import find_duplicates
    from snellen_curate.duplicates.page import PAGE_FILE
    from snellen_curate.step_report import print_report

    if arguments.drop and not arguments.out:
        raise UsageError("--drop needs --out DIR, where the data set without them is written")
    found = find_duplicates(
        arguments.data, _settings(arguments), columns=arguments.columns,
        processes=arguments.processes,
        on_phase=lambda name, progress: _print_progress(arguments, name, progress),
    )  # fmt: skip
    if arguments.out:
        flagged = write_folder(found, arguments.out, arguments.drop).get("flag", 0)
    else:
        flagged = len(decisions(found.report, ()))

    def print_text() -> None:
        print_report(duplicates_report(found.report), Terminal())
        if arguments.out:
            print_line(f"written: {arguments.out}, {Path(arguments.out) / PAGE_FILE}")

    return Finished(
        "flagged" if flagged else "clean", msgspec.Raw(report_json(found.report)), print_text
    )


def _settings(arguments: Namespace) -> DuplicateSettings:
    """The settings that were typed."""
    from snellen_curate.duplicates.picture_rule import PictureRule
    from snellen_curate.duplicates.report import DuplicateSettings

    rule = PictureRule(turned=not arguments.no_turned, crops=not arguments.no_crops)
    return read_fields(arguments, DuplicateSettings, pictures=rule)


def _print_progress(arguments: Namespace, name: str, progress: IndexProgress) -> None:
    if arguments.quiet or progress.entries == progress.reused:
        return
    print_line(f"hashed {progress.entries:,} of {name}", error=True, flush=True)
