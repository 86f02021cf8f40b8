"""The first hour on a GPU: is everything there, do the backends agree, how fast are they, and how
busy is the GPU. One command, which goes on where it was stopped.

    python -m benchmarks.gpu --model ORG/NAME --out gpu-report

Each step is a process of its own, whose result is kept at once under `--out`. A step that fails or
lasts too long is reported with its last lines, and the others are done; the same command tries it
again. `--out/gpu.md` is the page, `--out/gpu.json` the figures for docs/performance.md. Without a
GPU the same steps run at small size on the CPU, and the page says what was left out.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.gpu.report import StepResult, write_report
from benchmarks.gpu.steps import Plan, Step, plan_steps

from snellen.core.watchdog import guard_processes

_LINES = 12
"""Last lines of a step that failed."""


def main(words: Sequence[str] | None = None) -> int:
    """0 if every step was done or left out, 1 if one failed."""
    given = _arguments(words)
    plan = _plan(given)
    started, results = time.monotonic(), []
    for step in plan_steps(plan):
        result = _kept_result(plan.out, step)
        if result is None:
            left = 60 * given.minutes - (time.monotonic() - started)
            print(f"{step.name}: {step.title}", flush=True)
            result = _do(step, left)
            _keep(plan.out, result)
            print(f"  {result.state} in {result.seconds:.0f} s{': ' * bool(result.reason)}{result.reason}", flush=True)
        results.append(result)
        write_report(plan.out, plan.device, plan.model, results)
    figures = plan.out / "gpu.json"
    print(f"page: {plan.out / 'gpu.md'}; figures: {figures if figures.is_file() else 'none'}")
    return 1 if any(result.state == "failed" for result in results) else 0


def _do(step: Step, left: float) -> StepResult:
    """Run a step, for at most `left` seconds of the hour."""
    if step.missing:
        return StepResult(step.name, step.title, step.command, "left out", step.missing)
    if left <= 0:
        return StepResult(step.name, step.title, step.command, "left out", "the time is over; the same command goes on")
    started = time.monotonic()
    try:
        code, out, err = _run(step.command, min(step.limit, left))
    except subprocess.TimeoutExpired:
        took = time.monotonic() - started
        return StepResult(step.name, step.title, step.command, "failed", f"ended after {took:.0f} s", took)
    took = time.monotonic() - started
    # 1 is a result too: of `parity` that the backends differ, of `doctor` that something is missing.
    output = _json_of(out) if code in (0, 1) else None
    if output is None:
        lines = (err.strip() or out.strip()).splitlines()[-_LINES:]
        reason = "\n".join(lines) or f"exit code {code}"
        return StepResult(step.name, step.title, step.command, "failed", reason, took)
    return StepResult(step.name, step.title, step.command, "done", seconds=took, output=output)


def _run(command: Sequence[str], limit: float) -> tuple[int, str, str]:
    """Exit code and output of a command. All that it started is ended with it, also where this process
    is killed: a model that is left behind holds the memory that the next step needs. Raises TimeoutExpired."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        watchdog = guard_processes([-process.pid], 10.0)
        try:
            out, err = process.communicate(timeout=limit)
            return process.returncode, out, err
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            watchdog.communicate(b"ended\n")


def _json_of(text: str) -> Any:
    """The last line that is JSON; libraries print above it."""
    for line in reversed(text.strip().splitlines()):
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(line)
    return None


def _kept_result(out: Path, step: Step) -> StepResult | None:
    """The result of an earlier call, if it did this very step."""
    file = _file(out, step.name)
    if not file.is_file():
        return None
    result = msgspec.json.decode(file.read_bytes(), type=StepResult)
    return result if result.state == "done" and result.command == step.command else None


def _keep(out: Path, result: StepResult) -> None:
    file = _file(out, result.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(result))


def _file(out: Path, name: str) -> Path:
    return out / "steps" / f"{name}.json"


def _plan(given: argparse.Namespace) -> Plan:
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    questions = given.questions or (100 if gpus else 4)
    return Plan(given.model, "cuda" if gpus else "cpu", gpus, questions, given.out)


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", default="", metavar="ORG/NAME", help="a real model beside the bundled one, or its folder"
    )
    parser.add_argument("--out", type=Path, default=Path("gpu-report"), metavar="DIR")
    parser.add_argument("--questions", type=int, help="questions of each measurement (100; without a GPU 4)")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no further step begins (60)")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
