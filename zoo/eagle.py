# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = [
#     "eagle @ git+https://github.com/NVlabs/EAGLE@fef95f103b5e9899acbbe2c237e5b99147ab7e8e",
#     "transformers==4.44.2",
#     "torch==2.3.1",
#     "torchvision==0.18.1",
#     "accelerate==0.34.2",
#     "einops==0.6.1",
#     "fvcore==0.1.5.post20221221",
#     "numpy<2",
#     "opencv-python-headless<5",
#     "peft==0.12.0",
#     "pillow",
#     "protobuf==3.20.0",
#     "requests",
#     "scipy",
#     "sentencepiece==0.2.0",
#     "timm==0.9.11",
# ]
#
# [tool.uv]
# exclude-newer = "2024-10-01T00:00:00Z"
# ///
"""Eagle X4 and X5 by NVIDIA, by their authors' package.

Asked as vlmeval/vlm/eagle_x.py of VLMEvalKit: the conversation vicuna_v1 for all of them.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from eagle.model.builder import load_pretrained_model

    # The builder recognises its models by this name.
    tokenizer, model, processor, _ = load_pretrained_model(
        checkpoint.folder, None, "eagle", device_map=checkpoint.device, device=checkpoint.device
    )
    return tokenizer, model.eval(), processor, "vicuna_v1"


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch
    from eagle.constants import (
        DEFAULT_IM_END_TOKEN,
        DEFAULT_IM_START_TOKEN,
        IMAGE_TOKEN_INDEX,
    )
    from eagle.conversation import conv_templates
    from eagle.mm_utils import process_images, tokenizer_image_token

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
            "images": pixels.to(model.device, model.dtype),
            "image_sizes": [image.size for image in chat.images],
        }
    with torch.inference_mode():
        made = model.generate(
            tokens.unsqueeze(0).to(model.device), **pictures, **settings.generation()
        )
    return settings.reply(tokenizer, made[0], len(tokens))
