"""A small stand-in for FlashVL: the arguments of `chat`, and the attributes that it wants to be
set, are those which VLMEvalKit gives the original; the layers are not."""

import torch

from .configuration_FlashVL import FlashVLDynamicISSConfig
from .small_parts import SmallModel, chatml, pixels_of


class FlashVLDynamicISS(SmallModel):
    config_class = FlashVLDynamicISSConfig

    @torch.no_grad()
    def chat(self, pil_image, messages, do_sample=True, max_new_tokens=256, **kwargs):
        assert self.im_trans(pil_image, return_tensors="pt")["pixel_values"].shape[0] == 1
        texts = [message["content"] for message in messages]
        history = list(zip(texts[:-1:2], texts[1::2], strict=True))
        return self.write(
            self.tokenizer,
            [pixels_of(pil_image), chatml("", history, texts[-1])],
            do_sample=do_sample,
            max_new_tokens=max_new_tokens,
            **kwargs,
        )
