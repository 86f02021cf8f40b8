"""Whether a map of halves places the two halves of a task together, for each of its seeds:
`python -m training.drawn_tasks.check taskmap/taskmap.json`. Ends with 1 if a seed does so for too
small a share of the tasks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from snellen.taskmap.findings import TaskMapFindings

LEAST = 0.9


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share of each seed, and the tasks that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("map", type=Path)
    parser.add_argument("--least", type=float, default=LEAST, help="least share of the tasks")
    given = parser.parse_args(arguments)
    found = msgspec.json.decode(given.map.read_bytes(), type=TaskMapFindings).map
    if found is None or not found.by_seed or not found.halves:
        print(f"{given.map} holds no map of halves with several seeds")
        return 2
    shares = []
    for each in found.by_seed:
        shares.append(1 - len(each.failing) / each.tested)
        failing = f"; not so: {', '.join(each.failing)}" if each.failing else ""
        print(f"seed {each.seed}: {100 * shares[-1]:.0f} % of {each.tested} tasks{failing}")
    return 0 if min(shares) >= given.least else 1


if __name__ == "__main__":
    sys.exit(main())
