"""Configuration of a small stand-in for Phi-3.5-Vision, with the fields of the original."""

from transformers import Qwen2Config


class Phi3VConfig(Qwen2Config):
    model_type = "phi3_v"

    def __init__(self, embd_layer=None, img_processor=None, **kwargs):
        self.embd_layer = embd_layer
        self.img_processor = img_processor
        super().__init__(**kwargs)
