"""Configuration of a small stand-in for POINTS."""

from transformers import Qwen2Config


class POINTSChatConfig(Qwen2Config):
    model_type = "points_chat"
