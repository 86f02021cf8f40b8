"""The processor of a small stand-in for MiniCPM-V: marks of pictures become runs of <unk>."""

from typing import ClassVar

import torch
from transformers.image_processing_utils import BatchFeature
from transformers.processing_utils import ProcessorMixin

MARK = "(<image>./</image>)"


class MiniCPMVProcessor(ProcessorMixin):
    attributes: ClassVar = ["image_processor", "tokenizer"]
    image_processor_class = "AutoImageProcessor"
    tokenizer_class = "AutoTokenizer"

    def __call__(
        self, text, images=None, max_length=None, max_slice_nums=None, use_image_id=None, return_tensors=None, **kwargs
    ):
        (prompt,), (pictures,) = text, images
        assert prompt.count(MARK) == len(pictures)
        count = self.image_processor.image_feature_size
        prompt = prompt.replace(MARK, "<image>" + "<unk>" * count + "</image>")
        inputs = self.tokenizer(prompt, return_tensors="pt", max_length=max_length)
        pixels = self.image_processor(pictures)["pixel_values"] if pictures else []
        return BatchFeature(
            {
                "input_ids": inputs["input_ids"],
                "attention_mask": inputs["attention_mask"],
                "pixel_values": torch.stack(pixels) if pixels else torch.zeros(0, 3, 28, 28),
            }
        )
