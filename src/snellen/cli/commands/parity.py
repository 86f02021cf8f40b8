"""`snellen parity`."""

from __future__ import annotations

from argparse import Namespace

from snellen.cli.commands.run import download_printer, line_printer
from snellen.cli.main import COMPLETE, INCOMPLETE
from snellen.core.benchmark import Variant


def main(arguments: Namespace) -> int:
    import msgspec

    from snellen.api import parity
    from snellen.report.console import Terminal
    from snellen.report.terminal.parity import print_parity

    console = Terminal(stderr=True)
    found = parity(
        arguments.model,
        arguments.benchmark,
        limit=arguments.limit,
        seed=arguments.seed,
        out=arguments.out,
        store=arguments.store,
        variant=Variant(max_new_tokens=arguments.max_new_tokens),
        load=arguments.load,
        tolerance=arguments.tolerance,
        serve_timeout=arguments.serve_timeout,
        serving=line_printer(console),
        fetching=download_printer(console),
    )
    if arguments.json:
        print(msgspec.json.encode({**msgspec.structs.asdict(found), "equal": found.equal}).decode())
    else:
        print_parity(found, Terminal())
    return COMPLETE if found.equal else INCOMPLETE
