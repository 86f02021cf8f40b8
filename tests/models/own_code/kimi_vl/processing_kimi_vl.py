"""The processor of a small stand-in for Kimi-VL: one mark becomes a token for each four patches."""

from typing import ClassVar

from transformers.image_processing_utils import BatchFeature
from transformers.processing_utils import ProcessorMixin


class KimiVLProcessor(ProcessorMixin):
    attributes: ClassVar = ["image_processor", "tokenizer"]
    image_processor_class = "AutoImageProcessor"
    tokenizer_class = "AutoTokenizer"

    def __init__(self, image_processor=None, tokenizer=None, chat_template=None, **kwargs):
        self.image_token = "<|media_pad|>"
        super().__init__(image_processor, tokenizer, chat_template=chat_template)

    def __call__(self, images=None, text=None, **kwargs):
        pictures = {} if images is None else dict(self.image_processor(images))
        texts = [text] if isinstance(text, str) else list(text)
        for grid in pictures.get("image_grid_hws", ()):
            marks = "<|placeholder|>" * int(grid.prod() // 4)
            texts[0] = texts[0].replace(self.image_token, marks, 1)
        assert self.image_token not in texts[0]
        texts = [each.replace("<|placeholder|>", self.image_token) for each in texts]
        return BatchFeature({**self.tokenizer(texts, **kwargs), **pictures})
