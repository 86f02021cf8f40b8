"""A small stand-in for POINTS: the class and the arguments of `chat` are those of the original
repositories, which give the picture first and cut it themselves (CATTY); the layers are not."""

import torch

from .configuration_points_chat import POINTSChatConfig
from .small_parts import SmallModel, chatml, pixels_of


class POINTSChatModel(SmallModel):
    config_class = POINTSChatConfig

    @torch.no_grad()
    def chat(self, pixel_values, prompt, tokenizer, image_processor, catty=True, generation_config=None, max_splits=8):
        assert image_processor(pixel_values, return_tensors="pt")["pixel_values"].shape[0] == 1
        assert catty
        assert max_splits == 8
        text = chatml("", [], f"<image>\n{prompt}")
        before, after = text.split("<image>")
        return self.write(tokenizer, [before, pixels_of(pixel_values), after], **generation_config)
