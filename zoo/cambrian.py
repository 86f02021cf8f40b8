# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = [
#     "cambrian @ git+https://github.com/cambrian-mllm/cambrian@539ffc3254bba004e5d012b65c0ad6cb308897c5",
#     "transformers==4.37.0",
#     "torch==2.2.0",
#     "torchvision==0.17.0",
#     "einops==0.6.1",
#     "huggingface_hub<0.26",
#     "numpy==1.26.4",
#     "pillow",
#     "protobuf",
#     "setuptools",
# ]
#
# [tool.uv]
# exclude-newer = "2024-11-01T00:00:00Z"
# ///
"""Cambrian-1 8B, 13B and 34B, by their authors' package: one picture, four vision towers.

Asked as inference.py of https://github.com/cambrian-mllm/cambrian, with the conversation of each
size as VLMEvalKit has it (vlmeval/vlm/cambrian.py).
"""

from typing import Any

MODES = {"8b": "llama_3", "13b": "vicuna_v1", "34b": "chatml_direct"}


def load(checkpoint: Any) -> Any:
    from cambrian.model.builder import load_pretrained_model

    name = checkpoint.name.rpartition("/")[2]
    tokenizer, model, processor, _ = load_pretrained_model(
        checkpoint.folder, None, name, device_map=checkpoint.device, device=checkpoint.device
    )
    mode = MODES.get(name.rpartition("-")[2].lower(), "llama_3")
    return tokenizer, model.eval(), processor, mode


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch
    from cambrian.constants import (
        DEFAULT_IM_END_TOKEN,
        DEFAULT_IM_START_TOKEN,
        IMAGE_TOKEN_INDEX,
    )
    from cambrian.conversation import conv_templates
    from cambrian.mm_utils import process_images, tokenizer_image_token

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
        pixels = process_images(chat.images, processor, model.config)
        pictures = {
            "images": pixels,
            "image_sizes": [image.size for image in chat.images],
        }
    with torch.inference_mode():
        made = model.generate(
            tokens.unsqueeze(0).to(model.device), **pictures, **settings.generation()
        )
    return settings.reply(tokenizer, made[0], len(tokens))
