"""Configuration of a small stand-in for FlashVL."""

from transformers import Qwen2Config


class FlashVLDynamicISSConfig(Qwen2Config):
    model_type = "FlashVLDynamicISS"
