# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = [
#     "ross @ git+https://github.com/Haochen-Wang409/ross@20ffc6b7ba1605a51111ea5f420f9a08e74e22f9",
#     "transformers==4.43.1",
#     "torch==2.1.2",
#     "torchvision==0.16.2",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "setuptools",
# ]
#
# [tool.uv]
# exclude-newer = "2025-05-01T00:00:00Z"
# ///
"""Ross with Qwen2, by its authors' package.

Asked as vlmeval/vlm/ross.py of VLMEvalKit: pictures padded to squares.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from ross.model.builder import load_pretrained_model

    tokenizer, model, processor, _ = load_pretrained_model(
        checkpoint.folder, None, checkpoint.name.rpartition("/")[2], device="cpu", device_map="cpu"
    )
    model.get_vision_tower().load_model()
    return tokenizer, model.to(checkpoint.device).eval(), processor, "v1_qwen2"


def answer(model: Any, chat: Any, settings: Any) -> Any:
    from types import SimpleNamespace

    import torch
    from ross.constants import (
        DEFAULT_IM_END_TOKEN,
        DEFAULT_IM_START_TOKEN,
        IMAGE_TOKEN_INDEX,
    )
    from ross.conversation import conv_templates
    from ross.mm_utils import process_images, tokenizer_image_token

    tokenizer, model, processor, mode = model
    mark = "<image>\n"
    if model.config.mm_use_im_start_end:
        mark = f"{DEFAULT_IM_START_TOKEN}<image>{DEFAULT_IM_END_TOKEN}\n"
    conversation = conv_templates[mode].copy()
    conversation.messages = list(conversation.messages)
    for role, text in chat.turns(mark):
        conversation.append_message(conversation.roles[role == "assistant"], text)
    conversation.append_message(conversation.roles[1], None)
    prompt = conversation.get_prompt()
    tokens = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    pictures = {}
    if chat.images:
        pixels = process_images(chat.images, processor, SimpleNamespace(image_aspect_ratio="pad"))
        pictures = {
            "images": pixels.to(model.device, model.dtype),
        }
    with torch.inference_mode():
        made = model.generate(
            tokens.unsqueeze(0).to(model.device), **pictures, **settings.generation()
        )
    return settings.reply(tokenizer, made[0], len(tokens))
