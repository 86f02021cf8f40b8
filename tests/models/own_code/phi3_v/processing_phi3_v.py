"""The processors of a small stand-in for Phi-3.5-Vision: numbered marks become negative tokens."""

import re
from typing import ClassVar

import numpy as np
import torch
from transformers.image_processing_utils import BaseImageProcessor, BatchFeature
from transformers.processing_utils import ProcessorMixin

SIDE = 8


class Phi3VImageProcessor(BaseImageProcessor):
    model_input_names: ClassVar = ["pixel_values"]

    def __init__(self, num_crops=1, num_img_tokens=4, **kwargs):
        super().__init__(**kwargs)
        self.num_crops = num_crops
        self.num_img_tokens = num_img_tokens

    def preprocess(self, images, return_tensors=None, **kwargs):
        crops = []
        for image in images:
            columns = max(1, min(self.num_crops, round(image.width / image.height), 5))
            resized = image.convert("RGB").resize((SIDE * columns, SIDE))
            pixels = torch.from_numpy(np.asarray(resized, np.float32) / 255).permute(2, 0, 1)
            crops.append(torch.stack(pixels.split(SIDE, dim=2)))
        most = max(len(each) for each in crops)
        padded = [torch.cat([one, one.new_zeros(most - len(one), 3, SIDE, SIDE)]) for one in crops]
        return BatchFeature(
            {
                "pixel_values": torch.stack(padded),
                "image_sizes": torch.tensor([[SIDE, SIDE * len(one)] for one in crops]),
                "num_img_tokens": [self.num_img_tokens * len(one) for one in crops],
            }
        )


class Phi3VProcessor(ProcessorMixin):
    attributes: ClassVar = ["image_processor", "tokenizer"]
    image_processor_class = "AutoImageProcessor"
    tokenizer_class = "AutoTokenizer"

    def __init__(self, image_processor, tokenizer, **kwargs):
        super().__init__(image_processor, tokenizer)

    def __call__(self, text, images=None, padding=False, truncation=None, max_length=None, return_tensors="pt"):
        if images is None:
            return BatchFeature(dict(self.tokenizer(text, return_tensors=return_tensors)))
        pictures = self.image_processor(images, return_tensors=return_tensors)
        pattern = r"<\|image_\d+\|>"
        numbers = [int(mark[8:-2]) for mark in re.findall(pattern, text)]
        assert sorted(set(numbers)) == list(range(1, len(images) + 1))
        input_ids = []
        for index, chunk in enumerate(re.split(pattern, text)):
            if index:
                number = numbers[index - 1]
                input_ids += [-number] * pictures["num_img_tokens"][number - 1]
            input_ids += self.tokenizer(chunk).input_ids
        input_ids = torch.tensor(input_ids, dtype=torch.long).unsqueeze(0)
        return BatchFeature(
            {
                "input_ids": input_ids,
                "attention_mask": torch.ones_like(input_ids),
                "pixel_values": pictures["pixel_values"],
                "image_sizes": pictures["image_sizes"],
            }
        )
