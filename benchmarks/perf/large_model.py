"""A model of today's build and of a size at which computing, not Python, takes the time."""

from __future__ import annotations

from pathlib import Path

from snellen.models.bundled import WEIGHTS


def build(folder: Path) -> Path:
    """A LLaVA (SigLIP and Llama with grouped queries) of random weights and 256 tokens a picture,
    with the bundled model's tokenizer."""
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

    from snellen.models.hf_loading import quiet

    with quiet():
        ours = AutoProcessor.from_pretrained(WEIGHTS / "tiny")
        words = ours.tokenizer
        text = LlamaConfig(
            vocab_size=len(words),
            hidden_size=1024,
            intermediate_size=2816,
            num_hidden_layers=10,
            num_attention_heads=16,
            num_key_value_heads=4,
            max_position_embeddings=4096,
            initializer_range=0.05,
            pad_token_id=words.pad_token_id,
            eos_token_id=words.eos_token_id,
            bos_token_id=None,
            tie_word_embeddings=False,
        )
        vision = SiglipVisionConfig(
            hidden_size=768,
            num_hidden_layers=8,
            num_attention_heads=12,
            intermediate_size=2048,
            image_size=256,
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
            image_seq_length=256,
        )
        torch.manual_seed(0)
        LlavaForConditionalGeneration(config).save_pretrained(folder)
        LlavaProcessor(
            SiglipImageProcessorPil(size={"height": 256, "width": 256}),
            words,
            patch_size=16,
            vision_feature_select_strategy="full",
            chat_template=ours.chat_template,
        ).save_pretrained(folder)
    return folder
