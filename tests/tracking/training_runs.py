"""Checkpoints of a training run that never was: between the two bundled models, or beyond them."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save_file

from snellen.models.hf.bundled import WEIGHTS

BROKEN = 6.0
"""A share far beyond the final weights: the model answers nonsense."""
_DESCRIPTIONS = (
    "config.json",
    "generation_config.json",
    "processor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
)


@cache
def weights(name: str) -> dict[str, Any]:
    return load_file(WEIGHTS / name / "model.safetensors")


def make_checkpoint(home: Path, step: int, share: float, *, state: bool = True, described: bool = True) -> Path:
    """`checkpoint-STEP`, as the Trainer writes it: weights that are so far between the early and
    the final model, and `state` last; `described` with processor and tokenizer."""
    folder = home / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    for name in _DESCRIPTIONS if described else _DESCRIPTIONS[:2]:
        shutil.copy(WEIGHTS / "tiny" / name, folder)
    early, final = weights("tiny-early"), weights("tiny")
    mixed = {name: (1 - share) * early[name] + share * final[name] for name in final}
    save_file(mixed, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "optimizer.pt").write_bytes(b"not read")
    if state:
        write_state(folder, step)
    return folder


def write_state(folder: Path, step: int) -> None:
    text = json.dumps({"global_step": step, "epoch": step / 100, "log_history": []})
    (folder / "trainer_state.json").write_text(text)
