"""Batched generation: greedy, or sampled so that a row's draw depends on that row alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.output import Generated, StopReason, Usage
from snellen.core.request import Generate, Generation, request_digest
from snellen.models.hf_loading import Loaded
from snellen.models.hf_prompt import Prompt, check_length, encode

if TYPE_CHECKING:
    from torch import Tensor


class Asked(NamedTuple):
    """A request, rendered."""

    request: Generate
    prompt: Prompt


def generate(loaded: Loaded, batch: Sequence[Asked], settings: Generation) -> list[Generated]:
    """Replies to prompts that share their settings, all with pictures or all without."""
    import torch

    texts = [asked.prompt.text for asked in batch]
    inputs = encode(loaded, texts, [asked.prompt.images for asked in batch], "left")
    lengths = [int(length) for length in inputs["attention_mask"].sum(1)]
    check_length(loaded, lengths)
    extra: dict[str, Any] = {}
    if settings.temperature > 0:
        extra["logits_processor"] = [_Lots(settings, [asked.request for asked in batch], loaded)]
    if settings.stop:
        extra |= {"stop_strings": list(settings.stop), "tokenizer": loaded.tokenizer}
    with torch.inference_mode():
        tokens = loaded.model.generate(
            **inputs, max_new_tokens=settings.max_new_tokens, do_sample=False, **extra
        )
    replies = tokens[:, inputs["input_ids"].shape[1] :].tolist()
    return [
        _reply(loaded, reply, length, settings)
        for reply, length in zip(replies, lengths, strict=True)
    ]


def _reply(loaded: Loaded, tokens: list[int], length: int, settings: Generation) -> Generated:
    end = next((place for place, token in enumerate(tokens) if token in loaded.ends), None)
    spoken = tokens if end is None else tokens[:end]
    text: str = loaded.tokenizer.decode(
        spoken, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    cuts = [place for stop in settings.stop if (place := text.find(stop)) >= 0]
    reason: StopReason = "stop" if end is not None or cuts else "length"
    if cuts:
        text = text[: min(cuts)]
    spent = len(tokens) if end is None else end + 1
    return Generated(text.strip(), reason, usage=Usage(length, spent))


class _Lots:
    """Samples by adding Gumbel noise of the row's own seed: the largest sum is the draw.

    (Gumbel 1954; exact for the tempered, top-p truncated distribution.) Neighbours in the batch
    cannot change a row's draw, as they would with one generator for all rows.
    """

    def __init__(self, settings: Generation, requests: Sequence[Generate], loaded: Loaded) -> None:
        import torch

        self._settings = settings
        self._generators = []
        for request in requests:
            seed = hashlib.sha256(request_digest(request, "")).digest()[:7]
            generator = torch.Generator(loaded.device)
            generator.manual_seed(int.from_bytes(seed))
            self._generators.append(generator)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        import torch

        scores = scores.float() / self._settings.temperature
        if self._settings.top_p < 1:
            ranked, order = scores.sort(descending=True)
            share = ranked.softmax(-1)
            outside = share.cumsum(-1) - share >= self._settings.top_p
            scores = scores.masked_fill(outside.scatter(1, order, outside), -torch.inf)
        noise = torch.stack(
            [
                torch.empty_like(row).exponential_(generator=generator)
                for row, generator in zip(scores, self._generators, strict=True)
            ]
        )
        return scores - noise.log()
