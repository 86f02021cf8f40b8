# /// script
# requires-python = ">=3.11,<3.13"
# dependencies = [
#     "accelerate",
#     "blobfile",
#     "einops",
#     "msgspec",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "tiktoken",
#     "timm",
#     "torch==2.13.0",
#     "torchvision",
#     "transformers==4.48.2",
# ]
# ///
"""Ovis1.6, Ovis2 and Kimi-VL.

They are asked as Snellen's adapters say (hf/own_code/adapters.toml), by the code that asks them in
Snellen's own process, with a version of transformers that their code was written for.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    serving = checkpoint.import_snellen("models.hf.own_code.serving")
    return serving.ServedOwnCode(checkpoint)


def answer(model: Any, chat: Any, settings: Any) -> Any:
    return model.answer(chat, settings)
