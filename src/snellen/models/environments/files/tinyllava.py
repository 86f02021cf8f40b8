# /// script
# requires-python = ">=3.9,<3.11"
# dependencies = [
#     "tinyllava @ git+https://github.com/TinyLLaVA/TinyLLaVA_Factory@53f12c7804102104d54064102b5d2139343e59c5",
#     "transformers==4.40.1",
#     "tokenizers==0.19.1",
#     "torch==2.1.2",
#     "accelerate==0.27.2",
#     "numpy==1.26.4",
#     "pillow",
#     "protobuf",
#     "setuptools",
# ]
#
# [tool.uv]
# exclude-newer = "2024-08-01T00:00:00Z"
# override-dependencies = [
#     "bitsandbytes; python_version < '3'",
#     "gradio; python_version < '3'",
#     "gradio_client; python_version < '3'",
#     "tokenizers==0.19.1",
#     "torch==2.1.2",
#     "torchvision==0.16.2",
#     "wandb; python_version < '3'",
# ]
# ///
"""TinyLLaVA with Phi-2 and SigLIP, by its authors' package: one picture, one question.

Asked as tinyllava/eval/run_tiny_llava.py of https://github.com/TinyLLaVA/TinyLLaVA_Factory. What
only its training needs is not installed.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from tinyllava.model.load_model import load_pretrained_model

    model, tokenizer, processor, _ = load_pretrained_model(
        checkpoint.folder, device=checkpoint.device
    )
    return model.to(checkpoint.device, checkpoint.dtype).eval(), tokenizer, processor


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch
    from tinyllava.data import ImagePreprocess, TextPreprocess
    from tinyllava.utils import Message

    model, tokenizer, processor = model
    message = Message()
    message.add_message(chat.question("<image>\n"))
    texts = TextPreprocess(tokenizer, "phi")
    tokens = texts(message.messages, mode="eval")["input_ids"]
    pixels = None
    image = chat.only_image()
    if image is not None:
        pixels = ImagePreprocess(processor, model.config)(image).unsqueeze(0)
        pixels = pixels.to(model.device, model.dtype)
    with torch.inference_mode():
        made = model.generate(
            tokens.unsqueeze(0).to(model.device),
            images=pixels,
            pad_token_id=tokenizer.pad_token_id,
            **settings.generation(),
        )
    reply = settings.reply(tokenizer, made[0], len(tokens))
    end = texts.template.separator.apply()[1]
    return {**reply, "text": reply["text"].removesuffix(end).strip()}
