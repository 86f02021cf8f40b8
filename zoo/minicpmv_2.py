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
#     "timm==0.9.10",
#     "torchvision",
# ]
# ///
"""MiniCPM-V 1 and 2, by the checkpoint's own code: one picture, several turns.

Asked by `chat` as their model cards and vlmeval/vlm/minicpm_v.py of VLMEvalKit, without beams.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(
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
    messages = [{"role": role, "content": text} for role, text in chat.turns("")]
    arguments = settings.generation()
    sampling = arguments.pop("do_sample")
    if not sampling:
        arguments["num_beams"] = 1
    with torch.inference_mode():
        text, *_ = model.chat(
            image=image,
            msgs=messages,
            context=None,
            tokenizer=tokenizer,
            sampling=sampling,
            **arguments,
        )
    return text
