"""`snellen controls`."""

from __future__ import annotations

from argparse import Namespace

from snellen.cli.main import COMPLETE
from snellen.core.errors import UsageError


def main(arguments: Namespace) -> int:
    from snellen.analysis.controls import gains, leakages
    from snellen.store.runs import RunFolder, find_runs, open_run

    found: dict[object, RunFolder] = {}
    for path in arguments.runs:
        for run in find_runs(path):
            found.setdefault(run.path.resolve(), run)
    runs = list(found.values())
    base = arguments.language_model
    leaked = leakages(runs, open_run(base)) if base else []
    if base and not leaked:
        raise UsageError(
            "--language-model: none of the runs is blind and of the same benchmark; make one with "
            "--control blind"
        )
    gained = gains(runs)
    if not gained and not leaked:
        raise UsageError(
            "no two of the runs are of one model on the same samples and differ in a control, "
            "cot=on or shots alone; make such a run, e.g. with --control blind"
        )
    if arguments.json:
        import msgspec

        print(msgspec.json.encode({"gains": gained, "leakages": leaked}).decode())
        return COMPLETE
    from rich.console import Console

    from snellen.report.controls_table import print_gains, print_leakages

    console = Console()
    print_gains(gained, console)
    print_leakages(leaked, console)
    return COMPLETE
