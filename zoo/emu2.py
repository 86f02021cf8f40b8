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
#     "timm==0.9.16",
#     "torchvision",
# ]
# ///
"""Emu2-Chat, by the checkpoint's own code: several pictures in one question.

Asked as its model card and vlmeval/vlm/emu.py of VLMEvalKit. Its 37 billion parameters are spread
over all GPUs.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder)
    model = AutoModelForCausalLM.from_pretrained(
        checkpoint.folder,
        torch_dtype=checkpoint.dtype,
        device_map="auto",
        trust_remote_code=checkpoint.own_code,
    )
    return model.eval(), tokenizer


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, tokenizer = model
    query = chat.question("[<IMG_PLH>]")
    inputs = model.build_input_ids(text=[query], tokenizer=tokenizer, image=chat.images or None)
    image = inputs["image"]
    with torch.inference_mode():
        made = model.generate(
            input_ids=inputs["input_ids"].to(model.device),
            attention_mask=inputs["attention_mask"].to(model.device),
            image=None if image is None else image.to(model.device, model.dtype),
            length_penalty=-1,
            **settings.generation(),
        )
    return settings.reply(tokenizer, made[0], inputs["input_ids"].shape[1])
