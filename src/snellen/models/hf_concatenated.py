"""Several pictures as one: each is encoded by itself, and their embeddings stand next to each other
where a single picture's would (`images=concat-embeddings`; MMT-Bench, arXiv 2404.16006, on
multi-images prompting of single-image models)."""

from __future__ import annotations

from typing import Any

from snellen.models.halving import Unsupported
from snellen.models.hf_loaded import Loaded

POLICY = "concat-embeddings"


def check_concatenable(loaded: Loaded) -> None:
    """Raises Unsupported for a family in which one picture's embeddings cannot be extended."""
    if loaded.profile is None or not loaded.profile.concatenates:
        raise Unsupported(
            f"images={POLICY}: in {loaded.model.config.model_type} models embeddings of pictures "
            "cannot be put next to each other; take images=native, images=first, or have the "
            "benchmark stitch the pictures"
        )


def widened(text: str, loaded: Loaded, pictures: int) -> str:
    """A prompt about one picture, with the signs of all of them in its place."""
    sign = str(loaded.processor.image_token)
    if pictures < 2 or text.count(sign) != 1:
        return text
    return text.replace(sign, sign * pictures)


def with_queries(inputs: Any, loaded: Loaded, pictures: int) -> Any:
    """Inputs of prompts with the places of so many pictures in front, for a processor that makes
    places for one (BLIP-2)."""
    import torch

    more = (pictures - 1) * int(loaded.processor.num_query_tokens)
    ids = inputs["input_ids"]
    sign = int(loaded.model.config.image_token_id)
    front = torch.full((ids.shape[0], more), sign, dtype=ids.dtype)
    inputs["input_ids"] = torch.cat([front, ids], 1)
    mask = inputs["attention_mask"]
    inputs["attention_mask"] = torch.cat([torch.ones_like(front), mask], 1)
    return inputs
