# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = [
#     "mplug_owl2 @ git+https://github.com/X-PLUG/mPLUG-Owl@0f3068fdb47b77aedc71fc39f5735cd7aa35e8f9#subdirectory=mPLUG-Owl2",
#     "transformers==4.31.0",
#     "torch==2.0.1",
#     "torchvision==0.15.2",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "setuptools",
# ]
#
# [tool.uv]
# exclude-newer = "2024-06-01T00:00:00Z"
# ///
"""mPLUG-Owl2, by its authors' package: pictures stretched to squares.

Asked as vlmeval/vlm/mplug_owl2.py of VLMEvalKit.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from mplug_owl2.model.builder import load_pretrained_model

    # The builder recognises its models by this name.
    tokenizer, model, processor, _ = load_pretrained_model(
        checkpoint.folder, None, "mplug_owl2", device=checkpoint.device
    )
    return tokenizer, model.eval(), processor


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch
    from mplug_owl2.constants import IMAGE_TOKEN_INDEX
    from mplug_owl2.mm_utils import process_images, tokenizer_image_token

    tokenizer, model, processor = model
    prompt = ""
    for role, text in chat.turns("<|image|>", ("<|image|>",)):
        prompt += f"USER: {text} \n" if role == "user" else f"ASSISTANT: {text}</s>"
    prompt += "ASSISTANT: "
    tokens = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    squares = [image.resize((max(image.size), max(image.size))) for image in chat.images]
    pixels = process_images(squares, processor).to(model.device, model.dtype) if squares else None
    with torch.inference_mode():
        made = model.generate(
            input_ids=tokens.unsqueeze(0).to(model.device), images=pixels, **settings.generation()
        )
    return settings.reply(tokenizer, made[0, len(tokens) :], len(tokens))
