"""A training run of the bundled model with the Trainer: a few steps over four pictures."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor, Trainer, TrainingArguments

from snellen.models.hf.bundled import WEIGHTS

COLOURS = {"red": (220, 40, 40), "green": (40, 160, 60), "blue": (40, 80, 220), "black": (9, 9, 9)}
FOLDER = WEIGHTS / "tiny-early"


def samples(processor: Any) -> list[dict[str, Any]]:
    content = [{"type": "image"}, {"type": "text", "text": "Which colour is it?"}]
    prompt = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    found = []
    for name, colour in COLOURS.items():
        picture = Image.new("RGB", (64, 64), colour)
        inputs = processor(text=[prompt + name], images=[picture], return_tensors="pt")
        sample = {key: value[0] for key, value in inputs.items()}
        found.append({**sample, "labels": sample["input_ids"].clone()})
    return padded(found)


def padded(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of one length: names of colours have different numbers of tokens."""
    length = min(len(sample["input_ids"]) for sample in found)
    return [
        {key: value if key == "pixel_values" else value[:length] for key, value in sample.items()} for sample in found
    ]


def new_trainer(out: Path, *callbacks: Any, **arguments: Any) -> Trainer:
    """A Trainer of three steps, always the same; its model has dropout."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    processor = AutoProcessor.from_pretrained(FOLDER, backend="pil")
    model = AutoModelForImageTextToText.from_pretrained(FOLDER)
    for module in model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.1
    settings = {
        "max_steps": 3,
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "eval_strategy": "steps",
        "eval_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        **arguments,
    }
    data = samples(processor)
    return Trainer(
        model=model,
        args=TrainingArguments(output_dir=str(out), **settings),
        train_dataset=data,
        eval_dataset=data[:1],
        processing_class=processor,
        callbacks=list(callbacks),
    )


def random_states() -> list[Any]:
    """The states of all generators of random numbers."""
    return [random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()]
