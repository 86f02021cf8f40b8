# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "torch==2.7.0",
#     "transformers==4.40.2",
#     "accelerate==0.30.1",
#     "einops==0.8.0",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "torchvision==0.22.0",
#     "xformers==0.0.30",
# ]
# ///
"""CogVLM and CogVLM2, by the checkpoint's own code: one picture, several turns.

Asked by `build_conversation_input_ids` as their model cards and vlmeval/vlm/cogvlm.py of
VLMEvalKit.
"""

from typing import Any

VICUNA = "lmsys/vicuna-7b-v1.5"


def load(checkpoint: Any) -> Any:
    from pathlib import Path

    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaTokenizer

    # The first CogVLM comes without a tokenizer; its card names Vicuna's.
    if (Path(checkpoint.folder) / "tokenizer_config.json").is_file():
        tokenizer = AutoTokenizer.from_pretrained(
            checkpoint.folder, trust_remote_code=checkpoint.own_code
        )
    else:
        tokenizer = LlamaTokenizer.from_pretrained(VICUNA)
    model = AutoModelForCausalLM.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype, trust_remote_code=checkpoint.own_code
    )
    return model.to(checkpoint.device).eval(), tokenizer


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, tokenizer = model
    image = chat.only_image()
    turns = [text for _, text in chat.turns("")]
    built = model.build_conversation_input_ids(
        tokenizer,
        query=turns[-1],
        history=list(zip(turns[:-1:2], turns[1::2], strict=True)),
        images=[] if image is None else [image],
        template_version="chat",
    )
    inputs = {
        name: built[name].unsqueeze(0).to(model.device)
        for name in ("input_ids", "token_type_ids", "attention_mask")
    }
    pixels = [[one.to(model.device, model.dtype) for one in built["images"]]]
    inputs["images"] = pixels if image is not None else None
    arguments = settings.generation()
    if tokenizer.pad_token_id is None:
        arguments["pad_token_id"] = tokenizer.eos_token_id
    with torch.inference_mode():
        made = model.generate(**inputs, **arguments)
    length = inputs["input_ids"].shape[1]
    return settings.reply(tokenizer, made[0, length:], length)
