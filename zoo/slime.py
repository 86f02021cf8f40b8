# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = [
#     "llava @ git+https://github.com/yfzhang114/SliME@5c89ec9fbc3dc3579323b01c8ce1dad69fa8c61b",
#     "transformers==4.37.2",
#     "torch==2.1.2",
#     "torchvision==0.16.2",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "setuptools",
# ]
#
# [tool.uv]
# exclude-newer = "2025-01-01T00:00:00Z"
# ///
"""SliME, by its authors' package, which is one of the name of LLaVA's.

Asked as vlmeval/vlm/slime.py of VLMEvalKit: pictures preprocessed one by one.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from llava.model.builder import load_pretrained_model

    name = checkpoint.name.rpartition("/")[2]
    tokenizer, model, processor, _ = load_pretrained_model(
        checkpoint.folder, None, name, device_map=None, device=checkpoint.device
    )
    model.to(checkpoint.device).eval()
    model.tie_weights()
    return tokenizer, model, processor, "llama3" if "llama3" in name.lower() else "v1"


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch
    from llava.constants import IMAGE_TOKEN_INDEX
    from llava.conversation import conv_templates
    from llava.mm_utils import tokenizer_image_token

    tokenizer, model, processor, mode = model
    conversation = conv_templates[mode].copy()
    conversation.messages = list(conversation.messages)
    for role, text in chat.turns("<image>\n"):
        conversation.append_message(conversation.roles[role == "assistant"], text)
    conversation.append_message(conversation.roles[1], None)
    prompt = conversation.get_prompt()
    tokens = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    pictures = {}
    if chat.images:
        pixels = [
            processor.preprocess(image, return_tensors="pt")["pixel_values"][0]
            for image in chat.images
        ]
        pictures["images"] = torch.stack(pixels).to(model.device, model.dtype)
    with torch.inference_mode():
        made = model.generate(
            tokens.unsqueeze(0).to(model.device), **pictures, **settings.generation()
        )
    return settings.reply(tokenizer, made[0], len(tokens))
