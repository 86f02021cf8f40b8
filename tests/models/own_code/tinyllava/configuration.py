"""Configuration of a small stand-in for TinyLLaVA."""

from transformers import Qwen2Config


class TinyLlavaConfig(Qwen2Config):
    model_type = "tinyllava"
