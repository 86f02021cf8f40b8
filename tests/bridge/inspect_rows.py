"""Made-up rows of data sets as tasks of inspect_evals read them (inspect_rows.json). See lmms_eval_rows.py.

Rows lie in the cache of the hub; those of a split that is only read for examples are rows too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from lmms_eval_rows import Made, read_made


class Task(NamedTuple):
    """One task and what it reads."""

    data: tuple[Made, ...]
    options: dict[str, Any]
    judge: tuple[str, ...]


def read_tasks() -> dict[str, Task]:
    """The rows of each task."""
    stored = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return {
        name: Task(tuple(read_made(data, one["judge"]) for data in one["data"]), one["options"], tuple(one["judge"]))
        for name, one in stored.items()
    }


TASKS = read_tasks()
