"""`snellen run`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import nullcontext

from snellen.cli.main import COMPLETE, INCOMPLETE, INTERRUPTED, MISTAKE
from snellen.core.benchmark import Variant


def main(arguments: Namespace) -> int:
    from rich.console import Console

    from snellen.api import evaluate
    from snellen.engine.progress import Silent
    from snellen.engine.run import Interrupted
    from snellen.report.progress import watching
    from snellen.report.table import print_runs

    console = Console(stderr=True)
    variant = Variant(
        data=arguments.data,
        circular=arguments.circular,
        max_new_tokens=arguments.max_new_tokens,
        failures=arguments.failures,
    )
    try:
        with nullcontext(Silent()) if arguments.quiet else watching(console) as progress:
            results = evaluate(
                arguments.model,
                arguments.benchmark,
                out=arguments.out,
                store=arguments.store,
                variant=variant,
                limit=arguments.limit,
                seed=arguments.seed,
                columns=arguments.columns,
                extractor=arguments.extractor,
                load=arguments.load,
                command=arguments.command_line,
                progress=progress,
                html=not arguments.no_html,
            )
    except Interrupted as stopped:
        console.print(
            f"stopped; what was finished is kept in {stopped.run}\n"
            f"continue with: {arguments.command_line}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        # A local model may still be computing in its thread: do not wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    for skipped in results.skipped:
        print(f"skipped: {skipped.reason}", file=sys.stderr)
    if not results.runs:
        return MISTAKE
    print_runs([one.report() for one in results.runs], Console())
    for one in results.runs:
        page = one.path / "report.html"
        print(f"{'report' if page.exists() else 'run'}: {page if page.exists() else one.path}")
    incomplete = any(one.info.status != "complete" for one in results.runs)
    return INCOMPLETE if incomplete else COMPLETE
