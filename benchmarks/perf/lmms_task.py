"""The questions of `remote.py` as a task of lmms-eval; runs in an environment that has it.

`python lmms_task.py TSV URL COUNT [CONNECTIONS]` prints seconds and processor seconds as JSON.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAME = "snellen_perf"
TASK = f"""\
task: {NAME}
dataset_path: %s
dataset_kwargs: {{load_from_disk: true}}
test_split: test
output_type: generate_until
doc_to_visual: !function shown.pictures
doc_to_text: !function shown.text
doc_to_target: answer
process_results: !function shown.results
generation_kwargs: {{max_new_tokens: 16, temperature: 0}}
metric_list:
  - metric: right
    aggregation: !function shown.mean
    higher_is_better: true
"""
SHOWN = """\
def pictures(doc):
    return [doc["image"].convert("RGB")]


def text(doc, lmms_eval_specific_kwargs=None):
    return doc["question"]


def results(doc, results):
    return {"right": float(results[0].strip() == doc["answer"])}


def mean(results):
    return sum(results) / len(results)
"""
"""As the tasks that come with it are written."""


def rows(path: Path, count: int) -> Iterator[dict[str, Any]]:
    with path.open() as file:
        next(file)
        for _, line in zip(range(count), file, strict=False):
            _, image, question, *options, answer = line.rstrip("\n").split("\t")
            lines = [f"{letter}. {text}" for letter, text in zip("ABCD", options, strict=True)]
            picture = {"bytes": base64.b64decode(image), "path": None}
            yield {"image": picture, "question": "\n".join([question, *lines]), "answer": answer}


def written(path: Path, count: int, folder: Path) -> None:
    """The task and its data, as lmms-eval wants them."""
    from datasets import Dataset, DatasetDict, Features, Image, Value

    features = Features({"image": Image(), "question": Value("string"), "answer": Value("string")})
    data = Dataset.from_list(list(rows(path, count)), features=features)
    DatasetDict({"test": data}).save_to_disk(str(folder / "data"))
    (folder / f"{NAME}.yaml").write_text(TASK % (folder / "data"))
    (folder / "shown.py").write_text(SHOWN)


def main() -> None:
    path, url, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    more = f",num_concurrent={sys.argv[4]}" if len(sys.argv) > 4 else ""
    folder = path.parent / "lmms"
    if not folder.exists():
        folder.mkdir()
        written(path, count, folder)
    os.environ.setdefault("OPENAI_API_KEY", "none")
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    tasks = TaskManager(include_path=str(folder), include_defaults=False)
    began, used = time.perf_counter(), time.process_time()
    found = simple_evaluate(
        model="openai",
        model_args=f"model_version=perf,base_url={url},api_key=none{more}",
        tasks=[NAME],
        task_manager=tasks,
        batch_size=1,
        cli_args=None,
    )
    took, cpu = time.perf_counter() - began, time.process_time() - used
    right = next(value for key, value in found["results"][NAME].items() if key.startswith("right"))
    if right != 1.0:
        raise SystemExit(f"lmms-eval scored {right}; the server always answers right")
    print(json.dumps({"seconds": took, "cpu": cpu}))


if __name__ == "__main__":
    main()
