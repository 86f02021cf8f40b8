"""`snellen run`."""

from __future__ import annotations

import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from snellen.cli.main import COMPLETE, INCOMPLETE, INTERRUPTED, MISTAKE
from snellen.cli.printing import print_line
from snellen.core.benchmark import FetchProgress, Variant
from snellen.core.request import Sampling

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.api.evaluate import Results
    from snellen.engine.ray.cluster import RayCluster

_SECONDS_BETWEEN_LINES = 3.0
"""Seconds between two lines about a download."""


def main(arguments: Namespace) -> int:
    from snellen.api import evaluate
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.terminal.progress import show_progress

    console = Terminal(stderr=True)
    try:
        with nullcontext(NoProgress()) if arguments.quiet else show_progress(console) as progress:
            results = evaluate(
                **run_arguments(arguments),
                warned=line_printer(console),
                serving=None if arguments.quiet else line_printer(console),
                command=arguments.command_line,
                progress=progress,
                fetching=download_printer(console),
                html=not arguments.no_html,
            )
    except RunInterrupted as stopped:
        exit_interrupted(stopped.run, console, arguments.command_line)
    except KeyboardInterrupt:
        # Before the first question, or for a second time while the first is obeyed.
        exit_interrupted(Path(arguments.out), console, arguments.command_line)
    return _print_results(results, arguments.command_line)


def exit_interrupted(run: Path, console: Console, command: str) -> NoReturn:
    """Say how an interrupted command goes on, and end the process. Ctrl-C has no more to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    console.print(
        f"stopped; what was finished is kept in {run}\ncontinue with: {command}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    # A local model may still be computing in its thread: do not wait for it.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def _print_results(results: Results, command: str) -> int:
    """Print what came of it; the exit code."""
    from snellen.analysis.causes.gains import gains_with_neighbours
    from snellen.report.console import Terminal
    from snellen.report.terminal.gains import print_gains
    from snellen.report.terminal.table import print_failures, print_runs
    from snellen.store.export.vlmevalkit import write_submission

    for skipped in results.skipped:
        print_line(f"skipped: {skipped.reason}", error=True)
    if not results.runs:
        return MISTAKE
    print_runs([one.report() for one in results.runs], Terminal())
    print_failures(results.runs, Terminal())
    print_gains(gains_with_neighbours(results.runs), Terminal())
    for one in results.runs:
        page = one.path / "report.html"
        print_line(f"{'report' if page.exists() else 'run'}: {page if page.exists() else one.path}")
        if one.info.status == "complete" and (submission := write_submission(one)) is not None:
            print_line(f"the answers are withheld, so there is no score; to submit: {submission}")
    for one in results.runs:
        if reused := one.info.reused.sentence(f"{one.info.model} on {one.info.benchmark}"):
            print_line(reused, error=True)
    for lost in results.lost:
        print_line(f"{lost}\ncontinue with: {command}", error=True)
    incomplete = any(one.info.status != "complete" for one in results.runs)
    return INCOMPLETE if incomplete else COMPLETE


def run_arguments(arguments: Namespace) -> dict[str, Any]:
    """What `evaluate` and `plan` are both given."""
    return {
        "models": arguments.model,
        "benchmarks": arguments.benchmark,
        "out": arguments.out,
        "store": arguments.store,
        "variant": Variant(
            data=arguments.data,
            circular=arguments.circular,
            max_new_tokens=arguments.max_new_tokens,
            control=arguments.control,
            failures=arguments.failures,
            rule=arguments.rule,
            columns=arguments.columns or {},
        ),
        "limit": arguments.limit,
        "seed": arguments.seed,
        "extractors": arguments.extractor,
        "judges": arguments.judge,
        "clip": arguments.clip,
        "load": arguments.load,
        "recipes": not arguments.no_recipe,
        "serve": arguments.serve,
        "serve_timeout": arguments.serve_timeout,
        "retries": arguments.retries,
        "max_failures": arguments.max_failures,
        "budget": arguments.budget,
        "prices": arguments.price,
        "until": arguments.until,
        "cluster": ray_cluster(arguments),
        "repeats": arguments.repeats,
        "judge_repeats": arguments.judge_repeats,
        "fresh": arguments.fresh,
        "sampling": Sampling(arguments.temperature, arguments.top_p, arguments.sampling_seed),
    }


def ray_cluster(arguments: Namespace) -> RayCluster | None:
    """Where replicas run. Raises UsageError for flags of an executor that was not asked for."""
    from snellen.core.errors import UsageError
    from snellen.engine.ray.cluster import RayCluster

    given = {
        "address": arguments.address,
        "replicas": arguments.replicas,
        "gpus": arguments.gpus_per_replica,
        "cpus": arguments.cpus_per_replica,
    }
    named = {name: value for name, value in given.items() if value is not None}
    if arguments.executor == "local":
        if named:
            raise UsageError(
                "--replicas, --gpus-per-replica, --cpus-per-replica and --address belong to a "
                "cluster; add --executor ray"
            )
        return None
    if arguments.serve:
        raise UsageError("--serve starts one server here; on a cluster name vllm/ORG/NAME with -m")
    return RayCluster(**named)


def line_printer(console: Console) -> Callable[[str], None]:
    """Lines about a server, above whatever else is shown."""

    def write_line(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    return write_line


def download_printer(console: Console) -> FetchProgress:
    """A line now and then about a file that is being downloaded."""
    last_line = 0.0

    def progress(done: int, total: int | None) -> None:
        nonlocal last_line
        if time.monotonic() - last_line < _SECONDS_BETWEEN_LINES:
            return
        last_line = time.monotonic()
        of = f" of {total / 1e6:.0f}" if total else ""
        console.print(f"fetching data: {done / 1e6:.0f}{of} MB", highlight=False)

    return progress
