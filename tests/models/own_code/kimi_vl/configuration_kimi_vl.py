"""Configuration of a small stand-in for Kimi-VL, with the fields of the original."""

from transformers import Qwen2Config


class KimiVLConfig(Qwen2Config):
    model_type = "kimi_vl"

    def __init__(self, media_placeholder_token_id=0, **kwargs):
        self.media_placeholder_token_id = media_placeholder_token_id
        super().__init__(**kwargs)
