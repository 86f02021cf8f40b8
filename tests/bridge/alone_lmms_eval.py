"""lmms-eval by itself: its own `simple_evaluate` with a scripted chat model.

    python alone_lmms_eval.py HOME WORK CHECKOUT < tasks.json > results.json

Run by `python -m tests.bridge.proof_lmms_eval` in lmms-eval's environment; nothing of Snellen is
imported. For each task: what the model was shown (texts, SHA-256 of pixels, samples of sound and
videos), what it replied, and the numbers of the results. A judge is a server on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.server
import json
import math
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from lmms_eval_rows import TASKS, place


def judge_reply(texts: str, known: tuple[str, ...]) -> str:
    """What the scripted judge says, by what it is told alone."""
    return known[hashlib.sha256(texts.encode()).digest()[0] % len(known)]


class Judge(http.server.BaseHTTPRequestHandler):
    """Answers chat completions."""

    known: tuple[str, ...] = ("1",)

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = "\n".join(text for message in sent["messages"] for text in texts_of(message["content"]))
        said = {"role": "assistant", "content": judge_reply(texts, self.known)}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        body = {"id": "judge", "object": "chat.completion", "created": 0, "choices": [choice], "usage": usage}
        data = json.dumps({**body, "model": sent.get("model") or "judge"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def texts_of(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]


def digest_picture(image: Any) -> str:
    return hashlib.sha256(f"{image.size}".encode() + image.convert("RGB").tobytes()).hexdigest()


def shown_part(content: Any) -> list[str]:
    if content.type == "text":
        return ["text", content.text]
    value = content.url
    if isinstance(value, str):
        return [content.type, hashlib.sha256(Path(value).read_bytes()).hexdigest()]
    if isinstance(value, dict) and "array" in value:
        import numpy

        data = numpy.asarray(value["array"], dtype="<f4").tobytes()
        return ["audio", hashlib.sha256(data + str(value["sampling_rate"]).encode()).hexdigest()]
    return [content.type, digest_picture(value)]


def main(home: str, work: str, checkout: str) -> None:
    tasks = json.load(sys.stdin)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    os.environ.update(HF_HOME=home, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", API_TYPE="openai")
    os.environ.update(OPENAI_API_KEY="none", OPENAI_API_URL=address, OPENAI_BASE_URL=address)
    os.environ.update(AZURE_API_KEY="none", AZURE_ENDPOINT=address)
    results: dict[str, Any] = {}
    with contextlib.redirect_stdout(sys.stderr):
        sys.path.insert(0, checkout)
        os.chdir(checkout)
        place(tasks, Path(home))
        from lmms_eval.tasks import TaskManager

        manager = TaskManager()
        seed_guesses()
        for task in tasks:
            Judge.known = TASKS[task].judge
            try:
                results[task] = run(task, manager, work)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the tool's code has
                print("".join(traceback.format_exception(error)), file=sys.stderr)
                results[task] = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    json.dump(results, sys.stdout)


def seed_guesses() -> None:
    """Let what a task guesses at random for a reply that it cannot read be drawn as over the bridge."""
    import random

    from lmms_eval.api.task import ConfigurableTask

    process = ConfigurableTask.process_results

    def process_seeded(self: Any, *arguments: Any, **named: Any) -> Any:
        random.seed(0)
        return process(self, *arguments, **named)

    ConfigurableTask.process_results = process_seeded


def run(task: str, manager: Any, work: str) -> dict[str, Any]:
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.protocol import ChatMessages

    class Scripted(lmms):
        """Says the gold answer, B, the gold answer in a sentence, and nothing, in turn."""

        is_simple = False
        accelerator = None

        def __init__(self) -> None:
            super().__init__()
            self.shown: dict[int, list[Any]] = {}
            self.replies: dict[int, list[str]] = {}

        def _reply(self, messages: Any, doc_id: int) -> str:
            said = [
                [message.role, *shown_part(part)]
                for message in ChatMessages(messages=messages).messages
                for part in message.content
            ]
            self.shown.setdefault(doc_id, []).append(said)
            turn = len(self.replies.setdefault(doc_id, []))
            gold = self.golds[doc_id]
            self.replies[doc_id].append((gold, "B", f"The answer is {gold}.", "")[(doc_id + turn) % 4])
            return self.replies[doc_id][-1]

        def generate_until(self, requests: Any) -> list[str]:
            said = []
            for request in requests:
                _, to_messages, _, doc_id, name, split = request.args
                said.append(self._reply(to_messages(self.task_dict[name][split][doc_id]), doc_id))
            return said

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        generate_until_multi_round = loglikelihood

    model = Scripted()
    loaded = manager.load_task_or_group([task], "chat")[task]
    model.golds = [gold_text(loaded, doc) for doc in loaded.eval_docs]
    told = argparse.Namespace(
        output_path=work, process_with_media=False, reasoning_tags=None, agentic_trace_mode="basic"
    )
    found = simple_evaluate(
        model=model, tasks=[task], task_manager=manager, cli_args=told, log_samples=False, bootstrap_iters=0
    )
    row = found["results"][task]
    numbers = {}
    for column, value in row.items():
        metric, _, key = column.rpartition(",")
        name = metric if key == "none" else f"{metric},{key}"
        if metric and "_stderr" not in metric:
            for part, one in value.items() if isinstance(value, dict) else [("", value)]:
                if isinstance(one, int | float) and math.isfinite(one):
                    numbers[f"{name}/{part}" if part else name] = float(one)
    order = range(len(model.golds))
    return {"shown": [model.shown[i] for i in order], "replies": [model.replies[i] for i in order], "metrics": numbers}


def gold_text(task: Any, doc: Any) -> str:
    with contextlib.suppress(Exception):
        gold = task.doc_to_target(doc)
        gold = gold[0] if isinstance(gold, list) and gold else gold
        return str(gold)
    return "A"


if __name__ == "__main__":
    main(*sys.argv[1:])
