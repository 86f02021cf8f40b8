"""`snellen gains`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import SourceOptions
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_group, add_json, add_plot, add_runs, open_runs, read_options
from snellen.cli.printing import print_json
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.analysis.causes.gains import Gain
    from snellen.analysis.findings.leakage import Leakage
    from snellen.store.runs import RunFolder


def add(parser: ArgumentParser) -> None:
    add_runs(parser)
    parser.add_argument(
        "--by", metavar="SETTING",
        help="the setting, e.g. images, referring, lang (default: control, cot and "
            "shots, each against the run without it)",
    )  # fmt: skip
    parser.add_argument(
        "--base", metavar="VALUE",
        help="baseline value of the setting (default: the run without it, else the first)",
    )  # fmt: skip
    add_group(parser, default="")
    parser.add_argument(
        "--language-model", metavar="RUN",
        help="a blind run of the language model on which the models are based; shows the "
            "multi-modal leakage",
    )  # fmt: skip
    add_plot(parser)
    add_json(parser)


def main(arguments: Namespace) -> int:
    """Print, and draw, what a setting is worth in these runs."""
    runs = open_runs(arguments.runs, read_options(arguments, SourceOptions))
    leakages = _compute_leakages(runs, arguments.language_model)
    gains = _compute_gains(arguments, runs, required=not leakages)
    if arguments.output is not None:
        from snellen.report.plots.figure import save_plot
        from snellen.report.terminal.gains import gain_plot

        if not gains:
            raise UsageError("there is no gain to draw; leave out -o")
        save_plot(gain_plot(gains), Path(arguments.output))
    if arguments.json:
        print_json({"gains": gains, "leakages": leakages})
        return COMPLETE
    from snellen.report.console import Terminal
    from snellen.report.terminal.gains import print_gains, print_leakages

    console = Terminal()
    print_gains(gains, console)
    print_leakages(leakages, console)
    return COMPLETE


def _compute_gains(arguments: Namespace, runs: list[RunFolder], required: bool) -> list[Gain]:
    from snellen.analysis.causes.gains import gains

    pairs = gains(runs, arguments.by, base=arguments.base, group=arguments.group or None)
    if pairs or not required:
        return pairs
    what = f"in {arguments.by!r} alone" if arguments.by else "in a control, cot or shots alone"
    base = f", one of them with {arguments.base!r}" if arguments.base else ""
    advice = "make such a run, e.g. with --control blind"
    if arguments.by:
        advice = "give runs with different settings of it"
        parameters = [run.info.config.parameters for run in runs]
        if others := sorted({name for one in parameters for name in one
                             if len({two.get(name) for two in parameters}) > 1}):  # fmt: skip
            advice += f"; these differ in {', '.join(others)}"
    raise UsageError(
        f"no two runs (of {len(runs)} given) are of one model and benchmark and differ "
        f"{what}{base}; {advice}"
    )


def _compute_leakages(runs: list[RunFolder], language_model: str | None) -> list[Leakage]:
    from snellen.analysis.findings.leakage import leakages
    from snellen.store.runs import open_run

    if language_model is None:
        return []
    results = leakages(runs, open_run(language_model))
    if not results:
        raise UsageError(
            "--language-model: none of the runs is blind and of the same benchmark; make one with "
            "--control blind"
        )
    return results
