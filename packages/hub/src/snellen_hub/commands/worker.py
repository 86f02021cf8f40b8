"""`snellen hub worker`."""

from __future__ import annotations

import signal
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import whole_number
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "--processes", type=whole_number(1, 256), default=1, metavar="N",
        help="workers to run, a process each (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--until-empty", action="store_true", help="end once no submission waits to be scored"
    )


def main(arguments: Namespace) -> int:
    """Score submissions. Ctrl-C and SIGTERM end it: the submission at hand has eight seconds to be
    done and is given back otherwise; a second signal gives it back at once."""
    from snellen_hub.hub import open_hub
    from snellen_hub.jobs.supervisor import WorkerGroup
    from snellen_hub.jobs.worker import Worker
    from snellen_hub.key_check import check_key

    with open_hub(arguments.folder) as hub:
        check_key(hub, is_needed=True)
        if arguments.processes == 1:
            worker = Worker(hub, _print)
            _on_signal(worker.stop)
            print_line(f"worker {worker.name}: waiting for submissions", flush=True)
            worker.work(until_empty=arguments.until_empty)
            return COMPLETE
    command = [sys.executable, "-m", "snellen", "hub", "worker", arguments.folder]
    command += ["--until-empty"] if arguments.until_empty else []
    group = WorkerGroup(command, arguments.processes, _print)
    _on_signal(group.stop)
    return group.run()


def _print(line: str) -> None:
    print_line(line, flush=True)


def _on_signal(stop: Callable[[], None]) -> None:
    """Call `stop` on Ctrl-C and SIGTERM, in a thread: it takes locks that the interrupted code may
    hold."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=stop).start())
