"""Configuration of a small stand-in for MiniCPM-V, with the fields of the original."""

from transformers import Qwen2Config


class MiniCPMVConfig(Qwen2Config):
    model_type = "minicpmv"

    def __init__(self, query_num=4, patch_size=14, use_image_id=True, **kwargs):
        self.query_num = query_num
        self.patch_size = patch_size
        self.use_image_id = use_image_id
        super().__init__(**kwargs)
