"""vLLM alone and inside of Snellen (`vllm-local/`) on the same prompts: samples a second, as JSON.

Each is measured in a process of its own, so that the first leaves no GPU memory behind. Loading is
not counted, and the first requests, which compile, are not either.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from benchmarks.perf.figures import figure
from benchmarks.perf.questions import TOKENS, passes

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.media import decode_image
from snellen.core.request import Generate, Media
from snellen.models.vllm_local.prompt import conversation, image_part

_WARM = 8
"""Prompts that are answered before the clock starts."""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.vllm_alone")
    parser.add_argument("--model", required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--questions", type=int, required=True)
    parser.add_argument("--only", choices=("alone", "inside"), help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.only:
        rate = {"alone": _alone, "inside": _inside}[given.only](given.model, given.questions)
        print(f"\n{rate}")
        return 0
    rates = {only: _measured(words, only) for only in ("alone", "inside")}
    name = f"{given.label}: vLLM alone"
    inside = f"{given.label}: vllm-local/ inside of Snellen"
    figures = [
        figure(name, "prompts/s", [rates["alone"]]),
        figure(inside, "prompts/s", [rates["inside"]], reference=name, against=[rates["alone"]]),
    ]
    sys.stdout.buffer.write(msgspec.json.encode(figures))
    return 0


def _measured(words: Sequence[str], only: str) -> float:
    """Of a process of its own, whose last line is the rate."""
    command = [sys.executable, "-m", "benchmarks.gpu.vllm_alone", *words, "--only", only]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout.split()[-1])


def _alone(model: str, questions: int) -> float:
    """vLLM's own chat interface, all prompts at once."""
    import torch
    from vllm import LLM, SamplingParams

    # On a processor compiling takes longer than all answers.
    eager = not torch.cuda.is_available()
    llm: Any = LLM(model, dtype="bfloat16", max_model_len=4096, enforce_eager=eager, limit_mm_per_prompt={"image": 1})
    requests = [request for request in passes(questions) if isinstance(request, Generate)]
    chats = [conversation(request.messages, lambda part, of=request: _image(part, of)) for request in requests]
    sampling = SamplingParams(max_tokens=TOKENS, temperature=0.0)
    llm.chat(chats[:_WARM], sampling)
    started = perf_counter()
    llm.chat(chats[_WARM:], sampling)
    return len(chats[_WARM:]) / (perf_counter() - started)


def _image(part: Media, request: Generate) -> dict[str, Any]:
    return image_part(decode_image(request.media[part.digest].read()), part.digest)


def _inside(model: str, questions: int) -> float:
    """The whole of Snellen, store and records included, over the same prompts."""
    import torch

    from snellen.models.naming.registry import open_model

    options = {} if torch.cuda.is_available() else {"eager": "yes"}
    opened = open_model(f"vllm-local/{model}", {"dtype": "bfloat16", "context": "4096", **options})
    variant = Variant(circular="full", max_new_tokens=TOKENS)
    with tempfile.TemporaryDirectory(prefix="snellen-gpu-") as folder:
        evaluate([opened], "eyechart", variant=variant, limit=2, out=Path(folder, "warm"), html=False)
        started = perf_counter()
        results = evaluate([opened], "eyechart", variant=variant, limit=questions, out=Path(folder, "run"), html=False)
        took = perf_counter() - started
    return results.runs[0].info.counts.sent / took


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
