"""The processor of a small stand-in for Valley2: a conversation and pictures in one dict."""

from typing import ClassVar

import numpy as np
import torch
from PIL import Image
from transformers.image_processing_utils import BatchFeature
from transformers.processing_utils import ProcessorMixin

IMAGE_TOKEN_INDEX = -200


def colours(image, side):
    resized = image.convert("RGB").resize((side, side), 0)
    return torch.from_numpy(np.asarray(resized, np.float32) / 255).reshape(-1, 3)


class ValleyProcessor(ProcessorMixin):
    attributes: ClassVar = ["tokenizer"]
    tokenizer_class = "AutoTokenizer"

    def __init__(self, tokenizer=None, chat_template=None, **kwargs):
        super().__init__(tokenizer, chat_template=chat_template)

    def __call__(self, messages, inference=True, **kwargs):
        images = messages["images"] or [Image.new("RGB", (8, 8))]
        assert kwargs["max_pixels"] == 12845056 // len(images)
        conversations = [dict(each) for each in messages["conversations"]]
        if conversations[0]["role"] != "system":
            conversations = [{"role": "system", "content": "Help."}, *conversations]
        if "<image>" not in conversations[1]["content"]:
            marks = " ".join(["<image>"] * len(images))
            conversations[1]["content"] = f"{marks}\n{conversations[1]['content']}"
        text = self.tokenizer.apply_chat_template(conversations, tokenize=False, add_generation_prompt=inference)
        input_ids = []
        for index, chunk in enumerate(text.split("<image>")):
            input_ids += [IMAGE_TOKEN_INDEX] if index else []
            input_ids += self.tokenizer(chunk).input_ids
        assert input_ids.count(IMAGE_TOKEN_INDEX) == len(images)
        tiles = [colours(image, 2).reshape(1, 4, 3) for image in images]
        return BatchFeature(
            {
                "input_ids": torch.tensor([input_ids]),
                "labels": torch.tensor([input_ids]),
                "images": [tiles],
                "pixel_values": torch.cat([colours(image, 4) for image in images]),
                "image_grid_thw": torch.tensor([[1, 4, 4] for _ in images]),
                "image_sizes": [[image.size for image in images]],
            }
        )
