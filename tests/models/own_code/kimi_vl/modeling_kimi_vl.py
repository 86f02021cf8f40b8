"""A small stand-in for Kimi-VL: the files, classes and inputs (patches and grids of pictures) are
those of the original repositories; the layers are not."""

from torch import nn
from transformers import Qwen2ForCausalLM

from .configuration_kimi_vl import KimiVLConfig


class KimiVLForConditionalGeneration(Qwen2ForCausalLM):
    config_class = KimiVLConfig

    def __init__(self, config):
        super().__init__(config)
        self.vision_tower = nn.Linear(3 * 14 * 14 * 4, config.hidden_size)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, pixel_values=None, image_grid_hws=None, **kwargs):
        kwargs["attention_mask"] = attention_mask
        places = None if input_ids is None else input_ids == self.config.media_placeholder_token_id
        if places is None or not places.any():
            return super().forward(input_ids=input_ids, **kwargs)
        assert int(image_grid_hws.prod(1).sum()) == len(pixel_values)
        embeds = self.get_input_embeddings()(input_ids)
        embeds[places] = self.vision_tower(pixel_values.flatten(1).reshape(-1, 3 * 14 * 14 * 4))
        return super().forward(inputs_embeds=embeds, **kwargs)
