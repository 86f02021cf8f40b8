"""The questions of `remote.py` as a task of Inspect; runs in an environment that has it.

`python inspect_task.py TSV URL COUNT [CONNECTIONS]` prints seconds and processor seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def samples(path: Path, count: int) -> Iterator[Any]:
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText

    with path.open() as file:
        next(file)
        for _, line in zip(range(count), file, strict=False):
            number, image, question, *options, _ = line.rstrip("\n").split("\t")
            shown = ContentImage(image=f"data:image/jpeg;base64,{image}")
            asked = ChatMessageUser(content=[shown, ContentText(text=question)])
            yield Sample(id=int(number), input=[asked], choices=options, target="B")


def main() -> None:
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    path, url, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    more = {"max_connections": int(sys.argv[4])} if len(sys.argv) > 4 else {}
    began, used = time.perf_counter(), time.process_time()
    task = Task(list(samples(path, count)), solver=multiple_choice(), scorer=choice())
    model = get_model("openai-api/perf/perf", base_url=url, api_key="none")
    (log,) = inspect_eval(task, model=model, display="none", log_dir=str(path.parent / "logs"), **more)
    took, cpu = time.perf_counter() - began, time.process_time() - used
    if log.status != "success":
        raise SystemExit(str(log.error))
    print(json.dumps({"seconds": took, "cpu": cpu}))


if __name__ == "__main__":
    main()
