# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "vlmeval @ git+https://github.com/open-compass/VLMEvalKit@e8e78f05f3080fe28154f2130321f17951c3be94",
#     "transformers==4.49.0",
#     "torch==2.13.0",
#     "torchvision",
#     "accelerate==1.4.0",
#     "attrdict==2.0.1",
#     "einops==0.8.1",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "timm==1.0.15",
# ]
#
# [[tool.uv.dependency-metadata]]
# name = "vlmeval"
# version = "0.1.0"
# requires-dist = []
# ///
"""URSA 8B, whose code is a part of VLMEvalKit: one picture, one question.

Asked as vlmeval/vlm/ursa/ursa_chat.py, without its wording for single benchmarks. Of that package
nothing but the model's own modules is imported.
"""

from typing import Any

SYSTEM = "You are a helpful assistant."


def load(checkpoint: Any) -> Any:
    import importlib.metadata
    import importlib.util
    import sys

    files = importlib.metadata.distribution("vlmeval").locate_file("vlmeval/vlm/ursa/ursa_model")
    spec = importlib.util.spec_from_file_location(
        "ursa_model", f"{files}/__init__.py", submodule_search_locations=[str(files)]
    )
    assert spec is not None
    assert spec.loader is not None
    ursa = importlib.util.module_from_spec(spec)
    sys.modules["ursa_model"] = ursa
    spec.loader.exec_module(ursa)
    model = ursa.UrsaForConditionalGeneration.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype
    )
    processor = ursa.UrsaProcessor.from_pretrained(checkpoint.folder)
    return model.to(checkpoint.device).eval(), processor


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, processor = model
    image = chat.only_image()
    if image is None:
        raise ValueError("its own code takes no question without a picture")
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"<|image|>{chat.question('')}"},
    ]
    prompt = processor.apply_chat_template(messages, add_generation_prompt=True)
    inputs = processor(prompt, [image], return_tensors="pt").to(model.device, model.dtype)
    tokenizer = processor.tokenizer
    with torch.inference_mode():
        made = model.generate(
            **inputs, pad_token_id=tokenizer.eos_token_id, **settings.generation()
        )
    # With or without the prompt in front: what counts stands behind the last speaker.
    text = tokenizer.decode(made[0], skip_special_tokens=True)
    return text.rpartition("assistant\n")[2].strip()
