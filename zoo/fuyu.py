# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = [
#     "transformers==4.46.3",
#     "torch==2.13.0",
#     "accelerate==1.1.1",
#     "pillow",
#     "sentencepiece",
# ]
# ///
"""Fuyu 8B: one picture, one question.

Asked as the model card says (https://huggingface.co/adept/fuyu-8b).
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from transformers import FuyuForCausalLM, FuyuProcessor

    model = FuyuForCausalLM.from_pretrained(checkpoint.folder, torch_dtype=checkpoint.dtype)
    processor = FuyuProcessor.from_pretrained(checkpoint.folder)
    return model.to(checkpoint.device).eval(), processor


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, processor = model
    question = chat.question("")
    inputs = processor(text=f"{question}\n", images=chat.only_image(), return_tensors="pt")
    # The patches of a picture are a list of tensors, which `to` of the batch leaves where it is.
    moved = {name: _move(value, model) for name, value in inputs.items()}
    with torch.inference_mode():
        made = model.generate(**moved, **settings.generation())
    length = moved["input_ids"].shape[1]
    return settings.reply(processor.tokenizer, made[0, length:], length)


def _move(value: Any, model: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_move(one, model) for one in value]
    value = value.to(model.device)
    return value.to(model.dtype) if value.is_floating_point() else value
