"""Configuration of a small stand-in for InternLM-XComposer2."""

from transformers import Qwen2Config


class InternLMXcomposer2Config(Qwen2Config):
    model_type = "internlmxcomposer2"
