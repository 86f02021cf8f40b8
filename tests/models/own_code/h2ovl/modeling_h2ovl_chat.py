"""A small stand-in for H2OVL-Mississippi: the file, class and arguments of `chat` are those of the
original repository, which reads the pictures' files itself; the layers are not."""

import torch
from PIL import Image

from .configuration_h2ovl_chat import H2OVLChatConfig
from .small_parts import SmallModel, chatml, pixels_of, split_pictures


class H2OVLChatModel(SmallModel):
    config_class = H2OVLChatConfig

    @torch.no_grad()
    def chat(
        self,
        tokenizer,
        image_files,
        question,
        generation_config,
        max_tiles=6,
        history=None,
        return_history=False,
        **kwargs,
    ):
        assert 1 <= max_tiles <= 6
        pixels = [pixels_of(Image.open(file)) for file in image_files or []]
        prompt = chatml("", history, question)
        parts = split_pictures(prompt, "<image>", pixels)
        response = self.write(tokenizer, parts, **generation_config)
        if return_history:
            return response, [*(history or []), (question, response)]
        return response
