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
"""Llama-3-MixSense 1.1, by the checkpoint's own code: one picture, one question.

Asked as vlmeval/vlm/mixsense.py of VLMEvalKit.
"""

from typing import Any


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
    image = chat.only_image()
    if image is None:
        raise ValueError("its own code takes no question without a picture")
    tokens = model.text_process(chat.question(""), tokenizer).to(model.device)
    pixels = model.image_process([image]).to(model.device, model.dtype)
    ends = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|eot_id|>")]
    with torch.inference_mode():
        made = model.generate(tokens, images=pixels, eos_token_id=ends, **settings.generation())
    return settings.reply(tokenizer, made[0], tokens.shape[1])
