"""The page and the figures of the hour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from benchmarks.perf.document import Results, section
from benchmarks.perf.figures import Figure, Part
from benchmarks.perf.machine import this_machine
from benchmarks.perf.origin import origin_of
from msgspec import Struct

State = Literal["done", "left out", "failed"]
TITLE = "Local models on a GPU"
METHOD = (
    "{device}. Whole runs of the bundled benchmark with all rotations and 16 new tokens in bfloat16. Reference A is "
    "transformers' processor and generate, a request after the other; Snellen shares what prompts have in common, "
    "and with `sharing=off` does not. vLLM alone is its chat interface, all prompts at once, beside `vllm-local/` "
    "inside of Snellen with store and records. Loading is not counted. {shapes} random weights, "
    "`bundled` is snellen/tiny{model}.{busy}"
)
_BUSY = " How busy the GPU was is the mean of what nvidia-smi said every half second."
_RATES = ("rate-", "vllm-", "replicas-")
"""Beginnings of the names of steps whose output is figures."""


class StepResult(Struct, frozen=True, omit_defaults=True):
    """How a step ended."""

    name: str
    title: str
    command: tuple[str, ...]
    state: State
    reason: str = ""
    """Why it was left out; of a failure the last lines."""
    seconds: float = 0.0
    output: Any = None
    """What it printed, as JSON."""


def write_report(out: Path, device: str, model: str, results: Sequence[StepResult]) -> None:
    """Write `gpu.md` and, with figures, `gpu.json`, anew after each step."""
    part = Part(
        "gpu",
        TITLE,
        METHOD.format(
            device=_device_name(device),
            shapes="0.3B and 2.5B are shapes with" if device == "cuda" else "`small` is a shape with",
            model=f", `real` is {model}" if model else "",
            busy=_BUSY if device == "cuda" else "",
        ),
        tuple(_figures(results)),
    )
    part = msgspec.structs.replace(part, origin=origin_of("gpu", "small"))
    if part.figures:
        command = f"python -m benchmarks.gpu{f' --model {model}' if model else ''}"
        found = Results(command, this_machine(), (part,))
        (out / "gpu.json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    (out / "gpu.md").write_text("\n".join(_page(device, model, results, part)) + "\n", encoding="utf-8")


def _device_name(device: str) -> str:
    if device != "cuda":
        return "No GPU: a rehearsal on the processor, whose figures show that every step works and measure nothing"
    import torch

    return torch.cuda.get_device_name()


def _figures(results: Sequence[StepResult]) -> Iterator[Figure]:
    for result in results:
        if result.state == "done" and result.name.startswith(_RATES):
            yield from msgspec.convert(result.output, list[Figure])


def _page(device: str, model: str, results: Sequence[StepResult], part: Part) -> Iterator[str]:
    machine = this_machine()
    yield "# The first hour on a GPU"
    yield ""
    yield (
        f"{_device_name(device)}; {machine.cores} cores of {machine.processor}, {machine.memory_gb:.0f} GB, "
        f"{machine.system}, {machine.day}. {'Real model: ' + model if model else 'No real model was named'}."
    )
    yield ""
    yield "| step | came | seconds | found, or why not |"
    yield "|---|---|---:|---|"
    for result in results:
        yield f"| {result.title} | {result.state} | {result.seconds:.0f} | {_remark(result)} |"
    if part.figures:
        yield from section(part)
    for result in results:
        if result.state == "failed":
            yield from ("", f"## {result.name} failed", "", "```text", result.reason, "```")


def _remark(result: StepResult) -> str:
    """What a step found, in a cell."""
    if result.state == "left out":
        return result.reason
    if result.state == "failed":
        return "see below"
    if result.name.startswith("parity-"):
        return "; ".join(_parity_findings(result.output))
    if result.name == "doctor":
        states = [check["state"] for check in result.output]
        return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return ""


def _parity_findings(output: Any) -> Iterator[str]:
    """Of each aspect how many of its questions are the same, what a backend does not tell, and failed requests."""
    checks = output["checks"]
    yield from (f"{one['aspect']} {one['equal']} of {one['compared']}" for one in checks if one["compared"])
    untold = [one["aspect"] for one in checks if not one["compared"]]
    if untold:
        yield f"not told by both: {', '.join(untold)}"
    yield from (f"{count} requests to {backend} failed" for backend, count in output["failed"].items() if count)
