"""Reference A, the loop most toolkits run: transformers' processor and generate as their
documentation has them, one request after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.perf.questions import TOKENS

from snellen.core.output import Generated
from snellen.core.request import Generate
from snellen.models.hf.model import HuggingFace
from snellen.models.image_cache import ImageCache
from snellen.models.naming.registry import open_model


def forced(name: str, options: Mapping[str, str] | None = None) -> HuggingFace:
    """The model, made to write as many tokens as it may."""
    model = open_model(name, options or {})
    assert isinstance(model, HuggingFace)
    loaded = model.load()
    # Before anything reads which tokens end a reply.
    loaded.model.generation_config.eos_token_id = None
    model.adopt(replace(loaded, eos_token_ids=frozenset()))
    return model


def generated(model: HuggingFace, request: Generate, pictures: ImageCache) -> Generated:
    import torch

    from snellen.models.hf.prompt import encode, render

    loaded = model.load()
    prompt = render(request, loaded, pictures, "native")
    inputs = encode(loaded, [prompt.text], [prompt.images], "left")
    with torch.inference_mode():
        made = loaded.model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)
    words = made[0, inputs["input_ids"].shape[1] :]
    return Generated(loaded.tokenizer.decode(words, skip_special_tokens=True).strip())
