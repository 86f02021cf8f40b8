"""`snellen run`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.flags import option, options_field
from snellen.api.options import RunOptions
from snellen.cli.output import (
    TABLE,
    FormatOptions,
    download_printer,
    exit_interrupted,
    line_printer,
    print_document,
    print_line,
)
from snellen.core.errors import COMPLETE, INCOMPLETE, MISTAKE

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.api.results import Results
    from snellen.core.run import Report
    from snellen.store.runs import RunFolder


@dataclass(frozen=True, kw_only=True)
class RunCommandOptions:
    """Which models are asked which questions, and how."""

    models: Sequence[str] = option((), "--model")
    benchmarks: Sequence[str] = option(MISSING, "--benchmark", is_repeatable=True)
    run: RunOptions = options_field(RunOptions)
    quiet: bool = option(False, "--quiet")
    track: Sequence[str] = option((), "--track")
    command_line: str = ""


@dataclass(frozen=True, kw_only=True)
class Options(RunCommandOptions, FormatOptions):
    """What `snellen run` takes."""


def main(options: Options) -> int:
    """Run every model on every benchmark and print the results."""
    from snellen.api.evaluation import evaluate
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.progress import show_progress

    console, form = Terminal(stderr=True), options.form
    with _open_trackers(options.track, console) as log_runs:
        try:
            with nullcontext(NoProgress()) if options.quiet else show_progress(console) as progress:
                results = evaluate(
                    options.models,
                    options.benchmarks,
                    options.run,
                    command=options.command_line,
                    progress=progress,
                    fetching=download_printer(console),
                    warned=line_printer(console),
                    serving=None if options.quiet else line_printer(console),
                )
        except RunInterrupted as stopped:
            exit_interrupted(stopped.run, console, options.command_line, stopped.left)
        except KeyboardInterrupt:
            # Ctrl-C before the first question, or a second one while the first is handled.
            exit_interrupted(Path(options.run.out), console, options.command_line)
        log_runs(results.runs)
    return _print_results(results, options.command_line, form)


def _open_trackers(
    tracks: Sequence[str], console: Console
) -> AbstractContextManager[Callable[[Sequence[RunFolder]], None]]:
    """A function that logs finished runs with the named trackers. They are opened before anything
    is asked, so that a wrong name or a missing library fails at once."""
    if not tracks:
        return nullcontext(lambda runs: None)
    from snellen.tracking.trackers import open_run_log

    return open_run_log(tracks, line_printer(console))


def _complete_before(run: RunFolder) -> str:
    """A sentence that all replies of a run were stored before the command, and by which server."""
    info = run.info
    address = f" at {info.address}" if info.address else ""
    other = f", not at {run.unasked_address}" if run.unasked_address else ""
    return (
        f"{info.model} on {info.benchmark}: nothing was asked; the replies were stored on "
        f"{info.created[:10]}{address}{other}; use --fresh to ask again"
    )


def _print_results(results: Results, command: str, form: str) -> int:
    """Print the results; returns the exit code. In a format for programs, standard output has the
    results alone."""
    from snellen.analysis.causes.neighbours import gains_with_neighbours
    from snellen.report.console import Terminal
    from snellen.report.documents.run_document import failure_blocks, run_document

    for skipped in results.skipped:
        print_line(f"skipped: {skipped.reason}", error=True)
    runs = results.runs
    if not runs:
        return MISTAKE
    reports = [run.report() for run in runs]
    failed = [run for run in runs if run.info.counts.failed]
    more = failure_blocks(runs) if failed else []
    if found := gains_with_neighbours(runs):
        from snellen.report.documents.gains import gain_blocks

        more += gain_blocks(found)
    print_document(run_document(reports, more), form, partial(_write_page, runs, reports))
    _print_paths(runs, error=form != TABLE)
    for run in runs:
        if run.was_complete:
            print_line(_complete_before(run), error=True)
        elif reused := run.info.reused.sentence(f"{run.info.model} on {run.info.benchmark}"):
            print_line(reused, error=True)
    for lost in results.lost:
        print_line(f"{lost}\ncontinue with: {command}", error=True)
    if any(run.info.status == "incomplete" for run in failed):
        print_line(f"to ask what failed again: {command}", error=True)
    if failed:
        from snellen.report.tracebacks import print_traceback

        print_traceback(failed, Terminal(stderr=True))
    return COMPLETE if all(run.info.status == "complete" for run in runs) else INCOMPLETE


def _write_page(runs: Sequence[RunFolder], reports: Sequence[Report], path: Path | None) -> Path:
    from snellen.cli.commands.report import write_page

    return write_page(runs, reports, path, ())


def _print_paths(runs: Sequence[RunFolder], *, error: bool) -> None:
    """Print where each run is, and the file of answers to submit if its benchmark has none."""
    for run in runs:
        page = run.path / "report.html"
        line = f"report: {page}" if page.exists() else f"run: {run.path}"
        print_line(line, error=error)
        if run.info.status == "complete" and "circular" in run.info.config.parameters:
            from snellen.store.export.vlmevalkit import write_submission

            if (submission := write_submission(run)) is not None:
                print_line(f"the answers are withheld, so there is no score; to submit: {submission}", error=error)
