# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = [
#     "xtuner==0.1.23",
#     "transformers==4.39.3",
#     "torch==2.3.1",
#     "torchvision==0.18.1",
#     "accelerate==0.30.1",
#     "deepspeed==0.14.4",
#     "numpy<2",
#     "peft==0.11.1",
#     "pillow",
#     "protobuf",
#     "sentencepiece==0.2.0",
#     "setuptools",
# ]
#
# [tool.uv]
# exclude-newer = "2024-08-01T00:00:00Z"
# override-dependencies = [
#     "bitsandbytes; python_version < '3'",
#     "transformers-stream-generator; python_version < '3'",
# ]
# ///
"""LLaVA by XTuner with InternLM, InternLM2 and Vicuna, by the package xtuner: one picture, one
question.

The checkpoint holds a projector and adapters; language model and vision encoder are those that it
was trained with. Asked as vlmeval/vlm/llava/llava_xtuner.py of VLMEvalKit.
"""

from typing import Any

PARTS = {
    "llava-internlm2-7b": ("internlm/internlm2-chat-7b", "internlm2_chat"),
    "llava-internlm2-20b": ("internlm/internlm2-chat-20b", "internlm2_chat"),
    "llava-internlm-7b": ("internlm/internlm-chat-7b", "internlm_chat"),
    "llava-v1.5-7b-xtuner": ("lmsys/vicuna-7b-v1.5", "vicuna"),
    "llava-v1.5-13b-xtuner": ("lmsys/vicuna-13b-v1.5", "vicuna"),
}
"""Language model and template of each checkpoint."""
ENCODER = "openai/clip-vit-large-patch14-336"
LAYER = -2


def load(checkpoint: Any) -> Any:
    from pathlib import Path

    from peft import PeftModel
    from transformers import (
        AutoModel,
        AutoModelForCausalLM,
        AutoTokenizer,
        CLIPImageProcessor,
        CLIPVisionModel,
    )

    folder = Path(checkpoint.folder)
    base, template = PARTS[checkpoint.name.rpartition("/")[2]]
    encoder_name = str(folder / "visual_encoder")
    if not (folder / "visual_encoder").is_dir():
        encoder_name = ENCODER
    how = {"torch_dtype": checkpoint.dtype, "trust_remote_code": checkpoint.own_code}
    language = AutoModelForCausalLM.from_pretrained(base, **how)
    tokenizer = AutoTokenizer.from_pretrained(base, trust_remote_code=checkpoint.own_code)
    encoder = CLIPVisionModel.from_pretrained(encoder_name, torch_dtype=checkpoint.dtype)
    if (folder / "llm_adapter").is_dir():
        language = PeftModel.from_pretrained(language, folder / "llm_adapter")
    if (folder / "visual_encoder_adapter").is_dir():
        encoder = PeftModel.from_pretrained(encoder, folder / "visual_encoder_adapter")
    projector = AutoModel.from_pretrained(folder / "projector", **how)
    parts = [part.to(checkpoint.device).eval() for part in (language, encoder, projector)]
    return [*parts, tokenizer, CLIPImageProcessor.from_pretrained(encoder_name), template]


def answer(model: Any, chat: Any, settings: Any) -> Any:
    import torch
    from transformers import StoppingCriteriaList
    from xtuner.dataset.utils import expand2square
    from xtuner.model.utils import prepare_inputs_labels_for_multimodal
    from xtuner.utils import IMAGE_TOKEN_INDEX, PROMPT_TEMPLATE, StopWordStoppingCriteria

    language, encoder, projector, tokenizer, processor, name = model
    template = PROMPT_TEMPLATE[name]
    prompt = template["INSTRUCTION"].format(input=chat.question("<image>\n"), round=1)
    first, *rest = prompt.split("<image>")
    tokens = tokenizer(first).input_ids
    for part in rest:
        tokens += [IMAGE_TOKEN_INDEX, *tokenizer(part, add_special_tokens=False).input_ids]
    image = chat.only_image()
    ends = [StopWordStoppingCriteria(tokenizer, word) for word in template.get("STOP_WORDS", [])]
    with torch.inference_mode():
        features = None
        if image is not None:
            square = expand2square(image, tuple(int(x * 255) for x in processor.image_mean))
            pixels = processor.preprocess(square, return_tensors="pt")["pixel_values"]
            pixels = pixels.to(encoder.device, encoder.dtype)
            states = encoder(pixels, output_hidden_states=True).hidden_states
            features = projector(states[LAYER][:, 1:])
        inputs = prepare_inputs_labels_for_multimodal(
            llm=language,
            input_ids=torch.tensor([tokens], device=language.device),
            pixel_values=features,
        )
        made = language.generate(
            **inputs,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
            stopping_criteria=StoppingCriteriaList(ends),
            **settings.generation(),
        )
    return settings.reply(tokenizer, made[0], len(tokens))
