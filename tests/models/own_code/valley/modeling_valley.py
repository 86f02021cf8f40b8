"""A small stand-in for Valley2: the files, classes and inputs (tiles for one encoder, patches for
another) are those of the original repositories; the layers are not."""

import torch
from torch import nn
from transformers import Qwen2Config, Qwen2ForCausalLM

IMAGE_TOKEN_INDEX = -200


class ValleyConfig(Qwen2Config):
    model_type = "valley"


class ValleyQwen2ForCausalLM(Qwen2ForCausalLM):
    config_class = ValleyConfig

    def __init__(self, config):
        super().__init__(config)
        self.vision_tower = nn.Linear(3, config.hidden_size)
        self.qwen2vl_vision_tower = nn.Linear(3, config.hidden_size)
        self.post_init()

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        images=None,
        image_sizes=None,
        pixel_values=None,
        image_grid_thw=None,
        **kwargs,
    ):
        kwargs["attention_mask"] = attention_mask
        if images is None or input_ids is None or not (input_ids < 0).any():
            return super().forward(input_ids=input_ids, **kwargs)
        (tiles,) = images
        assert len(tiles) == len(image_sizes[0]) == len(image_grid_thw)
        embeds = self.get_input_embeddings()(input_ids.clamp(min=0))
        places = (input_ids[0] == IMAGE_TOKEN_INDEX).nonzero().flatten()
        patches = pixel_values.split(image_grid_thw.prod(1).tolist())
        for place, tile, patch in zip(places, tiles, patches, strict=True):
            features = self.vision_tower(tile.flatten(0, 1)).mean(0)
            embeds[0, place] = 4 * (features + self.qwen2vl_vision_tower(patch).mean(0))
        return super().forward(inputs_embeds=embeds, **kwargs)

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        inputs = super().prepare_inputs_for_generation(input_ids, **kwargs)
        assert torch.is_tensor(inputs["input_ids"])
        return inputs
