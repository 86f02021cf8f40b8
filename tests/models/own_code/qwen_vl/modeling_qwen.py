"""A small stand-in for Qwen-VL and Qwen-VL-Chat: the files, class, signatures and marks in the text
are those of the original repositories, where the marks hold the path of a picture; the layers are
not."""

import re

import torch
from PIL import Image
from transformers import PreTrainedTokenizerFast

from .configuration_qwen import QWenConfig
from .small_parts import SmallModel, chatml, pixels_of

PICTURE = re.compile(r"(<img>[^<]+</img>)")


class QWenLMHeadModel(SmallModel):
    config_class = QWenConfig

    def parts(self, text):
        return [
            pixels_of(Image.open(piece[5:-6])) if PICTURE.fullmatch(piece) else piece
            for piece in PICTURE.split(text)
            if piece
        ]

    @torch.no_grad()
    def chat(
        self,
        tokenizer,
        query,
        history,
        system="You are a helpful assistant.",
        append_history=True,
        stream=None,
        stop_words_ids=None,
        generation_config=None,
        **kwargs,
    ):
        history = [] if history is None else history
        response = self.write(tokenizer, self.parts(chatml(system, history, query)), **kwargs)
        if append_history:
            history.append((query, response))
        return response, history

    @torch.no_grad()
    def generate(self, input_ids, attention_mask=None, pad_token_id=None, eos_token_id=None, **settings):
        """The ids of the prompt, paths of pictures included, then those of the reply."""
        tokenizer = PreTrainedTokenizerFast.from_pretrained(self.config._name_or_path)
        reply = self.write(tokenizer, self.parts(tokenizer.decode(input_ids[0])), **settings)
        ids = tokenizer(reply, return_tensors="pt")["input_ids"].long()
        return torch.cat([input_ids, ids], dim=1)
