"""A checkpoint behind the public transformers interface: replies and rankings, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from training.tiny.drawing import draw
from training.tiny.wordpieces import END
from training.tiny.world import Scene

BATCH = 32
LONGEST_REPLY = 8


@dataclass(frozen=True)
class Prompt:
    """Pictures and the text after them."""

    scenes: tuple[Scene, ...]
    text: str


class Runner:
    """Loads a folder and answers prompts."""

    def __init__(self, folder: Path) -> None:
        self.processor: Any = AutoProcessor.from_pretrained(folder)
        self.model: Any = AutoModelForImageTextToText.from_pretrained(folder).eval()

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        """The greedy reply to every prompt."""
        replies = [""] * len(prompts)
        for batch in _batches([self._text(p) for p in prompts]):
            inputs = self._inputs([prompts[i] for i in batch], [""] * len(batch))
            with torch.no_grad():
                ids = self.model.generate(**inputs, max_new_tokens=LONGEST_REPLY, do_sample=False)
            said = ids[:, inputs["input_ids"].shape[1] :]
            told = self.processor.batch_decode(said, skip_special_tokens=True)
            for i, reply in zip(batch, told, strict=True):
                replies[i] = reply.strip()
        return replies

    def rank(self, asked: Sequence[tuple[Prompt, list[str]]]) -> list[int]:
        """For every prompt the option whose text is the likeliest reply."""
        scores = [[0.0] * len(options) for _, options in asked]
        flat = [(i, j) for i, (_, options) in enumerate(asked) for j in range(len(options))]
        for batch in _batches([self._text(asked[i][0]) for i, _ in flat]):
            places = [flat[k] for k in batch]
            endings = [asked[i][1][j] + END for i, j in places]
            found = self._likelihoods([asked[i][0] for i, _ in places], endings)
            for (i, j), value in zip(places, found, strict=True):
                scores[i][j] = value
        return [max(range(len(row)), key=row.__getitem__) for row in scores]

    def _likelihoods(self, prompts: list[Prompt], endings: list[str]) -> list[float]:
        """Log-likelihood of each ending after its prompt."""
        inputs = self._inputs(prompts, endings)
        with torch.no_grad():
            logits = self.model(**inputs).logits.log_softmax(-1)
        found = []
        for row, ending in enumerate(endings):
            n = len(self.processor.tokenizer(ending, add_special_tokens=False)["input_ids"])
            ids = inputs["input_ids"][row, -n:]
            found.append(logits[row, -n - 1 : -1].gather(-1, ids[:, None]).sum().item())
        return found

    def _inputs(self, prompts: list[Prompt], endings: list[str]) -> Any:
        texts = [self._text(p) + ending for p, ending in zip(prompts, endings, strict=True)]
        images = [[draw(scene) for scene in p.scenes] for p in prompts]
        return self.processor(text=texts, images=images, padding=True, return_tensors="pt")

    def _text(self, prompt: Prompt) -> str:
        content = [{"type": "image"} for _ in prompt.scenes]
        message = {"role": "user", "content": [*content, {"type": "text", "text": prompt.text}]}
        text: str = self.processor.apply_chat_template([message], add_generation_prompt=True)
        return text


def _batches(texts: list[str]) -> list[list[int]]:
    """Places of the texts in groups of similar length."""
    order = sorted(range(len(texts)), key=lambda i: (texts[i].count("<image>"), len(texts[i])))
    return [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
