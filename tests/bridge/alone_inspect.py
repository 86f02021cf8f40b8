"""inspect_evals by itself: `inspect_ai.eval` with a scripted model and a scripted grader.

    python alone_inspect.py HOME < tasks.json > results.json

Run by `python -m tests.bridge.proof_inspect` in the environment of inspect_evals; nothing of Snellen
is imported. By the id of the sample: what the model was shown, what it replied; and the metrics.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import math
import os
import random
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from inspect_rows import TASKS
from lmms_eval_rows import write_caches


def judge_reply(texts: str, known: tuple[str, ...]) -> str:
    """What the scripted judge says, by what it is told alone."""
    return known[hashlib.sha256(texts.encode()).digest()[0] % len(known)]


def main(home: str, *_: str) -> None:
    tasks = json.load(sys.stdin)
    os.environ.update(HF_HOME=home, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
    os.environ["XDG_CACHE_HOME"] = str(Path(home) / "inspect_cache")
    results: dict[str, Any] = {}
    with contextlib.redirect_stdout(sys.stderr):
        write_caches([made for task in tasks for made in TASKS[task].data], Path(home))
        hub = __import__("inspect_evals.utils.huggingface", fromlist=["huggingface"])
        hub.should_retry = lambda error: False
        sources = __import__("inspect_ai.dataset._sources.hf", fromlist=["hf"])
        sources._call_with_hf_retry = lambda load: load()
        for task in tasks:
            try:
                results[task] = run(task)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the tool's code has
                print("".join(traceback.format_exception(error)), file=sys.stderr)
                results[task] = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    json.dump(results, sys.stdout)


def run(name: str) -> dict[str, Any]:
    import ast
    import importlib

    import inspect_ai
    import inspect_evals
    from inspect_ai._util.registry import RegistryInfo, registry_add
    from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi
    from inspect_ai.solver._task_state import sample_state

    registry = ast.parse((Path(inspect_evals.__file__).parent / "_registry.py").read_text("utf-8"))
    (module,) = [
        node.module
        for node in registry.body
        if isinstance(node, ast.ImportFrom)
        for one in node.names
        if one.name == name
    ]
    shown: dict[str, list[Any]] = {}
    replies: dict[str, list[str]] = {}
    known = TASKS[name].judge

    class Scripted(ModelAPI):
        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            state = sample_state()
            key = str(state.sample_id)
            shown.setdefault(key, []).append([part for message in input for part in shown_message(message)])
            turn = len(replies.setdefault(key, []))
            gold = state.target.text
            kinds = (f"ANSWER: {gold}", gold, "ANSWER: B", f"So the answer is {gold}.", "")
            place = int(hashlib.sha256(key.encode()).hexdigest(), 16) + turn
            replies[key].append(kinds[place % len(kinds)])
            return ModelOutput.from_content("scripted", replies[key][-1])

    class Grader(ModelAPI):
        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            if tools:
                raise RuntimeError("the grader is given tools")
            texts = [kind[2] for message in input for kind in shown_message(message) if kind[1] == "text"]
            return ModelOutput.from_content("grader", judge_reply("\n".join(texts), known))

    random.seed(0)
    __import__("numpy").random.seed(0)
    task = getattr(importlib.import_module(module), name)(**TASKS[name].options)
    modelapi(name="scripted")(Scripted)
    modelapi(name="scripted_grader")(Grader)
    # Tasks that take the name of a grader are given this one: it needs no key.
    importlib.import_module("inspect_ai.model._providers.providers")
    registry_add(type("Named", (Grader,), {}), RegistryInfo(type="modelapi", name="inspect_ai/mockllm"))
    models = [get_model(f"{provider}/model", memoize=False) for provider in ("scripted", "scripted_grader")]
    with tempfile.TemporaryDirectory() as folder:
        (log,) = inspect_ai.eval(
            task,
            model=models[0],
            model_roles={"grader": models[1]},
            log_dir=folder,
            epochs=1,
            max_samples=1,
            display="none",
        )
    if log.status != "success":
        raise RuntimeError(log.error.message if log.error else log.status)
    alone = len(log.results.scores) == 1
    metrics = {
        metric if alone else f"{score.name}/{metric}": value.value
        for score in log.results.scores
        for metric, value in score.metrics.items()
        if math.isfinite(value.value)
    }
    return {"shown": shown, "replies": replies, "metrics": metrics}


def shown_message(message: Any) -> list[list[str]]:
    content = message.content
    parts = [["text", content]] if isinstance(content, str) else [shown_part(part) for part in content]
    return [[message.role, *part] for part in parts]


def shown_part(part: Any) -> list[str]:
    if part.type == "text":
        return ["text", part.text]
    link = getattr(part, part.type)
    data = base64.b64decode(link.partition(",")[2]) if link.startswith("data:") else Path(link).read_bytes()
    if part.type == "image":
        from PIL import Image

        image = Image.open(io.BytesIO(data))
        return ["image", hashlib.sha256(f"{image.size}".encode() + image.convert("RGB").tobytes()).hexdigest()]
    return [part.type, hashlib.sha256(data).hexdigest()]


if __name__ == "__main__":
    main(*sys.argv[1:])
