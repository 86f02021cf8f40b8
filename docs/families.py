"""The page about the families that were tried: docs/families.md, from docs/data/families.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
RECORD = DATA / "families.json"
LEFT_OUT = DATA / "families_left_out.json"

HEAD = """\
# Families of models

<!-- Written by docs/generate.py from docs/data/families.json, which
tests/models/family_table.py writes. -->

`hf/<hub id or folder>` opens the image-text-to-text architectures of transformers without a file
per model. Each family below was built tiny with random weights, saved with its own processor and a
small tokenizer, and opened like any checkpoint. A row stands here only where all of this held:

* replies to prompts without, with one and with several pictures are word for word those of the
  model's own `generate`;
* a batch of unlike prompts gives what each gives alone;
* log-likelihoods of candidate replies are those that `generate` tells while it is made to say them;
* with shared beginnings (`sharing=auto`) and without, answers are the same.

`shares` says whether prompts that begin alike are computed once; where they cannot be, each is
computed by itself, and the run says why. `asked by` is the checkpoint's chat template, or the
family's profile where its checkpoints have none (`src/snellen/models/hf/profiles.toml`).
"""

TAIL = """
## Without torchvision

Pictures are resized by Pillow unless `processor=torchvision` asks for the other. Several families
declare a part for videos that only torchvision can make; where torchvision is not installed it is
left out and pictures work as ever. Families marked *needs torchvision* have no other image
processor.

## Weights as you want them

| option | what it does |
| --- | --- |
| `adapter=<folder or hub id>` | a LoRA adapter (extra `adapters`), merged into the weights; its \
SHA-256 is part of the model's identity |
| `quantisation=8bit` or `4bit` | weights rounded as they are loaded (extra `quantised`): \
bitsandbytes on CUDA; on a CPU torchao or bitsandbytes for 8 bits, bitsandbytes for 4 |
| `device_map=auto` | layers spread over several devices by accelerate |
| `dtype`, `attention`, `revision`, `trust_remote_code` | as in transformers, and recorded |

## Several pictures for single-image models

`images=first` shows the first picture alone. `images=concat-embeddings` encodes each picture by
itself and puts their embeddings next to each other where one picture's would stand, as MMT-Bench
did with single-image models (arXiv 2404.16006); elsewhere it is a typed failure. Both are recorded
with the run.
"""


def page() -> str:
    """The text of docs/families.md."""
    return "\n".join([HEAD, *_table(), *_left_out(), TAIL.rstrip(), "", *_concatenating()])


def _table() -> Iterator[str]:
    record: dict[str, dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    yield f"{len(record)} families:"
    yield ""
    yield "| family | `model_type` | pictures | asked by | ranks | shares | run with transformers |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, entry in record.items():
        pictures = "one" if entry["pictures"] == 1 else "several"
        if not entry["words_alone"]:
            pictures += ", at least one"
        ran = ", ".join(entry["ran"])
        needs = ["torchvision"] * entry["torchvision"] + [entry["library"]] * bool(entry["library"])
        if needs:
            ran += f" (*needs {' and '.join(needs)}*)"
        asked = "chat template" if entry["template"] == "checkpoint" else "profile"
        yield (f"| {name} | `{entry['model_type']}` | {pictures} | {asked} | yes | {entry['sharing']} | {ran} |")


def _left_out() -> Iterator[str]:
    reasons: dict[str, str] = json.loads(LEFT_OUT.read_text(encoding="utf-8"))
    yield ""
    yield "## Not tried"
    yield ""
    yield "Image-text-to-text architectures of transformers 5.23 that are not asked questions here:"
    yield ""
    yield "| `model_type` | why |"
    yield "| --- | --- |"
    for name, reason in reasons.items():
        yield f"| `{name}` | {reason} |"


def _concatenating() -> Iterator[str]:
    from snellen.models.hf.profile import profiles

    names = sorted(name for name, profile in profiles().items() if profile.concatenates)
    yield "Possible in: " + ", ".join(f"`{name}`" for name in names) + "."
