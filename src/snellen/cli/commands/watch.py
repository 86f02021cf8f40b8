"""`snellen watch`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import RunOptions
from snellen.cli.executor import add_executor, ray_cluster
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import (
    add_options,
    add_plot,
    add_tracks,
    argument_type,
    parse_duration,
    read_options,
)
from snellen.cli.printing import download_printer, exit_interrupted, line_printer, print_line

if TYPE_CHECKING:
    from snellen.tracking.curve import Curve


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen watch`."""
    parser.add_argument(
        "checkpoints", metavar="CHECKPOINTS",
        help="the folder in which they appear, a pattern such as 'runs/*/checkpoint-*', or the "
        "address of a server whose list of models grows; with options of the models after a "
        "colon, e.g. out:device=cuda:1,dtype=bfloat16",
    )  # fmt: skip
    parser.add_argument(
        "-b", "--benchmark", action="append", required=True, metavar="BENCHMARK",
        help="as in `snellen run`; repeat for several",
    )  # fmt: skip
    parser.add_argument(
        "--every", type=float, default=30.0, metavar="SECONDS",
        help="time between two scans for new checkpoints (default: 30)",
    )  # fmt: skip
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--once", action="store_true", help="evaluate what is there, then end")
    end.add_argument(
        "--until-file", metavar="FILE",
        help="end when this file exists, after the checkpoints that are there by then",
    )  # fmt: skip
    end.add_argument(
        "--for", dest="seconds", type=argument_type(parse_duration), metavar="TIME",
        help="end after e.g. 90s, 15m, 12h or 2d; an evaluation in progress is finished",
    )  # fmt: skip
    parser.add_argument(
        "--base", metavar="MODEL",
        help="the model they were trained from, where checkpoints have no tokenizer or processor, "
        "and below LoRA adapters (default: as the adapter says)",
    )  # fmt: skip
    parser.add_argument("--group", metavar="NAME",
                        help="also keep the scores by this grouping, e.g. category")  # fmt: skip
    parser.add_argument(
        "--fail-on-regression", action="store_true",
        help="end at the first regression; exit code 1 while the latest checkpoint is one",
    )  # fmt: skip
    parser.add_argument(
        "--on-regression", metavar="COMMAND",
        help="run this after each regression, without a shell; {step}, {checkpoint}, {benchmark} "
        "and {sentence} are filled in",
    )  # fmt: skip
    add_plot(parser, "the curve")
    add_tracks(parser)
    add_options(parser, RunOptions)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    add_executor(parser)


def main(arguments: Namespace) -> int:
    """Evaluate checkpoints as they appear; one line for each, then what the curve says."""
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.terminal.progress import show_progress
    from snellen.tracking.watch_loop import WatchMessages, WatchOptions, watch

    console = Terminal(stderr=True)
    out = Path(arguments.out)
    try:
        with nullcontext(NoProgress()) if arguments.quiet else show_progress(console) as progress:
            curve = watch(
                arguments.checkpoints,
                arguments.benchmark,
                read_options(arguments, RunOptions, cluster=ray_cluster(arguments)),
                WatchOptions(
                    every=arguments.every,
                    once=arguments.once,
                    until_file=arguments.until_file,
                    seconds=arguments.seconds,
                    base=arguments.base,
                    group=arguments.group,
                    tracks=tuple(arguments.track),
                    fail_on_regression=arguments.fail_on_regression,
                    on_regression=arguments.on_regression,
                ),
                command=arguments.command_line,
                messages=WatchMessages(
                    point=lambda point: print_line(point.sentence, flush=True),
                    note=line_printer(console),
                    progress=progress,
                    fetching=download_printer(console),
                    warned=line_printer(console),
                    serving=None if arguments.quiet else line_printer(console),
                ),
            )
    except (RunInterrupted, KeyboardInterrupt):
        exit_interrupted(out, console, arguments.command_line)
    _print_curve(curve, out)
    if arguments.output:
        from snellen.report.plots.figure import save_plot
        from snellen.tracking.curve_plot import curve_plot

        save_plot(curve_plot(curve), Path(arguments.output))
    if not curve.points:
        return INCOMPLETE
    regressed = any(point.change == "regression" for point in curve.latest())
    return INCOMPLETE if arguments.fail_on_regression and regressed else COMPLETE


def _print_curve(curve: Curve, out: Path) -> None:
    """Print what the whole curve shows, and the path of its page."""
    from snellen.tracking.curve_page import PAGE_FILE
    from snellen.tracking.statements import best_sentence, plateau_sentence

    for benchmark in curve.benchmarks:
        points = curve.of(benchmark)
        for text in filter(None, (best_sentence(points), plateau_sentence(points))):
            print_line(f"{benchmark}: {text}")
    if curve.points:
        print_line(f"curve: {out / PAGE_FILE}")
