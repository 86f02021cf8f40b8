"""Configuration of a small stand-in for Qwen-VL."""

from transformers import Qwen2Config


class QWenConfig(Qwen2Config):
    model_type = "qwen"
