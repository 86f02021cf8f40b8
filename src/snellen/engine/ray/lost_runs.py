"""Marks the runs of a process that Ray has ended, and prints how to continue them.

Started by `watchdog` as `python -m snellen.engine.ray.lost_runs OUT SINCE`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec import structs

from snellen.core.errors import RunLocked, StorageError, UsageError
from snellen.store.runs import RUN_FILE, RunFolder, RunWriter, find_runs, recover_spent

LOST_REASON = "the Ray node that ran this command ended, and the command with it"


def mark_lost_runs(out: Path, since: float) -> list[RunFolder]:
    """Mark runs in `out` as interrupted, and return them.

    These are the runs that a process which is gone was writing since a time (seconds since 1970).
    """
    try:
        runs = find_runs(out)
    except UsageError:
        return []
    marked = []
    for run in runs:
        if run.info.status != "running" or (run.path / RUN_FILE).stat().st_mtime < since:
            continue
        try:
            with RunWriter(run.path) as writer:
                spent = recover_spent(writer.path, run.info.spent)
                info = structs.replace(run.info, status="interrupted", stopped=LOST_REASON, spent=spent)
                writer.write_info(info)
        except (RunLocked, StorageError):
            continue
        marked.append(run)
    return marked


def main(out: str, since: str) -> None:
    lines = [f"snellen: {LOST_REASON}"]
    for run in mark_lost_runs(Path(out), float(since)):
        lines.append(f"stopped; what was finished is kept in {run.path}")
        if run.info.command:
            lines.append(f"continue with: {run.info.command}")
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:3])
