"""The processor of a small stand-in for Molmo: `process` writes the roles and joins a picture."""

from typing import ClassVar

import torch
from transformers.processing_utils import ProcessorMixin


class MolmoProcessor(ProcessorMixin):
    attributes: ClassVar = ["image_processor", "tokenizer"]
    image_processor_class = "AutoImageProcessor"
    tokenizer_class = "AutoTokenizer"

    def __init__(self, image_processor=None, tokenizer=None, **kwargs):
        super().__init__(image_processor, tokenizer)

    def process(self, text=None, images=None, *, tokens=None, **kwargs):
        tokens = self.tokenizer.encode(f" User: {text} Assistant:", add_special_tokens=False)
        patch, start, end = self.tokenizer.convert_tokens_to_ids(["<im_patch>", "<im_start>", "<im_end>"])
        bos = self.tokenizer.bos_token_id or self.tokenizer.eos_token_id
        if images is None:
            return {"input_ids": torch.tensor([bos, *tokens])}
        tokens, pixels, places = self.image_processor.multimodal_preprocess(images, tokens, patch, start, end)
        return {
            "input_ids": torch.tensor([bos, *tokens]),
            "images": pixels,
            "image_input_idx": places + 1,
            "image_masks": torch.ones(pixels.shape[:2]),
        }
