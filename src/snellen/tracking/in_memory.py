"""A model that is being trained in this process, as a model that can be evaluated."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from snellen.core.model import Identity
from snellen.models.hf.checkpoint import Checkpoint
from snellen.models.hf.loaded import LoadedModel, LoadOptions
from snellen.models.hf.loading import find_eos_token_ids, use_greedy_decoding
from snellen.models.hf.model import HuggingFace

_BATCH_SIZE = 8
"""Requests at first: the optimizer holds most of the memory."""


def wrap_trained_model(
    model: Any, processor: Any, name: str, facts: dict[str, str], batch_size: int | None = None
) -> HuggingFace:
    """The model with its processor, or with its tokenizer for a text model, under an identity of
    these `facts`, which must differ whenever the weights do."""
    config = model.config.to_dict()
    tokenizer = getattr(processor, "tokenizer", processor)
    weight = next(model.parameters())
    device, dtype = str(weight.device), str(weight.dtype).removeprefix("torch.")
    checkpoint = Checkpoint(
        name, "", None, "", config, type(processor).__name__, processor is not tokenizer
    )
    wrapped = HuggingFace(
        checkpoint,
        LoadOptions(dtype=dtype, device=device),
        Identity("trained", name, {**facts, "dtype": dtype}),
        batch_size or _BATCH_SIZE,
        batch_size is not None,
        "native",
        share_prefixes=False,
    )
    import torch

    eos_token_ids = find_eos_token_ids(model, tokenizer)
    use_greedy_decoding(model, tokenizer, eos_token_ids)
    length = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    wrapped.adopt(
        LoadedModel(
            model, processor, tokenizer, device, eos_token_ids, length, torch.get_num_threads()
        )
    )
    return wrapped


@contextmanager
def preserve_training_state(model: Any, processor: Any) -> Iterator[None]:
    """Evaluation mode within the block; afterwards everything that training depends on is as it
    was: the mode of each module, gradients, buffers, the generation settings, the tokenizer's
    padding, torch's threads, and the random numbers of torch, numpy and Python."""
    import numpy as np
    import torch

    tokenizer = getattr(processor, "tokenizer", processor)
    modes = [(module, module.training) for module in model.modules()]
    gradients = [(weight, weight.grad) for weight in model.parameters()]
    buffers = [
        (module, name, value)
        for module in model.modules()
        for name, value in module.named_buffers(recurse=False)
    ]
    generation, use_cache = model.generation_config, getattr(model.config, "use_cache", None)
    padding = tokenizer.pad_token, tokenizer.padding_side
    threads = torch.get_num_threads()
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
        for weight, gradient in gradients:
            weight.grad = gradient
        for module, name, value in buffers:
            # Made anew inside inference mode, a buffer could not be part of a training step.
            if getattr(module, name, None) is not value:
                setattr(module, name, value)
        model.generation_config = generation
        if use_cache is not None:
            model.config.use_cache = use_cache
        if tokenizer.pad_token != padding[0]:
            tokenizer.pad_token = padding[0]
        tokenizer.padding_side = padding[1]
        torch.set_num_threads(threads)
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
