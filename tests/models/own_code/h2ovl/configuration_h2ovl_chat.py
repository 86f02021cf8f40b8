"""Configuration of a small stand-in for H2OVL-Mississippi."""

from transformers import Qwen2Config


class H2OVLChatConfig(Qwen2Config):
    model_type = "h2ovl_chat"
