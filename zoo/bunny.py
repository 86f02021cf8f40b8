# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "torch==2.13.0",
#     "transformers==4.40.2",
#     "accelerate==0.30.1",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "torchvision",
# ]
# ///
"""Bunny 1.1 with Llama 3, by the checkpoint's own code: one picture, one question.

Asked as its model card and vlmeval/vlm/bunnyllama3.py of VLMEvalKit.
"""

from typing import Any

SYSTEM = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives "
    "helpful, detailed, and polite answers to the user's questions."
)
PICTURE = -200


def load(checkpoint: Any) -> Any:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype, trust_remote_code=checkpoint.own_code
    )
    tokenizer = AutoTokenizer.from_pretrained(
        checkpoint.folder, trust_remote_code=checkpoint.own_code
    )
    return model.to(checkpoint.device).eval(), tokenizer


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, tokenizer = model
    prompt = f"{SYSTEM} USER: {chat.question()} ASSISTANT:"
    first, *rest = [tokenizer(part).input_ids for part in prompt.split("<image>")]
    tokens = list(first)
    for part in rest:
        # Each part begins with the token of a new text.
        tokens += [PICTURE, *part[1:]]
    image = chat.only_image()
    pixels = None
    if image is not None:
        pixels = model.process_images([image], model.config).to(model.device, model.dtype)
    with torch.inference_mode():
        made = model.generate(
            torch.tensor([tokens], device=model.device), images=pixels, **settings.generation()
        )
    return settings.reply(tokenizer, made[0, len(tokens) :], len(tokens))
