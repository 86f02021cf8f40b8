"""MEGA-Bench's 505 tasks and what they are counted by: facts of `data/mega_bench_tasks.csv`."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from importlib.resources import files

from snellen.benchmarks.protocol.judged_summary import SEPARATOR

TASK, SUBSET, SKILL = "task", "subset", "skill"
NOT_SCORED = "not_scored"
"""Group of the questions that no metric here scores: the metric's name."""
CORE, OPEN = "core", "open"
DIMENSIONS = ("application", SKILL, "input_format", "output_format", "input_number")
"""What the tasks are divided by (Sec. 3.1); a task needs several skills."""


@functools.cache
def task_groups() -> Mapping[str, Mapping[str, str]]:
    """Each task's subset and dimensions; several skills are joined by `SEPARATOR`."""
    text = (files("snellen.benchmarks") / "data" / "mega_bench_tasks.csv").read_text("utf-8")
    return {
        row["task"]: {
            SUBSET: row["subset"],
            "application": row["application"],
            SKILL: SEPARATOR.join(row["skills"].split(";")),
            "input_format": row["input_format"],
            "output_format": row["output_format"],
            "input_number": row["input_number"],
        }
        for row in csv.DictReader(text.splitlines())
    }
