# /// script
# requires-python = ">=3.11,<3.13"
# dependencies = [
#     "accelerate",
#     "einops",
#     "msgspec",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "tiktoken",
#     "timm",
#     "torch==2.13.0",
#     "torchvision",
#     "transformers==4.44.2",
# ]
# ///
"""Ovis1.5, Phi-3-Vision and Phi-3.5-Vision, TinyLLaVA.

They are asked as Snellen's adapters say (hf/own_code/adapters.toml), by the code that asks them in
Snellen's own process, with a version of transformers that their code was written for.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    serving = checkpoint.import_snellen("models.hf.own_code.serving")
    return serving.ServedOwnCode(checkpoint)


def answer(model: Any, chat: Any, settings: Any) -> Any:
    return model.answer(chat, settings)
