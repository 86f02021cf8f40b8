"""A small stand-in for Phi-3.5-Vision: the files, classes and inputs (negative tokens where
pictures stand, crops and sizes) are those of the original repositories; the layers are not."""

import torch
from torch import nn
from transformers import Qwen2ForCausalLM

from .configuration_phi3_v import Phi3VConfig


class Phi3VForCausalLM(Qwen2ForCausalLM):
    config_class = Phi3VConfig

    def __init__(self, config):
        super().__init__(config)
        self.img_projection = nn.Linear(3, config.hidden_size)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, pixel_values=None, image_sizes=None, **kwargs):
        kwargs["attention_mask"] = attention_mask
        if input_ids is not None and (input_ids < 0).any():
            embeds = self.get_input_embeddings()(input_ids.clamp(min=0))
            assert len(pixel_values) == len(image_sizes)
            for number, crops in enumerate(pixel_values, 1):
                places = input_ids == -number
                features = self.img_projection(crops.flatten(2).transpose(1, 2).flatten(0, 1))
                embeds[places] = features[: int(places.sum())]
            return super().forward(inputs_embeds=embeds, **kwargs)
        return super().forward(input_ids=input_ids, **kwargs)

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        inputs = super().prepare_inputs_for_generation(input_ids, **kwargs)
        assert torch.is_tensor(inputs["input_ids"])
        return inputs
