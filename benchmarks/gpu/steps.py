"""What is done in the hour, each step a command of its own that prints JSON."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from snellen.models.hf.bundled import WEIGHTS

BUNDLED = "snellen/tiny"
_MINUTE = 60.0
_BACKENDS = {
    "vllm": ("vllm serve", "pip install vllm"),
    "vllm-local": ("the package vllm in this environment", "pip install 'snellen[vllm]'"),
    "sglang": ("the package sglang in this environment", "pip install sglang"),
    "transformers": ("`transformers serve`", "pip install 'transformers[serving]'"),
}
"""By provider: what it needs, and how to get it."""


def copy_bundled(out: Path) -> Path:
    """The bundled model in a folder of its own, with the names of tensors that transformers 4 gave
    them: vLLM 0.32 knows no others."""
    from safetensors.torch import load_file, save_file

    source, folder = WEIGHTS / BUNDLED.partition("/")[2], out / "bundled"
    if not (folder / "model.safetensors").is_file():
        shutil.copytree(source, folder, dirs_exist_ok=True)
        weights = load_file(source / "model.safetensors")
        renamed = {name.replace("vision_tower.", "vision_tower.vision_model."): one for name, one in weights.items()}
        save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


class Plan(NamedTuple):
    """What the hour is about."""

    model: str
    """Hub id or folder of a real model; "" for the bundled one alone."""
    device: str
    """`cuda`, or `cpu` for the rehearsal at small size."""
    gpus: int
    questions: int
    """Questions of each measurement of a rate."""
    out: Path

    @property
    def models(self) -> dict[str, str]:
        """Checkpoints by the short name that steps and tables have for them."""
        bundled = {"bundled": str(copy_bundled(self.out))}
        return bundled | ({"real": self.model} if self.model else {})


class Step(NamedTuple):
    name: str
    title: str
    command: tuple[str, ...]
    limit: float
    """Seconds after which it is ended."""
    missing: str = ""
    """Why it cannot be done here; then it is left out."""


def plan_steps(plan: Plan) -> Iterator[Step]:
    """All steps, the cheapest first: a fault shows early."""
    snellen = (sys.executable, "-m", "snellen")
    yield Step("doctor", "What is installed", (*snellen, "doctor", "--json"), 5 * _MINUTE)
    models = plan.models
    for label, checkpoint in models.items():
        for backend in _BACKENDS:
            yield _parity(plan, label, checkpoint, backend)
    module = (sys.executable, "-m", "benchmarks.gpu.rates", "--device", plan.device)
    for label, checkpoint in {**models, **_random_models(plan)}.items():
        command = (*module, "--label", label, "--model", checkpoint, "--questions", str(plan.questions))
        yield Step(f"rate-{label}", f"Samples a second of {label}, beside generate one by one", command, 20 * _MINUTE)
    for label, checkpoint in models.items():
        alone = (sys.executable, "-m", "benchmarks.gpu.vllm_alone", "--label", label, "--model", checkpoint)
        title = f"vLLM alone and inside of Snellen, {label}, the same prompts"
        command = (*alone, "--questions", str(plan.questions))
        yield Step(f"vllm-{label}", title, command, 15 * _MINUTE, _missing_backend("vllm-local"))
    for label, checkpoint in models.items():
        yield _placement(plan, label, checkpoint)
        yield _tensor_parallel(plan, label, checkpoint)


def _random_models(plan: Plan) -> dict[str, str]:
    """Shapes with random weights, which need no download: what a GPU is busy with."""
    return {"0.3B": "random:0.3 B", "2.5B": "random:2.5 B"} if plan.device == "cuda" else {"small": "random:tiny"}


def _parity(plan: Plan, label: str, checkpoint: str, backend: str) -> Step:
    """Prompts, pixels, tokens, replies and log-probabilities of a backend beside transformers."""
    out = plan.out / "runs" / f"parity-{backend}-{label}"
    words = ["-m", f"hf/{checkpoint}", "-m", f"{backend}/{checkpoint}", "-b", "eyechart", "--limit", "16"]
    command = (sys.executable, "-m", "snellen", "parity", *words, "--out", str(out), "--json")
    title = f"hf/ and {backend}/ give the same, {label}"
    return Step(f"parity-{backend}-{label}", title, command, 15 * _MINUTE, _missing_backend(backend))


def _placement(plan: Plan, label: str, checkpoint: str) -> Step:
    """A replica on each GPU against one replica."""
    command = (sys.executable, "-m", "benchmarks.gpu.placement", "--label", label, "--model", checkpoint)
    command = (*command, "--replicas", str(plan.gpus or 2), "--questions", str(plan.questions), "--device", plan.device)
    missing = "there is one GPU here, and placement needs two" if plan.gpus == 1 else ""
    where = "on each GPU" if plan.gpus else "on each core, in place of GPUs"
    return Step(f"replicas-{label}", f"A replica of {label} {where}", command, 15 * _MINUTE, missing)


def _tensor_parallel(plan: Plan, label: str, checkpoint: str) -> Step:
    """One copy of the weights over all GPUs."""
    name = f"vllm-local/{checkpoint}:tensor_parallel={plan.gpus}"
    words = ["run", "-m", name, "-b", "eyechart", "--limit", str(plan.questions), "--json", "--no-html"]
    command = (sys.executable, "-m", "snellen", *words, "--out", str(plan.out / "runs" / f"parallel-{label}"))
    missing = "" if plan.gpus > 1 else f"{plan.gpus or 'no'} GPU is here, and this needs two"
    missing = missing or _missing_backend("vllm-local")
    return Step(f"parallel-{label}", f"The weights of {label} over all GPUs", command, 15 * _MINUTE, missing)


def _missing_backend(backend: str) -> str:
    """Why a backend cannot be tried here; "" if it can."""
    needs, install = _BACKENDS[backend]
    if backend in ("vllm", "transformers"):
        found: object = shutil.which(backend) or Path(sys.executable).with_name(backend).is_file()
    else:
        found = importlib.util.find_spec(backend.partition("-")[0])
    return "" if found else f"{needs} is not here: {install}"
