"""`snellen hub worker`."""

from __future__ import annotations

import signal
from argparse import ArgumentParser, Namespace

from snellen.cli.commands.hub import add_folder
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "--until-empty", action="store_true", help="end once no submission waits to be scored"
    )


def main(arguments: Namespace) -> int:
    """Score submissions. Ctrl-C and SIGTERM end it after the one at hand; a second one at once."""
    from snellen.leaderboard_hub.hub import open_hub
    from snellen.leaderboard_hub.jobs.worker import Worker

    hub = open_hub(arguments.folder)
    worker = Worker(hub, lambda line: print_line(line, flush=True))

    def stop(*_: object) -> None:
        worker.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    print_line(f"worker {worker.name}: waiting for submissions", flush=True)
    worker.work(until_empty=arguments.until_empty)
    hub.close()
    return COMPLETE
