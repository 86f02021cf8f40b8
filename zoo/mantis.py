# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = [
#     "mantis-vl @ git+https://github.com/TIGER-AI-Lab/Mantis@f3a319202d882a1794d28440b77bba7c58869a9e",
#     "transformers==4.45.2",
#     "torch==2.13.0",
#     "accelerate==1.1.1",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
# ]
#
# [tool.uv]
# override-dependencies = [
#     "datasets; python_version < '3'",
#     "decord; python_version < '3'",
#     "diffusers; python_version < '3'",
#     "ring; python_version < '3'",
#     "torchvision; python_version < '3'",
# ]
# ///
"""Mantis with CLIP or SigLIP and Llama 3, by their authors' package: several pictures in a text.

Asked as `chat_mllava` of https://github.com/TIGER-AI-Lab/Mantis (mantis/models/mllava/utils.py).
What only its training needs is not installed.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from mantis.models.mllava import LlavaForConditionalGeneration, MLlavaProcessor

    processor = MLlavaProcessor.from_pretrained(checkpoint.folder)
    model = LlavaForConditionalGeneration.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype, attn_implementation="eager"
    )
    return model.to(checkpoint.device).eval(), processor


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch
    from mantis.models.conversation import conv_mllava_v1, conv_templates

    model, processor = model
    tokenizer = processor.tokenizer
    ends = [tokenizer.eos_token_id]
    template = conv_mllava_v1
    # Its authors look into the path from which the language model came; the token says the same.
    if "<|eot_id|>" in tokenizer.get_vocab():
        template = conv_templates["llama_3"]
        ends.append(tokenizer.convert_tokens_to_ids("<|eot_id|>"))
    conversation = template.copy()
    conversation.messages = []
    for role, text in chat.turns("<image>"):
        conversation.append_message(conversation.roles[role == "assistant"], text)
    conversation.append_message(conversation.roles[1], "")
    inputs = processor(
        images=chat.images or None, text=conversation.get_prompt(), return_tensors="pt"
    )
    moved: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, list):
            moved[name] = [one.to(model.device, model.dtype) for one in value]
        elif value is not None:
            moved[name] = value.to(model.device)
    with torch.inference_mode():
        made = model.generate(**moved, eos_token_id=ends, **settings.generation())
    length = inputs["input_ids"].shape[1]
    return settings.reply(tokenizer, made[0, length:], length)
