# /// script
# requires-python = ">=3.11,<3.12"
# dependencies = [
#     "accelerate",
#     "einops",
#     "matplotlib",
#     "msgspec",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "tiktoken",
#     "timm",
#     "torch==2.13.0",
#     "torchvision",
#     "transformers-stream-generator",
#     "transformers==4.37.2",
# ]
# ///
"""Qwen-VL, Monkey, InternLM-XComposer2 and 2.5, MiniMonkey, mPLUG-Owl3 and moondream1.

They are asked as Snellen's adapters say (hf/own_code/adapters.toml), by the code that asks them in
Snellen's own process, with a version of transformers that their code was written for.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    serving = checkpoint.import_snellen("models.hf.own_code.serving")
    return serving.ServedOwnCode(checkpoint)


def answer(model: Any, chat: Any, settings: Any) -> Any:
    return model.answer(chat, settings)
