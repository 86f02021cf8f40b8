# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = [
#     "parrot @ git+https://github.com/AIDC-AI/Parrot@989d6d01df5c39cbe9a58172896f06e7b1792798",
#     "transformers==4.39.0",
#     "tokenizers==0.15.2",
#     "torch==2.1.2",
#     "accelerate==0.28.0",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "requests",
#     "sentencepiece==0.1.99",
#     "setuptools",
# ]
#
# [tool.uv]
# exclude-newer = "2024-09-01T00:00:00Z"
# override-dependencies = [
#     "accelerate==0.28.0",
#     "bitsandbytes; python_version < '3'",
#     "gradio; python_version < '3'",
#     "gradio_client; python_version < '3'",
#     "tokenizers==0.15.2",
# ]
# ///
"""Parrot 7B, by its authors' package: questions in several languages, one question at a time.

Asked as vlmeval/vlm/parrot.py of VLMEvalKit: pictures padded to squares.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from parrot.model.parrot_arch import ParrotMetaForCausalLM

    model, tokenizer, formatter = ParrotMetaForCausalLM.build(
        "parrot_qwen2", checkpoint.folder, mm_vision_tower="openai/clip-vit-large-patch14-336"
    )
    return model.to(checkpoint.device).eval(), tokenizer, formatter


def answer(model: Any, chat: Any, settings: Any) -> Any:
    from types import SimpleNamespace

    import torch
    from parrot.utils.mm_utils import process_images

    model, tokenizer, formatter = model
    mark = "<image>\n" if len(chat.images) == 1 else "<image>"
    _, tokens = formatter.format_query(chat.question(mark))
    pixels = None
    if chat.images:
        square = SimpleNamespace(image_aspect_ratio="pad")
        processor = model.get_vision_tower().image_processor
        pixels = process_images(chat.images, processor, square).to(model.device)
    with torch.inference_mode():
        made = model.generate(
            tokens.unsqueeze(0).to(model.device),
            images=pixels,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            **settings.generation(),
        )
    return settings.reply(tokenizer, made[0, len(tokens) :], len(tokens))
