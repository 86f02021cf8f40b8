# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "torch==2.13.0",
#     "transformers==4.31.0",
#     "accelerate==0.21.0",
#     "einops==0.6.1",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "torchvision",
# ]
# ///
"""MMAlaya, by the checkpoint's own code: one picture, one question.

Asked as vlmeval/vlm/mmalaya.py of VLMEvalKit.
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
    model.initialize_tokenizer(tokenizer)
    return model.to(checkpoint.device).eval(), tokenizer


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, tokenizer = model
    image = chat.only_image()
    if image is None:
        raise ValueError("its own code takes no question without a picture")
    tokens, pixels, end = model.prepare_for_inference(
        chat.question(""), tokenizer, image, return_tensors="pt"
    )
    with torch.inference_mode():
        made = model.generate(
            inputs=tokens.to(model.device),
            images=pixels.to(model.device),
            stopping_criteria=[end],
            **settings.generation(),
        )
    length = tokens.shape[1]
    return settings.reply(tokenizer, made[0, length:], length)
