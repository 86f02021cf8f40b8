"""A small stand-in for InternLM-XComposer2 and 2.5: the files, class, signature of `chat` and marks
in the text are those of the original repositories; the layers are not. As there, the first takes
the path of one picture and the second a list of paths, and the model's own tokenizer is used."""

import torch
from PIL import Image

from .configuration_internlm_xcomposer2 import InternLMXcomposer2Config
from .small_parts import SmallModel, chatml, pixels_of, split_pictures


class InternLMXComposer2ForCausalLM(SmallModel):
    config_class = InternLMXcomposer2Config

    def __init__(self, config):
        super().__init__(config)
        self.tokenizer = None

    def encode_img(self, image):
        if isinstance(image, str):
            image = Image.open(image)
        return pixels_of(image)

    @torch.no_grad()
    def chat(
        self,
        tokenizer,
        query,
        image=None,
        hd_num=24,
        history=(),
        streamer=None,
        max_new_tokens=1024,
        do_sample=True,
        num_beams=1,
        temperature=1.0,
        top_p=0.8,
        repetition_penalty=1.005,
        use_meta=False,
        meta_instruction="You are an AI assistant.",
        **kwargs,
    ):
        prompt = chatml(meta_instruction if use_meta else "", history, query)
        pictures = image if isinstance(image, list) else [] if image is None else [image]
        if len(pictures) == 1 and "<ImageHere>" not in prompt:
            prompt = "<ImageHere>" + prompt
        pixels = [self.encode_img(picture) for picture in pictures]
        assert repetition_penalty == 1.005, "its own, unless another is asked for"
        drawn = {"temperature": temperature, "top_p": top_p} if do_sample else {}
        response = self.write(
            self.tokenizer,
            split_pictures(prompt, "<ImageHere>", pixels),
            max_new_tokens=max_new_tokens,
            do_sample=do_sample,
            num_beams=num_beams,
            **drawn,
            **kwargs,
        )
        return response, [*history, (query, response)]
