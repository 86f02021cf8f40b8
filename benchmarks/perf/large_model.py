"""Models of today's build and of a size at which computing, not Python, takes the time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from snellen.models.hf.bundled import WEIGHTS


class Shape(NamedTuple):
    """Of a LLaVA (SigLIP and Llama with grouped queries)."""

    hidden: int
    inner: int
    layers: int
    heads: int
    key_heads: int
    seen_hidden: int
    """Of the vision tower, as are those below."""
    seen_inner: int
    seen_layers: int
    seen_heads: int
    edge: int
    """Pixels of a picture's side; a token of 16 x 16 of them each."""
    words: int | None = None
    """In the vocabulary; None: the tokenizer's own."""


M162 = Shape(1024, 2816, 10, 16, 4, 768, 2048, 8, 12, 256)
M300 = Shape(1024, 2816, 20, 16, 4, 768, 3072, 12, 12, 256)
B2_5 = Shape(2560, 6912, 29, 20, 4, 1152, 4304, 27, 16, 384, 32_000)
TINY = Shape(64, 128, 2, 4, 2, 64, 128, 2, 2, 64)


def build(folder: Path, shape: Shape = M162, dtype: str = "float32", device: str = "cpu") -> Path:
    """A model of random weights, made on `device` and stored as `dtype`, with the bundled model's
    tokenizer."""
    import torch
    from transformers import (
        AutoProcessor,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        SiglipVisionConfig,
    )
    from transformers.models.siglip import SiglipImageProcessorPil

    from snellen.models.hf.loading import silence_library

    with silence_library():
        ours = AutoProcessor.from_pretrained(WEIGHTS / "tiny")
        words = ours.tokenizer
        text = LlamaConfig(
            vocab_size=shape.words or len(words),
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.key_heads,
            max_position_embeddings=4096,
            initializer_range=0.05,
            pad_token_id=words.pad_token_id,
            eos_token_id=words.eos_token_id,
            bos_token_id=None,
            tie_word_embeddings=False,
        )
        vision = SiglipVisionConfig(
            hidden_size=shape.seen_hidden,
            num_hidden_layers=shape.seen_layers,
            num_attention_heads=shape.seen_heads,
            intermediate_size=shape.seen_inner,
            image_size=shape.edge,
            patch_size=16,
            vision_use_head=False,
            initializer_range=0.05,
        )
        config = LlavaConfig(
            vision_config=vision,
            text_config=text,
            image_token_id=words.convert_tokens_to_ids("<image>"),
            vision_feature_layer=-1,
            vision_feature_select_strategy="full",
            image_seq_length=(shape.edge // 16) ** 2,
        )
        torch.manual_seed(0)
        with torch.device(device):
            model = LlavaForConditionalGeneration(config)
        model.to(getattr(torch, dtype)).save_pretrained(folder)
        LlavaProcessor(
            SiglipImageProcessorPil(size={"height": shape.edge, "width": shape.edge}),
            words,
            patch_size=16,
            vision_feature_select_strategy="full",
            chat_template=ours.chat_template,
        ).save_pretrained(folder)
    return folder
