"""`snellen why`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option, option_flags, options_field
from snellen.api.options import AskOptions, SourceOptions
from snellen.cli.flags import print_warning
from snellen.cli.output import OutputOptions, exit_interrupted, line_printer, write_document
from snellen.core.errors import COMPLETE, INCOMPLETE, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.api.crossed_runs import CrossedRuns
    from snellen.api.why import Explanation
    from snellen.store.runs import RunFolder

CONSENT = "yes"


def _parse_consent(text: str) -> str:
    if text in ("", CONSENT):
        return text
    raise UsageError(f"{text!r}: expected `{CONSENT}`, or nothing, to be asked for consent")


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen why` takes."""

    first: str = argument("A", "a run folder, or a file of predictions")
    second: str | None = argument(
        "B", "the same. Without it, A is compared with the published numbers of its model", "?"
    )
    further: Sequence[str] = argument(
        "C", "further runs: each step from one run to the next is split, e.g. the steps of a training recipe", "*"
    )
    others: Sequence[str] = option((), "--runs")
    """Runs that tell causes apart, e.g. A's model with B's prompt; without one, such runs in the
    folders of A and B."""
    each: int = option(2, "--each")
    sources: SourceOptions = options_field(SourceOptions)
    ask: str | None = option(
        None,
        "--ask",
        "where causes differ together, ask what tells them apart, e.g. A's model with B's prompt: "
        "prints the plan and the price first, and waits for consent, which `--ask yes` gives "
        "beforehand",
        metavar=CONSENT,
        parse=_parse_consent,
        bare_value="",
    )
    asking: AskOptions = options_field(AskOptions)
    quiet: bool = option(False, "--quiet")
    command_line: str = ""


def main(options: Options) -> int:
    """Split the difference of two runs, after making further runs with `--ask`."""
    from snellen.report.documents.why import why_document

    _check_options(options)
    if options.second is None:
        return _explain_published(options)
    if options.further:
        return _explain_steps(options, [options.first, options.second, *options.further])
    explanation = _explain(options, options.second, ())
    code = COMPLETE
    if options.ask is not None:
        crossed_runs = _ask_crossed_runs(options, explanation)
        if crossed_runs:
            explanation = _explain(options, options.second, crossed_runs)
            finished = all(run.info.status == "complete" for run in crossed_runs)
            code = COMPLETE if finished else INCOMPLETE
    for warning in explanation.warnings:
        print_warning(warning)
    write_document(why_document(explanation.why), options)
    return code


def _check_options(options: Options) -> None:
    """Raises UsageError for options that contradict each other, before anything is asked."""
    if options.each < 0:
        raise UsageError(f"--each is {options.each}; expected 0 or more")
    if options.ask is None and (flags := _asking_flags(options.asking)):
        raise UsageError(f"{' and '.join(flags)} says how to ask; add --ask, or leave it out")
    if options.drawings():
        raise UsageError(f"-o {options.drawings()[0]}: there is nothing to draw here")
    options.texts()


def _asking_flags(asking: AskOptions) -> list[str]:
    """The flags of `AskOptions` that were typed."""
    return [
        flag.short or flag.name
        for field, flag, _ in option_flags(AskOptions)
        if any(
            getattr(asking, name) not in (None, ())
            for name in (field, *(key.field for key in (flag.keys or {}).values()))
        )
    ]


def _explain_published(options: Options) -> int:
    """Compare one run with what is published."""
    from snellen.api.why import explain_against_published
    from snellen.report.documents.why import published_document

    if options.ask is not None or options.others:
        raise UsageError("--ask and --runs tell two runs apart; give a second run")
    explanation = explain_against_published(options.first, options.sources)
    write_document(published_document(explanation), options)
    return COMPLETE


def _explain_steps(options: Options, runs: Sequence[str]) -> int:
    """Split each step of three or more runs."""
    from snellen.api.why import explain_steps
    from snellen.report.documents.why import steps_document

    if options.ask is not None or options.others:
        raise UsageError("--ask and --runs tell two runs apart; give the two runs of one step")
    explanations = explain_steps(runs, sources=options.sources)
    for warning in dict.fromkeys(line for each in explanations for line in each.warnings):
        print_warning(warning)
    write_document(steps_document([each.why for each in explanations]), options)
    return COMPLETE


def _explain(options: Options, second: str, crossed_runs: tuple[RunFolder, ...]) -> Explanation:
    from snellen.api.why import explain

    return explain(
        options.first, second, others=(*options.others, *crossed_runs), examples=options.each, sources=options.sources
    )


def _ask_crossed_runs(options: Options, explanation: Explanation) -> tuple[RunFolder, ...]:
    """Make the runs that separate the causes, once the user has agreed to the plan."""
    from snellen.analysis.causes.why import open_combinations
    from snellen.api.crossed_runs import CrossedRuns
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.progress import show_progress

    console = Terminal(stderr=True)
    # Made first: impossible options are refused also where nothing is left to ask.
    crossed = CrossedRuns(
        explanation.sides,
        explanation.why,
        explanation.folder,
        options.asking,
        moved=options.sources.data,
        serving=None if options.quiet else line_printer(console),
    )
    if not open_combinations(explanation.why) and all(side.info is not None for side in explanation.sides):
        line_printer(console)("--ask: nothing is left to ask that would tell causes apart")
        return ()
    with crossed as crossing:
        _confirm(options, crossing, console)
        try:
            with nullcontext(NoProgress()) if options.quiet else show_progress(console) as progress:
                return tuple(crossing.ask(options.command_line, progress))
        except RunInterrupted as stopped:
            exit_interrupted(stopped.run, console, options.command_line)


def _confirm(options: Options, crossed_runs: CrossedRuns, console: Console) -> None:
    """Print the plan and ask for consent. Raises UsageError without it."""
    from snellen.api.plan_table import plan_document
    from snellen.report.writers.terminal import print_document

    print_document(plan_document(crossed_runs.plan, options.quiet), console)
    if options.ask == CONSENT or not crossed_runs.max_requests:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"--ask would send up to {crossed_runs.max_requests:,} requests, and there is no "
            "terminal to agree in; write --ask yes"
        )
    question = f"send up to {crossed_runs.max_requests:,} requests? [y/N] "
    console.print(question, end="", markup=False, highlight=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was asked")
