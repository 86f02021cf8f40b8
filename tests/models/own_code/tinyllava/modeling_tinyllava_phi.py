"""A small stand-in for TinyLLaVA: the files, class and signature of `chat` are those of the
original repository; the layers are not."""

import torch
from PIL import Image

from .configuration import TinyLlavaConfig
from .small_parts import SmallModel, pixels_of


class TinyLlavaForConditionalGeneration(SmallModel):
    config_class = TinyLlavaConfig

    @torch.no_grad()
    def chat(self, prompt, tokenizer=None, image=None, max_new_tokens=512, num_beams=1, top_p=None, temperature=0):
        pictures = [] if image is None else [pixels_of(Image.open(image))]
        drawn = {"temperature": temperature, "top_p": top_p, "do_sample": True}
        reply = self.write(
            tokenizer,
            [*pictures, f"USER: {prompt} ASSISTANT:"],
            max_new_tokens=max_new_tokens,
            num_beams=num_beams,
            **(drawn if temperature > 0 else {"do_sample": False}),
        )
        return reply, 0.1
