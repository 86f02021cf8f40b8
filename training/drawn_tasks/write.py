"""Writes drawn tasks as a benchmark in MMT-Bench's layout: `python -m training.drawn_tasks.write`.

A row is a multiple-choice question about one picture, with the subtask in the column `category`
and its meta-task in `l2-category`; `snellen run -b mmt-bench --data FILE` takes it.

Each task is asked in five wordings, and every second five of its questions ask whether an answer is
right, with options that all tasks share: neither one sentence nor the options alone tell a task.
"""

from __future__ import annotations

import argparse
import base64
import csv
import random
import tomllib
from pathlib import Path

from training.drawn_tasks import counting, locating, patterns, reading, recognition
from training.drawn_tasks.task import DrawnTask
from training.tiny.drawing import png
from training.tiny.prompts import LETTERS

TASKS: tuple[DrawnTask, ...] = (*recognition.TASKS, *counting.TASKS, *locating.TASKS, *reading.TASKS, *patterns.TASKS)
WORDINGS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8"))
VERDICTS = (("yes", "no"), ("right", "wrong"), ("true", "false"), ("correct", "incorrect"))
SAMPLES = 200
"""Of each task, as many as MMT-Bench has of a subtask (Section 3.2)."""


def rows(tasks: tuple[DrawnTask, ...] = TASKS, samples: int = SAMPLES, seed: int = 0) -> list[dict[str, str]]:
    """The cells of every row. No two pictures of a task are equal, and the right letters of each
    number of options are used equally often."""
    return [row for task in tasks for row in _task_rows(task, samples, seed)]


def _task_rows(task: DrawnTask, samples: int, seed: int) -> list[dict[str, str]]:
    rng = random.Random(f"drawn-tasks/{seed}/{task.name}")
    seen: set[bytes] = set()
    found: list[dict[str, str]] = []
    while len(found) < samples:
        drawn = task.ask(rng)
        picture = png(drawn.picture)
        if picture in seen:
            continue
        seen.add(picture)
        number = len(found)
        wordings = [drawn.text, *WORDINGS[task.name]]
        text = wordings[number % len(wordings)].format(*drawn.names)
        turn, is_judged = divmod(number // len(wordings), 2)
        answer, wrong = drawn.answer, list(drawn.wrong)
        if is_judged:
            candidate = rng.choice([answer, rng.choice(wrong)])
            verdicts = VERDICTS[turn % len(VERDICTS)]
            text += f" Somebody says: {candidate}."
            answer, other = verdicts if candidate == answer else verdicts[::-1]
            wrong = [other]
        wrong = rng.sample(wrong, min(len(LETTERS) - 1, len(wrong)))
        right = number % (len(wrong) + 1)
        options = [*wrong[:right], answer, *wrong[right:]]
        found.append(
            {
                "index": f"{task.name}-{number}",
                "image": base64.b64encode(picture).decode(),
                "question": text,
                **dict(zip(LETTERS, options, strict=False)),
                "answer": LETTERS[right],
                "category": task.name,
                "l2-category": task.meta_task,
                "split": "VAL",
            }
        )
    return found


def write(path: Path, cells: list[dict[str, str]]) -> None:
    """The rows as a tab separated file."""
    columns = ["index", "image", "question", *LETTERS, "answer", "category", "l2-category", "split"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(cells)


def main() -> None:
    """Write the file and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("drawn-tasks.tsv"))
    parser.add_argument("--samples", type=int, default=SAMPLES, help="questions of each task")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    cells = rows(samples=given.samples, seed=given.seed)
    write(given.out, cells)
    print(f"{len(cells)} questions of {len(TASKS)} tasks in {given.out}")


if __name__ == "__main__":
    main()
