"""`snellen watch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.api.flags import argument, option, options_field
from snellen.api.options import RunOptions
from snellen.cli.flags import parse_duration
from snellen.cli.output import (
    TABLE,
    OutputOptions,
    download_printer,
    exit_interrupted,
    line_printer,
    print_line,
    write_document,
)
from snellen.core.errors import COMPLETE, INCOMPLETE, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.tracking.watch_loop import WatchMessages, WatchOptions

ONCE, FAIL = "once", "fail"


class WatchEnd(NamedTuple):
    """When `snellen watch` ends by itself; with neither, it does not."""

    once: bool = False
    until_file: str | None = None
    seconds: float | None = None


def parse_end(text: str) -> WatchEnd:
    """Read `once`, a time, or the path of a file. Raises UsageError."""
    if text == ONCE:
        return WatchEnd(once=True)
    try:
        return WatchEnd(seconds=parse_duration(text))
    except UsageError:
        if "/" not in text and "." not in text:
            raise UsageError(
                f"{text!r} is neither `once` nor a time such as 90s, 15m, 12h or 2d; a file of "
                f"this folder is written ./{text}"
            ) from None
    return WatchEnd(until_file=text)


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen watch` takes: the models are the checkpoints."""

    checkpoints: str = argument(
        "CHECKPOINTS",
        "the folder in which they appear, a pattern such as 'runs/*/checkpoint-*', "
        "or the address of a server whose list of models grows; with options of the models after a "
        "colon, e.g. out:device=cuda:1,dtype=bfloat16",
    )
    benchmarks: Sequence[str] = option(MISSING, "--benchmark", is_repeatable=True)
    every: float = option(30.0, "--every", "time between two scans for new checkpoints", metavar="SECONDS", parse=float)
    end: WatchEnd = option(
        WatchEnd(),
        "--for",
        "end after what is there (`once`), after a time such as 15m, 12h or "
        "2d, or when this file exists, e.g. out/done; an evaluation in progress is finished, and "
        "so are the checkpoints that are there when the file appears",
        metavar="once|TIME|FILE",
        parse=parse_end,
    )
    base: str | None = option(
        None,
        "--base",
        "the model they were trained from, where checkpoints have no tokenizer or "
        "processor, and below LoRA adapters (default: as the adapter says)",
        metavar="MODEL",
    )
    group: str | None = option(None, "--group")
    """The scores by this grouping are kept too."""
    on_regression: Sequence[str] = option(
        (),
        "--on-regression",
        "`fail`: end at the first regression, with exit code 1 while the "
        "latest checkpoint is one; else a command to run after each, without a shell; {step}, "
        "{checkpoint}, {benchmark} and {sentence} are filled in; repeat for both",
        metavar="fail|COMMAND",
        is_repeatable=True,
    )
    run: RunOptions = options_field(RunOptions)
    quiet: bool = option(False, "--quiet")
    track: Sequence[str] = option((), "--track")
    command_line: str = ""


def main(options: Options) -> int:
    """Evaluate checkpoints as they appear; one line for each, then what the curve says."""
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.tracking.curve_page import PAGE_FILE, curve_document
    from snellen.tracking.watch_loop import watch

    console, out = Terminal(stderr=True), Path(options.run.out)
    is_for_programs = options.form != TABLE
    watching = _watch_options(options)
    try:
        with _messages(options, console, error=is_for_programs) as messages:
            curve = watch(
                options.checkpoints,
                options.benchmarks,
                options.run,
                watching,
                command=options.command_line,
                messages=messages,
            )
    except (RunInterrupted, KeyboardInterrupt):
        exit_interrupted(out, console, options.command_line)
    write_document(curve_document(curve), options)
    if not curve.points:
        return INCOMPLETE
    print_line(f"curve: {out / PAGE_FILE}", error=is_for_programs)
    regressed = any(point.change == "regression" for point in curve.latest())
    return INCOMPLETE if watching.fail_on_regression and regressed else COMPLETE


def _watch_options(options: Options) -> WatchOptions:
    """Raises UsageError for two commands."""
    from snellen.tracking.watch_loop import WatchOptions

    commands = [one for one in options.on_regression if one != FAIL]
    if len(commands) > 1:
        raise UsageError("--on-regression names two commands; name one that does both")
    return WatchOptions(
        every=options.every,
        **options.end._asdict(),
        base=options.base,
        group=options.group,
        tracks=options.track,
        fail_on_regression=FAIL in options.on_regression,
        on_regression=commands[0] if commands else None,
    )


@contextmanager
def _messages(options: Options, console: Console, *, error: bool) -> Iterator[WatchMessages]:
    """What is printed on the way; new points go to standard error for an `error`."""
    from snellen.engine.loop.progress import NoProgress
    from snellen.report.progress import show_progress
    from snellen.tracking.watch_loop import WatchMessages

    with nullcontext(NoProgress()) if options.quiet else show_progress(console) as progress:
        yield WatchMessages(
            point=lambda point: print_line(point.sentence, error=error, flush=True),
            note=line_printer(console),
            progress=progress,
            fetching=download_printer(console),
            warned=line_printer(console),
            serving=None if options.quiet else line_printer(console),
        )
