"""Configuration of a small stand-in for Molmo, with the fields of the original."""

from transformers import Qwen2Config


class MolmoConfig(Qwen2Config):
    model_type = "molmo"
