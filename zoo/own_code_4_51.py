# /// script
# requires-python = ">=3.11,<3.13"
# dependencies = [
#     "accelerate",
#     "einops",
#     "msgspec",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "tiktoken",
#     "timm",
#     "torch==2.13.0",
#     "torchvision",
#     "transformers==4.51.3",
# ]
# ///
"""Ovis2.5, Ovis-U1, Molmo, SAIL-VL and SAIL-VL2.

They are asked as Snellen's adapters say (hf/own_code/adapters.toml), by the code that asks them in
Snellen's own process, with a version of transformers that their code was written for.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    serving = checkpoint.import_snellen("models.hf.own_code.serving")
    return serving.ServedOwnCode(checkpoint)


def answer(model: Any, chat: Any, settings: Any) -> Any:
    return model.answer(chat, settings)
