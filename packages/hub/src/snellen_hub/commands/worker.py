"""`snellen hub worker`."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from snellen.api.flags import option
from snellen.cli.output import print_line
from snellen.core.errors import COMPLETE, UsageError
from snellen_hub.commands import hub_folder

_MOST_PROCESSES = 256


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen hub worker` takes."""

    folder: str = hub_folder()
    processes: int = option(1, "--processes", "workers to run, a process each", metavar="N", parse=int)
    until_empty: bool = option(False, "--until-empty", "end once no submission waits to be scored", is_switch=True)


def main(options: Options) -> int:
    """Score submissions. Ctrl-C and SIGTERM end it: the submission at hand has eight seconds to be
    done and is given back otherwise; a second signal gives it back at once."""
    from snellen_hub.hub import open_hub
    from snellen_hub.jobs.supervisor import WorkerGroup
    from snellen_hub.jobs.worker import Worker
    from snellen_hub.key_check import check_key

    if not 1 <= options.processes <= _MOST_PROCESSES:
        raise UsageError(f"--processes {options.processes}: expected a number from 1 to {_MOST_PROCESSES}")
    with open_hub(options.folder) as hub:
        check_key(hub, is_needed=True)
        if options.processes == 1:
            worker = Worker(hub, _print)
            _on_signal(worker.stop)
            print_line(f"worker {worker.name}: waiting for submissions", flush=True)
            worker.work(until_empty=options.until_empty)
            return COMPLETE
    command = [sys.executable, "-m", "snellen", "hub", "worker", options.folder]
    command += ["--until-empty"] if options.until_empty else []
    group = WorkerGroup(command, options.processes, _print)
    _on_signal(group.stop)
    return group.run()


def _print(line: str) -> None:
    print_line(line, flush=True)


def _on_signal(stop: Callable[[], None]) -> None:
    """Call `stop` on Ctrl-C and SIGTERM, in a thread: it takes locks that the interrupted code may
    hold."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=stop).start())
