"""A small stand-in for Molmo: the files, classes, signature of `generate_from_batch` and inputs are
those of the original repositories; the layers are not."""

import torch
from torch import nn
from transformers import Qwen2ForCausalLM

from .config_molmo import MolmoConfig


class MolmoForCausalLM(Qwen2ForCausalLM):
    config_class = MolmoConfig

    def __init__(self, config):
        super().__init__(config)
        self.vision_backbone = nn.Linear(3, config.hidden_size)
        self.post_init()

    def forward(
        self, input_ids=None, attention_mask=None, images=None, image_masks=None, image_input_idx=None, **kwargs
    ):
        kwargs["attention_mask"] = attention_mask
        if images is None or input_ids.shape[1] == 1:
            return super().forward(input_ids=input_ids, **kwargs)
        assert images.ndim == 4, "batch, crops, patches, values"
        embeds = self.get_input_embeddings()(input_ids)
        features = self.vision_backbone(8 * images)
        embeds[0, image_input_idx.flatten()] += features.flatten(0, 2)
        return super().forward(inputs_embeds=embeds, **kwargs)

    @torch.no_grad()
    def generate_from_batch(self, batch, generation_config=None, **kwargs):
        assert generation_config.use_cache is not False
        assert generation_config.max_new_tokens is not None
        return super().generate(
            batch["input_ids"],
            generation_config,
            attention_mask=torch.ones_like(batch["input_ids"]),
            images=batch.get("images"),
            image_masks=batch.get("image_masks"),
            image_input_idx=batch.get("image_input_idx"),
            **kwargs,
        )
