# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = [
#     "transformers==4.33.1",
#     "torch==2.13.0",
#     "torchvision",
#     "accelerate==0.24.0",
#     "einops==0.8.0",
#     "numpy<2",
#     "pillow",
#     "protobuf",
#     "sentencepiece",
#     "timm==0.4.12",
# ]
# ///
"""InternLM-XComposer-VL 7B, the first one, by the checkpoint's own code: pictures in one question.

Asked as vlmeval/vlm/xcomposer/xcomposer.py of VLMEvalKit, without its five beams and its wording
for single benchmarks.
"""

from typing import Any

END_OF_HUMAN, END_OF_BOT = "<TOKENS_UNUSED_0>", "<TOKENS_UNUSED_1>"


def load(checkpoint: Any) -> Any:
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(
        checkpoint.folder, torch_dtype=checkpoint.dtype, trust_remote_code=checkpoint.own_code
    )
    model.tokenizer = AutoTokenizer.from_pretrained(
        checkpoint.folder, trust_remote_code=checkpoint.own_code
    )
    return model.to(checkpoint.device).eval()


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch

    tokenizer, language = model.tokenizer, model.internlm_model
    embed = language.model.embed_tokens
    device = embed.weight.device
    question = chat.question("<ImageHere>")
    prompt = f"<|User|>: {question}{END_OF_HUMAN} <|Bot|>: "
    ends = [tokenizer.convert_tokens_to_ids(mark) for mark in (END_OF_HUMAN, END_OF_BOT)]
    parts = []
    with torch.inference_mode():
        for index, text in enumerate(prompt.split("<ImageHere>")):
            if index:
                pixels = model.vis_processor(chat.images[index - 1]).unsqueeze(0)
                parts.append(model.encode_img(pixels.to(device, embed.weight.dtype)))
            tokens = tokenizer(text, return_tensors="pt", add_special_tokens=index == 0)
            parts.append(embed(tokens.input_ids.to(device)))
        prompt_embeddings = torch.cat(parts, dim=1)
        made = language.generate(
            inputs_embeds=prompt_embeddings, eos_token_id=ends, **settings.generation()
        )
    return settings.reply(tokenizer, made[0], prompt_embeddings.shape[1])
