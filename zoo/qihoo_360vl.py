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
"""360VL 70B, by the checkpoint's own code: one picture, one question.

Asked as its model card and vlmeval/vlm/qh_360vl.py of VLMEvalKit.
"""

from typing import Any


def load(checkpoint: Any) -> Any:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(
        checkpoint.folder, trust_remote_code=checkpoint.own_code
    )
    tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(
        checkpoint.folder,
        torch_dtype=checkpoint.dtype,
        device_map="auto",
        trust_remote_code=checkpoint.own_code,
    ).eval()
    tower = model.get_vision_tower()
    tower.load_model()
    tower.to(device=model.device, dtype=model.dtype)
    return model, tokenizer, tower.image_processor


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    model, tokenizer, processor = model
    image = chat.only_image()
    if image is None:
        raise ValueError("its own code takes no question without a picture")
    inputs = model.build_conversation_input_ids(
        tokenizer, query=chat.question(""), image=image, image_processor=processor
    )
    tokens = inputs["input_ids"].to(model.device)
    with torch.inference_mode():
        made = model.generate(
            input_ids=tokens,
            images=inputs["image"].to(model.device, model.dtype),
            eos_token_id=[tokenizer.convert_tokens_to_ids("<|eot_id|>")],
            **settings.generation(),
        )
    length = tokens.shape[1]
    return settings.reply(tokenizer, made[0, length:], length)
